package redisgate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// byOurselves takes a permit of this process's own gate, which knows our share.
// It is used only while we are alone: when the server comes back meanwhile, the
// request asks there.
func (k *key) byOurselves(ctx context.Context, w *waiter, changed <-chan struct{}) (*Permit, error) {
	n, err := k.awaitRoom(ctx, w, changed)
	if err != nil || n == 0 {
		return nil, err
	}
	ask := w.ask
	if !w.over.IsZero() {
		ask.Deadline = max(time.Until(w.over), 1)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.gate.ctx, cancel)()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-waiting.Done():
		}
	}()
	done, err := k.gate.config.Alone.Acquire(waiting, ask)
	if err != nil {
		k.refundLocally(ask)
		if waiting.Err() != nil && ctx.Err() == nil {
			return nil, nil // not given up: the mode changed
		}
		return nil, err
	}
	k.gate.mu.Lock()
	still := k.gate.mode == alone
	k.gate.mu.Unlock()
	if !still {
		k.refundLocally(ask)
		done(gate.Signal{Outcome: gate.Refused})
		return nil, nil
	}
	return &Permit{key: k, sent: time.Now(), own: done}, nil
}

// awaitRoom waits until what the server allowed earlier leaves a place of our share,
// charges the quotas, and empties our own gate once for each time alone. It
// returns zero when the mode changed.
func (k *key) awaitRoom(ctx context.Context, w *waiter, changed <-chan struct{}) (n int, err error) {
	for {
		k.mu.Lock()
		part, n := k.gate.shareLimits(k.limits)
		k.emptyBurst(part)
		freed := k.freedLocal
		v := gate.Verdict{Decision: gate.Wait}
		if k.under+k.local < part.Concurrency {
			v = k.spendLocally(w.ask, n, time.Now())
		}
		if v.Decision == gate.Allow {
			k.local++
			k.mu.Unlock()
			return n, nil
		}
		k.mu.Unlock()
		if !v.Until.IsZero() && !w.over.IsZero() && v.Until.After(w.over) {
			return 0, v.Fault(k.name, time.Now())
		}
		select {
		case <-changed:
			return 0, nil
		case <-freed:
		case <-time.After(roomEvery): // the share may have changed
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if !w.over.IsZero() && time.Now().After(w.over) {
			v.Reason = gate.OverDeadline
			return 0, v.Fault(k.name, time.Now())
		}
	}
}

const roomEvery = 100 * time.Millisecond

// emptyBurst makes our own gate start without a burst: what left before, through the
// server, still counts. Its first request leaves when our share of the rate has
// brought one.
func (k *key) emptyBurst(part gate.Limits) {
	k.gate.mu.Lock()
	since := k.gate.since
	k.gate.mu.Unlock()
	if k.emptied.Equal(since) {
		return
	}
	k.emptied = since
	until := since.Add(time.Duration(float64(time.Second) / part.PerSecond))
	if k.cool.After(until) {
		until = k.cool
	}
	k.gate.config.Alone.Empty(k.name, k.limits, until)
}

// refundLocally takes back what room charged.
func (k *key) refundLocally(a gate.Ask) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.local--
	for i := range k.accounts {
		c := &k.accounts[i]
		c.mine = max(c.mine-c.costOf(a.Weight(), a.Limits.PricePerRequest), 0)
	}
	close(k.freedLocal)
	k.freedLocal = make(chan struct{})
}

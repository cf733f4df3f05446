package rategate

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/pause"
)

// confirmPause looks whether the upstream has asked for a pause, right before a
// request leaves that other processes may have been told to hold back (I11). A
// request that may not leave, or comes too late for its instant, gives back what
// it was charged and queues again.
func (l *Local) confirmPause(ctx context.Context, p *permit, a *gate.Ask) (leaves bool, err error) {
	k, asked := p.key, time.Now()
	pause, err := l.lookForPause(ctx, k.name)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err == nil && pause == 0 {
		took := now.Sub(asked)
		k.lookTook += (took - k.lookTook) / 8
		// A look that always takes as long makes nobody meet.
		if k.agreed && now.Before(p.void.Add(2*k.lookTook)) {
			p.sent = now
			return true, nil
		}
	}
	if pause > 0 {
		k.state.Cool(now.Add(pause), now)
	}
	k.releasePermit(p, a, now)
	return false, err
}

// releasePermit takes back a permit of a request that did not leave. l.mu is held.
func (k *key) releasePermit(p *permit, a *gate.Ask, now time.Time) {
	k.state.Refund(a, p.sent, now)
	k.turns.Refund(a.Task, a.Weight())
	k.inFlight--
	k.free = append(k.free, p)
	k.serveWaiters(now)
}

// acquireTogether does what Acquire does while several processes send.
func (l *Local) acquireTogether(ctx context.Context, a gate.Ask, p *permit) (*permit, error) {
	came, patience := time.Now(), a.Deadline
	for {
		leaves, err := l.confirmPause(ctx, p, &a)
		if leaves {
			return p, nil
		}
		if err != nil {
			if err := pause.For(ctx, askAgain); err != nil {
				return nil, err
			}
		}
		now := time.Now()
		if patience > 0 {
			if a.Deadline = patience - now.Sub(came); a.Deadline <= 0 {
				v := gate.Verdict{Decision: gate.Reject, Until: now, Reason: gate.OverDeadline}
				return nil, errors.Join(v.Fault(a.Key, now), err)
			}
		}
		if p, err = l.queueAsk(ctx, a); err != nil || !p.sharesInstants() {
			return p, err
		}
	}
}

// keepPause stores a pause the upstream asked for, before whoever was told goes
// on: from then on every process finds it. Where the shared rate cannot be asked it is
// stored later, as long as it matters; nobody else gets a permit meanwhile.
func (l *Local) keepPause(name string, wait time.Duration) {
	until := time.Now().Add(wait)
	ctx, cancel := context.WithTimeout(l.ctx, keepPatience)
	defer cancel()
	if l.shared.NoteCooling(ctx, name, wait) == nil {
		return
	}
	l.work.Go(func() {
		for left := time.Until(until); left > 0; left = time.Until(until) {
			if pause.For(l.ctx, min(askAgain, left)) != nil || l.shared.NoteCooling(l.ctx, name, time.Until(until)) == nil {
				return
			}
		}
	})
}

// keepPatience is how long an answer is held up by a shared rate that does not answer.
const keepPatience = 2 * time.Second

// MakeRoom brings all keys to where others can join: what left before is taken
// out of the shared rate, pauses are stored, and no more requests are under way than our
// part allows. It reports whether that is so.
func (l *Local) MakeRoom(ctx context.Context) (bool, error) {
	if l.shared == nil {
		return true, nil
	}
	for _, k := range l.unhandedKeys() {
		if err := l.handOver(ctx, k); err != nil {
			return false, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.keys {
		if k.inFlight > k.state.Places() || k.agreed && !k.handed {
			return false, nil
		}
	}
	return true, nil
}

func (l *Local) unhandedKeys() (out []*key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.keys {
		if k.agreed && !k.handed {
			out = append(out, k)
		}
	}
	return out
}

func (l *Local) handOver(ctx context.Context, k *key) error {
	l.mu.Lock()
	now := time.Now()
	r := k.reservationFor(nil, now)
	r.Drain = true
	pause := k.state.Cooling(now)
	l.mu.Unlock()
	if _, err := l.shared.ReserveSends(ctx, k.name, r); err != nil {
		return err
	}
	if pause > 0 {
		if err := l.shared.NoteCooling(ctx, k.name, pause); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k.handed = true
	k.serveWaiters(time.Now())
	return nil
}

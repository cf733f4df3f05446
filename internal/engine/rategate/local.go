// Package rategate hands out permits: rate, concurrency and cool-downs per key
// (§4.10). This is the gate inside one process; several processes each take
// their share of the declared limits (D§5.23).
//
// It must never let a request leave above what the source declares, what the
// upstream announces, or before a Retry-After has passed (I11).
package rategate

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Local is a gate for one process. The zero value is not usable; see New.
type Local struct {
	mu   sync.Mutex
	keys map[string]*key
	rank int
	n    int
}

// New is a gate that owns the whole of every limit.
func New() *Local { return &Local{keys: map[string]*key{}, n: 1} }

// SetShare says which of how many live processes this one is.
func (l *Local) SetShare(rank, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rank == l.rank && n == l.n {
		return
	}
	l.rank, l.n = rank, max(n, 1)
	for _, k := range l.keys {
		k.adjust(l.rank, l.n)
	}
}

// key is the state of one rate key. Its fields are guarded by Local.mu.
type key struct {
	declared  gate.Limits
	announced gate.Announced
	effective gate.Limits
	bucket    gate.Bucket
	cooling   time.Time
	inFlight  int
	queue     []chan struct{} // waiting for a place, in order
}

// adjust derives what is in force: the declared limits, lowered to what the
// upstream announces, divided by the live processes.
func (k *key) adjust(rank, n int) {
	limits := k.declared
	if *limits.ObeyHeaders {
		if a := k.announced.PerSecond; a > 0 {
			limits.PerSecond = min(limits.PerSecond, a)
		}
		if a := k.announced.Concurrency; a > 0 {
			limits.Concurrency = min(limits.Concurrency, a)
		}
	}
	k.effective = limits.Share(rank, n)
	k.bucket.SetRate(k.effective.PerSecond, k.effective.Burst, time.Now())
	k.admit()
}

// admit lets waiting requests in while there are places.
func (k *key) admit() {
	for len(k.queue) > 0 && k.inFlight < k.effective.Concurrency {
		k.inFlight++
		close(k.queue[0])
		k.queue = k.queue[1:]
	}
}

func (l *Local) key(name string, limits gate.Limits) *key {
	k := l.keys[name]
	if k == nil {
		k = &key{declared: limits, bucket: gate.NewBucket(limits.PerSecond, limits.Burst, time.Now())}
		l.keys[name] = k
		k.adjust(l.rank, l.n)
	} else if limits.PerSecond != k.declared.PerSecond || limits.Burst != k.declared.Burst || limits.Concurrency != k.declared.Concurrency {
		k.declared = limits // a newer snapshot declares something else
		k.adjust(l.rank, l.n)
	}
	return k
}

// Acquire waits for a place, then for the rate, then for the end of a cool-down.
func (l *Local) Acquire(ctx context.Context, name string, limits gate.Limits) (transport.Permit, error) {
	limits = limits.WithDefaults()
	if err := l.place(ctx, name, limits); err != nil {
		return nil, err
	}
	p := &permit{gate: l, name: name}
	for {
		l.mu.Lock()
		k := l.keys[name]
		now := time.Now()
		at := k.bucket.Take(1, now)
		if k.cooling.After(at) {
			at = k.cooling
		}
		l.mu.Unlock()
		if err := until(ctx, at); err != nil {
			p.unused()
			return nil, err
		}
		l.mu.Lock()
		cooling := k.cooling.After(time.Now())
		if cooling {
			k.bucket.Return(1) // a cool-down began while we waited: queue again
		}
		l.mu.Unlock()
		if !cooling {
			return p, nil
		}
	}
}

func (l *Local) place(ctx context.Context, name string, limits gate.Limits) error {
	l.mu.Lock()
	k := l.key(name, limits)
	turn := make(chan struct{})
	k.queue = append(k.queue, turn)
	k.admit()
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, waiting := range k.queue {
			if waiting == turn {
				k.queue = append(k.queue[:i], k.queue[i+1:]...)
				return context.Cause(ctx)
			}
		}
		k.inFlight-- // our place came at the same moment: give it on
		k.admit()
		return context.Cause(ctx)
	}
}

func until(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type permit struct {
	gate *Local
	name string
}

// Done gives the place back and learns from the answer. A Retry-After holds
// back every request of the key, not only the one that was refused.
func (p *permit) Done(f transport.Feedback) {
	l := p.gate
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[p.name]
	k.inFlight--
	if f.RetryAfter > 0 {
		if until := time.Now().Add(f.RetryAfter); until.After(k.cooling) {
			k.cooling = until
		}
	}
	if f.Announced != (gate.Announced{}) && f.Announced != k.announced {
		k.announced = f.Announced
		k.adjust(l.rank, l.n)
	}
	k.admit()
}

func (p *permit) unused() {
	l := p.gate
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[p.name]
	k.bucket.Return(1)
	k.inFlight--
	k.admit()
}

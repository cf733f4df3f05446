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

// Share is what SetShare said last.
func (l *Local) Share() (rank, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rank, l.n
}

// Places is how many requests of a key this process may have under way.
func (l *Local) Places(name string, limits gate.Limits) int {
	k := l.key(name, limits.WithDefaults())
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.effective.Concurrency
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
	promised  int             // requests that were told when to leave and have not left
	recalled  chan struct{}   // closed when these promises no longer hold
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
	k.recall()
	k.effective = limits.Share(rank, n)
	k.bucket.SetRate(k.effective.PerSecond, k.effective.Burst, time.Now())
	k.admit()
}

// promise takes a token and tells when it may be used. The bucket is asked for
// the end of a cool-down, so that those who wait for it do not all leave then.
func (k *key) promise(now time.Time) time.Time {
	if k.cooling.After(now) {
		now = k.cooling
	}
	k.promised++
	return k.bucket.Take(1, now)
}

// recall takes all promises back: the limits changed or a cool-down began. Only
// together can tokens be returned; one alone would be given to somebody else
// for an instant that is taken.
func (k *key) recall() {
	k.bucket.Return(float64(k.promised))
	k.promised = 0
	close(k.recalled)
	k.recalled = make(chan struct{})
}

// admit lets waiting requests in while there are places.
func (k *key) admit() {
	for len(k.queue) > 0 && k.inFlight < k.effective.Concurrency {
		k.inFlight++
		close(k.queue[0])
		k.queue = k.queue[1:]
	}
}

// leave gives a place on.
func (k *key) leave() {
	k.inFlight--
	k.admit()
}

// key finds the state of a key and notes what a newer snapshot declares.
func (l *Local) key(name string, limits gate.Limits) *key {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		k = &key{bucket: gate.NewBucket(limits.PerSecond, limits.Burst, time.Now()), recalled: make(chan struct{})}
		l.keys[name] = k
	} else if same(limits, k.declared) {
		return k
	}
	k.declared = limits
	k.adjust(l.rank, l.n)
	return k
}

func same(a, b gate.Limits) bool {
	return a.PerSecond == b.PerSecond && a.Burst == b.Burst && a.Concurrency == b.Concurrency && *a.ObeyHeaders == *b.ObeyHeaders
}

// Acquire waits for a place, then for the instant that rate and cool-down allow.
func (l *Local) Acquire(ctx context.Context, name string, limits gate.Limits) (transport.Permit, error) {
	k := l.key(name, limits.WithDefaults())
	for {
		if err := l.place(ctx, k); err != nil {
			return nil, err
		}
		kept, err := l.wait(ctx, k)
		if kept {
			return &permit{l, k}, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *Local) place(ctx context.Context, k *key) error {
	l.mu.Lock()
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
		k.leave() // our place came at the same moment: give it on
		return context.Cause(ctx)
	}
}

// wait is the time between having a place and leaving. Without an error and not
// kept means that the promise was taken back: queue again, under the new limits.
func (l *Local) wait(ctx context.Context, k *key) (kept bool, err error) {
	l.mu.Lock()
	at, recalled := k.promise(time.Now()), k.recalled
	l.mu.Unlock()
	err = until(ctx, at, recalled)
	l.mu.Lock()
	defer l.mu.Unlock()
	valid := k.recalled == recalled
	if valid {
		k.promised-- // whoever gives up leaves the instant unused: others were told theirs
	}
	if valid && err == nil {
		return true, nil
	}
	k.leave()
	return false, err
}

func until(ctx context.Context, at time.Time, recalled <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-recalled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type permit struct {
	gate *Local
	key  *key
}

// Done gives the place back and learns from the answer. A Retry-After holds
// back every request of the key, not only the one that was refused.
func (p *permit) Done(f transport.Feedback) {
	l, k := p.gate, p.key
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.RetryAfter > 0 {
		if until := time.Now().Add(f.RetryAfter); until.After(k.cooling) {
			k.cooling = until
			k.recall()
		}
	}
	if f.Announced != (gate.Announced{}) && f.Announced != k.announced {
		k.announced = f.Announced
		k.adjust(l.rank, l.n)
	}
	k.leave()
}

// Package rategate hands out permits: rate, concurrency, quotas, allowed hours
// and cool-downs per key, in turns between tasks (§4.10). This is the gate inside
// one process. While several processes send, each request also takes its instant
// from a rate they share, and places are divided between them (D§5.23).
//
// It must never let a request leave above what the source declares, what the
// upstream announces, or before a Retry-After has passed (I11).
package rategate

import (
	"context"
	"maps"
	"slices"
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

	shared  SharedRate // nil: limits are divided by the processes
	divided bool       // they are divided beside the shared rate
	clock   *gate.Offset

	quotas Quotas // nil: quotas are counted here, and divided by the processes
	holder string
	ctx    context.Context // of what is asked of the quotas
	stop   context.CancelFunc
	work   sync.WaitGroup
	closed bool
}

// New returns a gate that owns the whole of every limit.
func New() *Local { return &Local{keys: map[string]*key{}, n: 1} }

// SetShare says which of how many live processes this one is.
func (l *Local) SetShare(rank, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rank == l.rank && n == l.n {
		return
	}
	l.rank, l.n = rank, max(n, 1)
	now := time.Now()
	for _, k := range l.keys {
		k.switchSharing(now)
		k.state.SetShare(l.rank, l.n, now)
		k.serveWaiters(now)
	}
}

// Share returns what SetShare said last.
func (l *Local) Share() (rank, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rank, l.n
}

// Places returns how many requests of a key this process may have under way.
func (l *Local) Places(name string, limits gate.Limits) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keyFor(name, limits, time.Now()).state.Places()
}

// Estimate returns how many requests like this one the key can still do in a span
// of time, and with how many under way (§4.10.6).
func (l *Local) Estimate(_ context.Context, a gate.Ask, horizon time.Duration) (gate.Estimate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.keyFor(a.Key, a.Limits, now).state.Estimate(&a, horizon, now), nil
}

// Snapshot returns the state of all keys, by name.
func (l *Local) Snapshot(context.Context) ([]gate.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var out []gate.Snapshot
	for _, name := range slices.Sorted(maps.Keys(l.keys)) {
		k := l.keys[name]
		s := k.state.Snapshot(name, now)
		s.InFlight, s.Waiting = k.inFlight, len(k.waiting)
		out = append(out, s)
	}
	return out, nil
}

// Empty lets no request of a key leave before an instant, and no burst then: what
// others may have used until then is not known.
func (l *Local) Empty(name string, limits gate.Limits, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if k := l.keyFor(name, limits, now); k.state.Cool(until, now) {
		k.serveWaiters(now)
	}
}

// keyFor finds the state of a key and notes what a newer snapshot declares.
func (l *Local) keyFor(name string, limits gate.Limits, now time.Time) *key {
	k := l.keys[name]
	if k == nil {
		k = &key{gate: l, name: name, state: gate.NewState(limits, l.rank, l.n, now), news: make(chan struct{}), spending: map[*gate.Ask]struct{}{}}
		if l.quotas != nil {
			k.state.Counted(now)
		}
		k.switchSharing(now)
		k.handed = true // nothing has left that others do not know of
		l.keys[name] = k
		return k
	}
	if k.state.Declare(limits, now) {
		k.serveWaiters(now)
	}
	return k
}

// Acquire waits for a place and for what rate, quotas, hours and cool-downs
// allow. A wait that would be longer than the deadline is refused at once.
func (l *Local) Acquire(ctx context.Context, a gate.Ask) (transport.Permit, error) {
	p, err := l.queueAsk(ctx, a)
	if err != nil && l.mayBeLifted(ctx, a, err) {
		p, err = l.queueAsk(ctx, a)
	}
	if err == nil && p.sharesInstants() {
		p, err = l.acquireTogether(ctx, a, p)
	}
	if err != nil {
		return nil, err // not a permit that is nil inside
	}
	return p, nil
}

func (l *Local) queueAsk(ctx context.Context, a gate.Ask) (*permit, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	now := time.Now()
	k := l.keyFor(a.Key, a.Limits, now)
	if !k.agreed && len(k.waiting) == 0 && k.inFlight < k.state.Places() && k.state.Judge(&a, now).Decision == gate.Allow {
		p := k.grantPermit(&a, k.turnOf(a.Task), now, now)
		l.mu.Unlock()
		return p, nil
	}
	if v := k.foreseeWait(&a, now).Within(a.Deadline, now); v.Decision == gate.Reject {
		if v.Reason == gate.Quota && k.state.Stale(now) {
			k.askForMore(now)
		}
		l.mu.Unlock()
		return nil, v.Fault(a.Key, now)
	}
	k.tellWait(&a, now)
	w := k.enqueueAsk(a, now)
	k.serveWaiters(now)
	l.mu.Unlock()
	return w.awaitPermit(ctx)
}

// permit is the right to send one request. It is used again after Done.
type permit struct {
	key  *key
	sent time.Time
	void time.Time // of its instant in the shared rate; zero: it has none
}

func (p *permit) sharesInstants() bool { return !p.void.IsZero() }

// Done gives the place back and learns from the answer. A Retry-After holds
// back every request of the key, not only the one that was refused. While several
// processes send, it returns when the others can find it.
func (p *permit) Done(s gate.Signal) {
	l, name := p.key.gate, p.key.name
	if pause := p.endPermit(s); pause > 0 {
		l.keepPause(name, pause)
	}
}

// endPermit ends a permit as Done does, and returns the pause that others must find
// before we go on.
func (p *permit) endPermit(s gate.Signal) (pause time.Duration) {
	k := p.key
	l := k.gate
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if k.state.Learn(s, p.sent, now, randomShare()) {
		pause = k.notePause(s, now)
	}
	k.inFlight--
	k.free = append(k.free, p)
	if len(k.waiting) > 0 {
		k.serveWaiters(now)
	}
	return pause
}

package redisgate

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/pause"
)

// Permit is the right to send one request. Done must be called exactly once.
type Permit struct {
	key  *key
	sent time.Time
	own  func(gate.Signal) // of this process's own gate; nil: the server gave it
}

// Acquire waits until a request may leave. One that would have to wait longer
// than its deadline is refused at once.
func (g *Gate) Acquire(ctx context.Context, a gate.Ask) (*Permit, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	now := time.Now()
	k := g.keyNamed(a.Key)
	k.mu.Lock()
	k.declareLimits(a.Limits, now)
	k.mu.Unlock()
	if a.Cost == 0 {
		a.Cost = a.Limits.Filled().Cost
	}
	w := &waiter{ask: a}
	if a.Deadline > 0 {
		w.over = now.Add(a.Deadline)
	}
	for {
		if err := k.awaitHours(ctx, w); err != nil {
			return nil, err
		}
		m, changed := g.currentMode()
		var p *Permit
		var err error
		switch m {
		case shared:
			p, err = k.acquireCounted(ctx, w, changed)
		case alone:
			p, err = k.byOurselves(ctx, w, changed)
		default:
			err = w.awaitMode(ctx, k, changed)
		}
		if p != nil || err != nil {
			k.tellPassage(w, p)
			return p, err
		}
	}
}

// tellPassage says how a request passed that the server let leave.
func (k *key) tellPassage(w *waiter, p *Permit) {
	if w.ask.Told == nil || p == nil || p.own != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	w.ask.Told.Rate = k.rate
}

// acquireCounted charges a request to its quotas, then acquires its permit. If the
// window ends while the request waits, it is charged to the next one.
func (k *key) acquireCounted(ctx context.Context, w *waiter, changed <-chan struct{}) (*Permit, error) {
	if k.gate.config.Quotas == nil {
		return k.acquireTogether(ctx, w, changed)
	}
	a := w.ask
	if !w.over.IsZero() {
		a.Deadline = max(time.Until(w.over), 1)
	}
	valid, undo, err := k.gate.config.Quotas.Spend(ctx, a)
	if err != nil {
		return nil, err
	}
	p, err := k.acquireTogether(ctx, w, changed)
	if p != nil && valid() {
		return p, nil
	}
	undo()
	if p != nil {
		p.Done(gate.Signal{Outcome: gate.Refused}) // it was not sent: the place is free again
	}
	return nil, err
}

// awaitHours waits for the hours in which requests may leave. They are no part of the
// shared state: every process reads the same clock.
func (k *key) awaitHours(ctx context.Context, w *waiter) error {
	if w.ask.Limits.Hours == "" {
		return nil
	}
	hours, err := gate.ParseHours(w.ask.Limits.Hours)
	if err != nil {
		return nil // refused when the source was checked
	}
	for now := time.Now(); !hours.Open(now); now = time.Now() {
		v := gate.Verdict{Decision: gate.Wait, Until: hours.NextOpen(now), Reason: gate.ClosedHours}
		if !w.over.IsZero() && v.Until.After(w.over) {
			return v.Fault(k.name, now)
		}
		if w.ask.Told != nil {
			w.ask.Told.Why = gate.ClosedHours
		}
		if err := pause.Until(ctx, v.Until); err != nil {
			return err
		}
	}
	return nil
}

// awaitMode lasts until the mode changes, or fails.
func (w *waiter) awaitMode(ctx context.Context, k *key, changed <-chan struct{}) error {
	over, stop := w.deadlineTimer(k.gate.config.Timeout)
	defer stop()
	select {
	case <-changed:
		return nil
	case <-k.gate.ctx.Done():
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over:
		return gate.Verdict{Decision: gate.Reject, Reason: gate.OverDeadline}.Fault(k.name, time.Now())
	}
}

func (w *waiter) deadlineTimer(grace time.Duration) (<-chan time.Time, func()) {
	if w.over.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(w.over) + grace)
	return timer.C, func() { timer.Stop() }
}

// acquireTogether asks the server. Nothing and no error means: look again where permits
// come from.
func (k *key) acquireTogether(ctx context.Context, w *waiter, changed <-chan struct{}) (*Permit, error) {
	k.mu.Lock()
	now := time.Now()
	if k.isReady(w, now) {
		k.under++
		k.serveTask(k.turnOf(w.ask.Task), &w.ask)
		if ahead := k.permitsAhead(); ahead > 0 && len(k.hand) < ahead/2 {
			k.wakePump()
		}
		k.mu.Unlock()
		return &Permit{key: k, sent: now}, nil
	}
	k.enqueueWaiter(w)
	k.dealPermits(now)
	k.wakePump()
	k.mu.Unlock()
	over, stop := w.deadlineTimer(k.gate.config.Timeout) // the way to the server is not the wait that was meant
	defer stop()
	select {
	case <-w.done:
	case <-changed:
		return k.withdrawWaiter(ctx, w, nil)
	case <-ctx.Done():
		return k.withdrawWaiter(ctx, w, context.Cause(ctx))
	case <-over:
		return k.withdrawWaiter(ctx, w, gate.Verdict{Decision: gate.Reject, Reason: gate.OverDeadline}.Fault(k.name, time.Now()))
	}
	if w.err != nil {
		return nil, w.err
	}
	return k.awaitInstant(ctx, w)
}

// isReady reports whether a request has a permit that can be used now, and no other
// request waits before it.
func (k *key) isReady(w *waiter, now time.Time) bool {
	if len(k.waiting) > 0 || len(k.hand) == 0 || k.cool.After(now) {
		return false
	}
	if g := k.hand[0]; !g.fitsAsk(&w.ask) || g.slot.After(now) || !now.Before(g.void) {
		return false
	}
	k.hand = k.hand[1:]
	return true
}

func (k *key) enqueueWaiter(w *waiter) {
	if w.place.No == 0 { // one that queues again stands where it stood
		k.arrivals++
		w.place = gate.Position{Priority: w.ask.Priority, No: k.arrivals, Weight: w.ask.Weight()}
	}
	w.place.Turn = k.turnOf(w.ask.Task)
	w.place.Turn.Join()
	w.done, w.grant = make(chan struct{}), grant{}
	for _, o := range k.waiting {
		if o.ask.Priority <= w.ask.Priority {
			k.waiting = append(k.waiting, w)
			return
		}
	}
	k.notBefore = time.Time{} // nobody before it: what held back the others may not hold it back
	k.waiting = append(k.waiting, w)
}

// withdrawWaiter stops waiting. Who was served at that moment goes on, unless there is
// a reason to stop.
func (k *key) withdrawWaiter(ctx context.Context, w *waiter, reason error) (*Permit, error) {
	k.mu.Lock()
	select {
	case <-w.done:
		if w.err != nil {
			k.mu.Unlock()
			return nil, w.err
		}
		if reason == nil {
			k.mu.Unlock()
			return k.awaitInstant(ctx, w)
		}
		k.restorePermit(w)
	default:
		k.dropWaiter(w)
	}
	k.mu.Unlock()
	return nil, reason
}

// awaitInstant waits for the instant of the permit. One that is void by then, or that a
// cool-down has overtaken, is given back, and the request queues again where it
// stood.
func (k *key) awaitInstant(ctx context.Context, w *waiter) (*Permit, error) {
	err := pause.Until(ctx, w.grant.slot)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err == nil && now.Before(w.grant.void) && !k.cool.After(now) {
		return &Permit{key: k, sent: now}, nil
	}
	k.restorePermit(w)
	return nil, err
}

// restorePermit takes back a permit that was not used.
func (k *key) restorePermit(w *waiter) {
	k.under--
	k.turns.Refund(w.ask.Task, w.grant.weight)
	k.hand = append([]grant{w.grant}, k.hand...)
	k.dealPermits(time.Now())
	k.freed, k.dirty = true, true
	k.wakePump()
}

// Done gives the place back and passes on what the answer said. When the
// upstream asked for a pause it returns only after the server knows, so that
// whoever asks from then on is held back, in any process.
func (p *Permit) Done(s gate.Signal) {
	told := p.endPermit(s)
	if told == nil {
		return
	}
	m, changed := p.key.gate.currentMode()
	if m != shared {
		return
	}
	select {
	case <-told:
	case <-changed:
	case <-time.After(p.key.gate.config.Timeout):
	}
}

func (p *Permit) endPermit(s gate.Signal) (told <-chan struct{}) {
	k, now := p.key, time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.own != nil {
		p.own(s)
		k.local--
	} else {
		k.under--
	}
	told = k.keepSignal(s, p.sent, now)
	k.freed, k.dirty = true, true
	close(k.freedLocal)
	k.freedLocal = make(chan struct{})
	if k.urgent || len(k.waiting) > 0 || !k.running {
		k.wakePump()
	}
	return told
}

// mostSignals bounds what is kept for a server that cannot be reached.
const mostSignals = 64

// keepSignal keeps a signal for the server, and says what to wait for if others must
// hear of it before we go on.
func (k *key) keepSignal(s gate.Signal, sent, now time.Time) (told <-chan struct{}) {
	h := heard{signal: s, sent: sent, told: make(chan struct{})}
	wait := min(s.RetryAfter, gate.MaxRetryAfter)
	a := s.Announced
	if *k.limits.ObeyHeaders && a.Remaining != nil && *a.Remaining <= 0 {
		wait = max(wait, min(a.Reset.Sub(now), gate.MaxRetryAfter))
	}
	if wait > 0 {
		if until := now.Add(gate.Jittered(wait, rand.Float64())); until.After(k.cool) {
			k.cool = until
		}
	}
	complaint := s.Outcome == gate.Throttled || s.Outcome == gate.Failed
	if !complaint && wait <= 0 && a.IsZero() {
		return nil
	}
	if n := len(k.signals); n >= mostSignals {
		return nil // alone for long: one complaint more changes little, and the cool-down is kept
	}
	k.signals = append(k.signals, h)
	k.urgent = k.urgent || complaint || wait > 0
	if wait <= 0 {
		return nil
	}
	return h.told
}

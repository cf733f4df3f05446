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
	k := g.key(a.Key)
	k.mu.Lock()
	k.declare(a.Limits, now)
	k.mu.Unlock()
	if a.Cost == 0 {
		a.Cost = a.Limits.Filled().Cost
	}
	w := &waiter{ask: a}
	if a.Deadline > 0 {
		w.over = now.Add(a.Deadline)
	}
	for {
		if err := k.open(ctx, w); err != nil {
			return nil, err
		}
		m, changed := g.look()
		var p *Permit
		var err error
		switch m {
		case shared:
			p, err = k.counted(ctx, w, changed)
		case alone:
			p, err = k.byOurselves(ctx, w, changed)
		default:
			err = w.pause(ctx, k, changed)
		}
		if p != nil || err != nil {
			return p, err
		}
	}
}

// counted is together for a request that was charged to its quotas before. One
// whose window ends while it waits is charged to the next one.
func (k *key) counted(ctx context.Context, w *waiter, changed <-chan struct{}) (*Permit, error) {
	if k.gate.config.Quotas == nil {
		return k.together(ctx, w, changed)
	}
	a := w.ask
	if !w.over.IsZero() {
		a.Deadline = max(time.Until(w.over), 1)
	}
	valid, undo, err := k.gate.config.Quotas.Spend(ctx, a)
	if err != nil {
		return nil, err
	}
	p, err := k.together(ctx, w, changed)
	if p != nil && valid() {
		return p, nil
	}
	undo()
	if p != nil {
		p.Done(gate.Signal{Outcome: gate.Refused}) // it was not sent: the place is free again
	}
	return nil, err
}

// open waits for the hours in which requests may leave. They are no part of the
// shared state: every process reads the same clock.
func (k *key) open(ctx context.Context, w *waiter) error {
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
		if err := pause.Until(ctx, v.Until); err != nil {
			return err
		}
	}
	return nil
}

// pause lasts until the mode changes, or fails.
func (w *waiter) pause(ctx context.Context, k *key, changed <-chan struct{}) error {
	over, stop := w.deadline(k.gate.config.Timeout)
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

func (w *waiter) deadline(grace time.Duration) (<-chan time.Time, func()) {
	if w.over.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(w.over) + grace)
	return timer.C, func() { timer.Stop() }
}

// together asks the server. Nothing and no error means: look again where permits
// come from.
func (k *key) together(ctx context.Context, w *waiter, changed <-chan struct{}) (*Permit, error) {
	k.mu.Lock()
	now := time.Now()
	if k.ready(w, now) {
		k.under++
		k.serve(k.turn(w.ask.Task), &w.ask)
		if ahead := k.ahead(); ahead > 0 && len(k.hand) < ahead/2 {
			k.poke()
		}
		k.mu.Unlock()
		return &Permit{key: k, sent: now}, nil
	}
	k.enqueue(w)
	k.deal(now)
	k.poke()
	k.mu.Unlock()
	over, stop := w.deadline(k.gate.config.Timeout) // the way to the server is not the wait that was meant
	defer stop()
	select {
	case <-w.done:
	case <-changed:
		return k.withdraw(ctx, w, nil)
	case <-ctx.Done():
		return k.withdraw(ctx, w, context.Cause(ctx))
	case <-over:
		return k.withdraw(ctx, w, gate.Verdict{Decision: gate.Reject, Reason: gate.OverDeadline}.Fault(k.name, time.Now()))
	}
	if w.err != nil {
		return nil, w.err
	}
	return k.leave(ctx, w)
}

// ready is a permit in hand that can be used now by somebody before whom nobody
// waits.
func (k *key) ready(w *waiter, now time.Time) bool {
	if len(k.waiting) > 0 || len(k.hand) == 0 || k.cool.After(now) {
		return false
	}
	if g := k.hand[0]; !g.fits(&w.ask) || g.slot.After(now) || !now.Before(g.void) {
		return false
	}
	k.hand = k.hand[1:]
	return true
}

func (k *key) enqueue(w *waiter) {
	if w.place.No == 0 { // one that queues again stands where it stood
		k.arrivals++
		w.place = gate.Place{Priority: w.ask.Priority, No: k.arrivals, Weight: w.ask.Weight()}
	}
	w.place.Turn = k.turn(w.ask.Task)
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

// withdraw stops waiting. Who was served at that moment goes on, unless there is
// a reason to stop.
func (k *key) withdraw(ctx context.Context, w *waiter, reason error) (*Permit, error) {
	k.mu.Lock()
	select {
	case <-w.done:
		if w.err != nil {
			k.mu.Unlock()
			return nil, w.err
		}
		if reason == nil {
			k.mu.Unlock()
			return k.leave(ctx, w)
		}
		k.restore(w)
	default:
		k.drop(w)
	}
	k.mu.Unlock()
	return nil, reason
}

// leave waits for the instant of the permit. One that is void by then, or that a
// cool-down has overtaken, is given back, and the request queues again where it
// stood.
func (k *key) leave(ctx context.Context, w *waiter) (*Permit, error) {
	err := pause.Until(ctx, w.grant.slot)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err == nil && now.Before(w.grant.void) && !k.cool.After(now) {
		return &Permit{key: k, sent: now}, nil
	}
	k.restore(w)
	return nil, err
}

// restore takes back a permit that was not used.
func (k *key) restore(w *waiter) {
	k.under--
	k.turns.Refund(w.ask.Task, w.grant.weight)
	k.hand = append([]grant{w.grant}, k.hand...)
	k.deal(time.Now())
	k.freed, k.dirty = true, true
	k.poke()
}

// Done gives the place back and passes on what the answer said. When the
// upstream asked for a pause it returns only after the server knows, so that
// whoever asks from then on is held back, in any process.
func (p *Permit) Done(s gate.Signal) {
	told := p.end(s)
	if told == nil {
		return
	}
	m, changed := p.key.gate.look()
	if m != shared {
		return
	}
	select {
	case <-told:
	case <-changed:
	case <-time.After(p.key.gate.config.Timeout):
	}
}

func (p *Permit) end(s gate.Signal) (told <-chan struct{}) {
	k, now := p.key, time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.own != nil {
		p.own(s)
		k.local--
	} else {
		k.under--
	}
	told = k.learn(s, p.sent, now)
	k.freed, k.dirty = true, true
	close(k.freedLocal)
	k.freedLocal = make(chan struct{})
	if k.urgent || len(k.waiting) > 0 || !k.running {
		k.poke()
	}
	return told
}

// mostSignals bounds what is kept for a server that cannot be reached.
const mostSignals = 64

// learn keeps a signal for the server, and says what to wait for if others must
// hear of it before we go on.
func (k *key) learn(s gate.Signal, sent, now time.Time) (told <-chan struct{}) {
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

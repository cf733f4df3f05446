package gatetest

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// retryAfter holds back all clients, those too who wait already, for a little
// longer than asked, and its end is no starting gun.
func (w *world) retryAfter() {
	wait := pickByTime(w, time.Minute, time.Second)
	limits := gate.Limits{PerSecond: 10, Burst: 5, Concurrency: 8}
	clients := w.Open(w.T, 2)
	first, err := clients[0].Acquire(w.Context(), w.askFor(limits))
	if err != nil {
		w.Fatal(err)
	}
	end := time.Now().Add(wait)
	first(gate.Signal{RetryAfter: wait})
	var all sync.WaitGroup
	for _, g := range clients {
		for range 3 {
			all.Go(func() {
				if err := w.makeRequest(w.Context(), g, w.askFor(limits), 0, gate.Signal{}); err != nil {
					w.Error(err)
				}
			})
		}
	}
	all.Wait()
	sent := w.sentLog()
	w.checkWithin(sent, 10, pickByTime(w, 1, 2))
	if early := end.Add(wait / 20).Sub(sent[0].at); early > 0 {
		w.Errorf("a request left %v before the end of the wait and its jitter", early)
	}
	if late := sent[0].at.Sub(end); late > wait*15/100+pickByTime(w, 0, time.Second) && w.isExact() {
		w.Errorf("the first request left %v after a wait of %v", late, wait)
	}
}

// retryAfterRejects: who would have to wait too long is told so, also who waits
// already.
func (w *world) retryAfterRejects() {
	g := w.newGate()
	a := w.askFor(gate.Limits{PerSecond: 0.5, Burst: 1, Concurrency: 4})
	first, err := g.Acquire(w.Context(), a)
	if err != nil {
		w.Fatal(err)
	}
	a.Deadline = time.Minute
	refused := make(chan error)
	go func() { refused <- w.makeRequest(w.Context(), g, a, 0, gate.Signal{}) }()
	<-time.After(100 * time.Millisecond)
	told := time.Now()
	first(gate.Signal{Outcome: gate.Throttled, RetryAfter: time.Hour})
	if err := <-refused; err == nil || fault.As(err).Code != fault.RateLimited || time.Since(told) > 5*time.Second && w.isExact() {
		w.Errorf("who waited heard %v after %v", err, time.Since(told))
	}
	if f := w.refusalOf(g, a); f.Wait < time.Hour-time.Since(told)-time.Second || f.Wait > time.Hour+10*time.Minute {
		w.Errorf("told to wait %v, an hour was asked", f.Wait)
	}
	for _, wait := range []time.Duration{-time.Hour, 0, 100 * 365 * 24 * time.Hour} { // nonsense neither ends nor lengthens it without measure
		b := a
		b.Key = "with " + wait.String()
		w.mustPass(g, b, gate.Signal{RetryAfter: wait})
		done, err := g.Acquire(w.Context(), b)
		switch {
		case err == nil:
			done(gate.Signal{})
			if wait > 0 {
				w.Errorf("Retry-After %v was not honoured", wait)
			}
		case wait <= 0 || fault.As(err).Wait > 25*time.Hour:
			w.Errorf("Retry-After %v: %v", wait, err)
		}
	}
}

// nothingRemaining: nothing left until the window ends is a cool-down.
func (w *world) nothingRemaining() {
	none, wait := int64(0), pickByTime(w, time.Minute, time.Second)
	g, a := w.newGate(), w.askFor(gate.Limits{PerSecond: 100, Burst: 5, Concurrency: 4})
	end := time.Now().Add(wait)
	w.mustPass(g, a, gate.Signal{Announced: gate.Announced{Remaining: &none, Reset: end}})
	w.mustPass(g, a, gate.Signal{})
	if sent := w.sentLog(); sent[1].at.Before(end) {
		w.Errorf("a request left %v before the window ended", end.Sub(sent[1].at))
	}
}

// testDeadline: the wait that can be foreseen decides.
func (w *world) testDeadline() {
	between := pickByTime(w, 10*time.Second, time.Hour)
	g, a := w.newGate(), w.askFor(gate.Limits{PerSecond: 1 / between.Seconds(), Burst: 1, Concurrency: 4})
	w.mustPass(g, a, gate.Signal{})
	b := a
	b.Deadline = 2 * time.Second
	if f := w.refusalOf(g, b); f.Wait < between*7/10 || f.Wait > between*11/10 {
		w.Errorf("told to wait %v, %v are right", f.Wait, between)
	}
	ctx, cancel := context.WithCancel(w.Context())
	var all sync.WaitGroup
	for range 3 { // they come first
		all.Go(func() { _ = w.makeRequest(ctx, g, a, 0, gate.Signal{}) })
	}
	w.awaitQueue(g, 3)
	b.Deadline = between * 3 / 2
	if f := w.refusalOf(g, b); f.Wait <= b.Deadline {
		w.Errorf("told to wait %v behind three others", f.Wait)
	}
	cancel()
	all.Wait()
}

// givingUp leaves nothing behind.
func (w *world) givingUp() {
	g := w.newGate()
	limits := gate.Limits{PerSecond: 2, Burst: 1, Concurrency: 4}
	w.mustPass(g, w.askFor(limits), gate.Signal{})
	ctx, cancel := context.WithCancel(w.Context())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := w.makeRequest(ctx, g, w.askFor(limits), 0, gate.Signal{}); err == nil && w.isExact() {
				w.Error("a permit was given")
			}
		})
	}
	<-time.After(100 * time.Millisecond)
	began := time.Now()
	cancel()
	all.Wait()
	if took := time.Since(began); took > pickByTime(w, 0, time.Second) && w.isExact() {
		w.Errorf("giving up took %v", took)
	}
	w.mustPass(g, w.askFor(limits), gate.Signal{})
	w.mustPass(g, w.askFor(limits), gate.Signal{})
	w.checkWithin(w.sentLog(), 2, 1)
	if g.Snapshot != nil {
		if s := w.gateState(g); s.InFlight != 0 || s.Waiting != 0 {
			w.Errorf("%d under way and %d waiting are left over", s.InFlight, s.Waiting)
		}
	}
}

// testShare: half of a limit that is divided, and the whole again.
func (w *world) testShare() {
	g := w.newGate()
	if g.SetShare == nil {
		return
	}
	limits := gate.Limits{PerSecond: 20, Burst: 1, Concurrency: 4}
	g.SetShare(1, 2)
	lasts := pickByTime(w, 20*time.Second, time.Second)
	ctx, cancel := context.WithCancel(w.Context())
	var all sync.WaitGroup
	w.keepBusy(ctx, &all, g, 4, w.askFor(limits), 0, gate.Signal{})
	<-time.After(lasts)
	halved := w.sentLog()
	g.SetShare(0, 1)
	<-time.After(lasts)
	cancel()
	all.Wait()
	w.checkWithin(halved, 10, 1)
	w.checkWithin(w.sentLog(), 20, 1)
	if n := len(w.sentLog()) - len(halved); n < pickByTime(w, 390, 1) { // in real time the machine decides how many
		w.Errorf("%d requests in %v at 20 a second: the larger share is not used", n, lasts)
	}
}

// testReturned: what a client fetched in advance and did not use is there for others
// when it leaves.
func (w *world) testReturned() {
	clients := w.Open(w.T, 2)
	if clients[0].Close == nil {
		return
	}
	a := w.askFor(gate.Limits{PerSecond: 0.2, Burst: 10, Concurrency: 10})
	w.mustPass(clients[0], a, gate.Signal{})
	clients[0].Close()
	a.Deadline = 2 * time.Second
	for i := range 8 {
		if err := w.makeRequest(w.Context(), clients[1], a, 0, gate.Signal{}); err != nil {
			w.Fatalf("request %d of what is left of the burst: %v", i+1, err)
		}
	}
}

package gatetest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// testRate: never above, and used up.
func (w *world) testRate(clients int) {
	limits := gate.Limits{PerSecond: 50, Burst: 5, Concurrency: 64}
	lasts, began := pickByTime(w, time.Minute, 2*time.Second), time.Now()
	ctx, cancel := context.WithTimeout(w.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	for i, g := range w.Open(w.T, clients) {
		a := w.askFor(limits)
		a.Task = int64(i + 1)
		w.keepBusy(ctx, &all, g, 4, a, 10*time.Millisecond, gate.Signal{})
	}
	all.Wait()
	sent := w.sentLog()
	w.checkWithin(sent, 50, 5)
	least := 0.97 * 50 * lasts.Seconds()
	if !w.Virtual {
		least = 0.3 * 50 * (lasts - w.noise.Between(began, time.Now())).Seconds()
	}
	if float64(len(sent)) < least && w.isExact() {
		w.Errorf("%d requests in %v at 50 a second: politeness is not slowness", len(sent), lasts)
	}
}

func (w *world) testPlaces() {
	limits := gate.Limits{PerSecond: 1000, Burst: 1000, Concurrency: 3}
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range w.Open(w.T, 4) {
		w.keepBusy(ctx, &all, g, 2, w.askFor(limits), 50*time.Millisecond, gate.Signal{})
	}
	all.Wait()
	if w.atMost > 3 {
		w.Errorf("%d under way, declared 3", w.atMost)
	}
	if n := len(w.sentLog()); n < pickByTime(w, 57, 1) {
		w.Errorf("%d requests in a second: three at a time, 50 ms each", n)
	}
}

// testCost: a request that counts for four takes the time of four.
func (w *world) testCost() {
	g, a := w.newGate(), w.askFor(gate.Limits{PerSecond: 40, Burst: 4, Concurrency: 4, Cost: 4})
	for range 10 {
		w.mustPass(g, a, gate.Signal{})
	}
	w.checkWithin(w.sentLog(), 10, 1)
}

// recoveringLimits are limits whose rate comes back in steps.
func recoveringLimits(every time.Duration) gate.Limits {
	return gate.Limits{PerSecond: 80, Burst: 1, Concurrency: 8, MinPerSecond: 10, Demote: 2, Recover: 10, RecoverEvery: duration.Duration(every)}
}

func (w *world) checkPace(g Gate, when string, want float64) {
	w.Helper()
	if got := w.gateState(g).PerSecond; math.Abs(got-want) > 0.01*want {
		w.Errorf("%s: %v a second, want %v", when, got, want)
	}
}

// testDemotion: divided with every complaint down to the floor.
func (w *world) testDemotion() {
	g := w.newGate()
	if g.Snapshot == nil {
		return
	}
	a := w.askFor(recoveringLimits(time.Hour))
	w.mustPass(g, a, gate.Signal{})
	w.checkPace(g, "at first", 80)
	for i, says := range []gate.Outcome{gate.Failed, gate.Failed, gate.Throttled, gate.Throttled, gate.Throttled} {
		w.mustPass(g, a, gate.Signal{Outcome: says})
		w.checkPace(g, fmt.Sprintf("complaint %d", i+1), []float64{40, 40, 20, 10, 10}[i]) // failures in a row count once
	}
	if n := w.gateState(g).Demotions; n != 4 {
		w.Errorf("%d demotions noted", n)
	}
}

// testRecovery: after complaints the rate comes back in steps, and not before their time.
func (w *world) testRecovery() {
	g := w.newGate()
	if g.Snapshot == nil {
		return
	}
	every := pickByTime(w, 10*time.Second, 300*time.Millisecond)
	a := w.askFor(recoveringLimits(every))
	began := time.Now()
	for range 4 {
		w.mustPass(g, a, gate.Signal{Outcome: gate.Throttled})
	}
	for step, got := 1, 0.0; got < 80*0.99; step++ {
		<-time.After(every)
		got = w.gateState(g).PerSecond
		steps := step
		if !w.Virtual { // however long this was kept waiting
			steps = int(time.Since(began)/every) + 1
		}
		if want := min(10+10*float64(steps), 80); got > want*1.01 || w.Virtual && got < want*0.99 {
			w.Errorf("step %d: %v a second, want %v", step, got, want)
		}
	}
}

// oneComplaint: eight requests under way that are all refused lower the rate once.
func (w *world) oneComplaint() {
	g := w.newGate()
	if g.Snapshot == nil {
		return
	}
	limits := recoveringLimits(time.Hour)
	limits.Burst = 8
	var done []func(gate.Signal)
	for range 8 {
		d, err := g.Acquire(w.Context(), w.askFor(limits))
		if err != nil {
			w.Fatal(err)
		}
		done = append(done, d)
	}
	<-time.After(20 * time.Millisecond)
	for _, d := range done {
		d(gate.Signal{Outcome: gate.Throttled})
	}
	w.checkPace(g, "after a burst", 40)
}

func (w *world) testRefused() {
	g := w.newGate()
	if g.Snapshot == nil {
		return
	}
	limits := recoveringLimits(time.Hour)
	for range 5 {
		w.mustPass(g, w.askFor(limits), gate.Signal{Outcome: gate.Refused})
	}
	w.checkPace(g, "after wrong requests", 80)
}

// announcedRate lowers, for all clients, and never raises.
func (w *world) announcedRate() {
	limits := gate.Limits{PerSecond: 100, Burst: 1, Concurrency: 8}
	clients := w.Open(w.T, 2)
	w.mustPass(clients[0], w.askFor(limits), gate.Signal{Announced: gate.Announced{PerSecond: 20, Concurrency: 2}})
	for clients[0].Snapshot != nil && w.gateState(clients[0]).PerSecond > 20 {
		<-time.After(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range clients {
		w.keepBusy(ctx, &all, g, 4, w.askFor(limits), 0, gate.Signal{Announced: gate.Announced{PerSecond: 20, Concurrency: 2}})
	}
	all.Wait()
	w.checkWithin(w.sentLog(), 20, pickByTime(w, 1, 2))
	if w.atMost > 2 {
		w.Errorf("%d under way, announced 2", w.atMost)
	}
}

// testKeys: what happens to one key is nothing to another.
func (w *world) testKeys() {
	g, a := w.newGate(), w.askFor(gate.Limits{})
	w.mustPass(g, a, gate.Signal{RetryAfter: time.Hour})
	a.Key = "other"
	began := time.Now()
	w.mustPass(g, a, gate.Signal{})
	if took := time.Since(began); took > pickByTime(w, 0, 30*time.Minute) {
		w.Errorf("another key waited %v", took)
	}
}

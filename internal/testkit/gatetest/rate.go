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

// rate: never above, and used up.
func (w *world) rate(clients int) {
	limits := gate.Limits{PerSecond: 50, Burst: 5, Concurrency: 64}
	lasts, began := pick(w, time.Minute, 2*time.Second), time.Now()
	ctx, cancel := context.WithTimeout(w.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	for i, g := range w.Open(w.T, clients) {
		a := w.ask(limits)
		a.Task = int64(i + 1)
		w.busy(ctx, &all, g, 4, a, 10*time.Millisecond, gate.Signal{})
	}
	all.Wait()
	sent := w.log()
	w.within(sent, 50, 5)
	least := 0.97 * 50 * lasts.Seconds()
	if !w.Virtual {
		least = 0.3 * 50 * (lasts - w.noise.Between(began, time.Now())).Seconds()
	}
	if float64(len(sent)) < least && w.exact() {
		w.Errorf("%d requests in %v at 50 a second: politeness is not slowness", len(sent), lasts)
	}
}

func (w *world) places() {
	limits := gate.Limits{PerSecond: 1000, Burst: 1000, Concurrency: 3}
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range w.Open(w.T, 4) {
		w.busy(ctx, &all, g, 2, w.ask(limits), 50*time.Millisecond, gate.Signal{})
	}
	all.Wait()
	if w.atMost > 3 {
		w.Errorf("%d under way, declared 3", w.atMost)
	}
	if n := len(w.log()); n < pick(w, 57, 1) {
		w.Errorf("%d requests in a second: three at a time, 50 ms each", n)
	}
}

// cost: a request that counts for four takes the time of four.
func (w *world) cost() {
	g, a := w.one(), w.ask(gate.Limits{PerSecond: 40, Burst: 4, Concurrency: 4, Cost: 4})
	for range 10 {
		w.must(g, a, gate.Signal{})
	}
	w.within(w.log(), 10, 1)
}

// recovering are limits whose rate comes back in steps.
func recovering(every time.Duration) gate.Limits {
	return gate.Limits{PerSecond: 80, Burst: 1, Concurrency: 8, MinPerSecond: 10, Demote: 2, Recover: 10, RecoverEvery: duration.Duration(every)}
}

func (w *world) pace(g Gate, when string, want float64) {
	w.Helper()
	if got := w.state(g).PerSecond; math.Abs(got-want) > 0.01*want {
		w.Errorf("%s: %v a second, want %v", when, got, want)
	}
}

// demotion: divided with every complaint down to the floor.
func (w *world) demotion() {
	g := w.one()
	if g.Snapshot == nil {
		return
	}
	a := w.ask(recovering(time.Hour))
	w.must(g, a, gate.Signal{})
	w.pace(g, "at first", 80)
	for i, says := range []gate.Outcome{gate.Failed, gate.Failed, gate.Throttled, gate.Throttled, gate.Throttled} {
		w.must(g, a, gate.Signal{Outcome: says})
		w.pace(g, fmt.Sprintf("complaint %d", i+1), []float64{40, 40, 20, 10, 10}[i]) // failures in a row count once
	}
	if n := w.state(g).Demotions; n != 4 {
		w.Errorf("%d demotions noted", n)
	}
}

// recovery: after complaints the rate comes back in steps, and not before their time.
func (w *world) recovery() {
	g := w.one()
	if g.Snapshot == nil {
		return
	}
	every := pick(w, 10*time.Second, 300*time.Millisecond)
	a := w.ask(recovering(every))
	began := time.Now()
	for range 4 {
		w.must(g, a, gate.Signal{Outcome: gate.Throttled})
	}
	for step, got := 1, 0.0; got < 80*0.99; step++ {
		<-time.After(every)
		got = w.state(g).PerSecond
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
	g := w.one()
	if g.Snapshot == nil {
		return
	}
	limits := recovering(time.Hour)
	limits.Burst = 8
	var done []func(gate.Signal)
	for range 8 {
		d, err := g.Acquire(w.Context(), w.ask(limits))
		if err != nil {
			w.Fatal(err)
		}
		done = append(done, d)
	}
	<-time.After(20 * time.Millisecond)
	for _, d := range done {
		d(gate.Signal{Outcome: gate.Throttled})
	}
	w.pace(g, "after a burst", 40)
}

func (w *world) refused() {
	g := w.one()
	if g.Snapshot == nil {
		return
	}
	limits := recovering(time.Hour)
	for range 5 {
		w.must(g, w.ask(limits), gate.Signal{Outcome: gate.Refused})
	}
	w.pace(g, "after wrong requests", 80)
}

// announcedRate lowers, for all clients, and never raises.
func (w *world) announcedRate() {
	limits := gate.Limits{PerSecond: 100, Burst: 1, Concurrency: 8}
	clients := w.Open(w.T, 2)
	w.must(clients[0], w.ask(limits), gate.Signal{Announced: gate.Announced{PerSecond: 20, Concurrency: 2}})
	for clients[0].Snapshot != nil && w.state(clients[0]).PerSecond > 20 {
		<-time.After(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range clients {
		w.busy(ctx, &all, g, 4, w.ask(limits), 0, gate.Signal{Announced: gate.Announced{PerSecond: 20, Concurrency: 2}})
	}
	all.Wait()
	w.within(w.log(), 20, pick(w, 1, 2))
	if w.atMost > 2 {
		w.Errorf("%d under way, announced 2", w.atMost)
	}
}

// keys: what happens to one key is nothing to another.
func (w *world) keys() {
	g, a := w.one(), w.ask(gate.Limits{})
	w.must(g, a, gate.Signal{RetryAfter: time.Hour})
	a.Key = "other"
	began := time.Now()
	w.must(g, a, gate.Signal{})
	if took := time.Since(began); took > pick(w, 0, 30*time.Minute) {
		w.Errorf("another key waited %v", took)
	}
}

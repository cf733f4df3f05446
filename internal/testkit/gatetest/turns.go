package gatetest

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// testTurns: a task with eight workers and one with two have the same share.
func (w *world) testTurns() {
	g := w.newGate()
	limits := gate.Limits{PerSecond: 40, Burst: 1, Concurrency: 64}
	ctx, cancel := context.WithTimeout(w.Context(), pickByTime(w, time.Minute, 3*time.Second))
	defer cancel()
	var all sync.WaitGroup
	for task, workers := range map[int64]int{1: 8, 2: 2} {
		a := w.askFor(limits)
		a.Task = task
		w.keepBusy(ctx, &all, g, workers, a, 5*time.Millisecond, gate.Signal{})
	}
	all.Wait()
	had := map[int64]float64{}
	for _, s := range w.sentLog() {
		had[s.task]++
	}
	if mean := (had[1] + had[2]) / 2; math.Abs(had[1]-mean) > 0.05*mean+pickByTime(w, 0.0, 10) && w.isExact() {
		w.Errorf("%v and %v requests of two tasks", had[1], had[2])
	}
}

// testPriority: who is more urgent leaves first, though the others came first. One
// request holds the only place until all of them wait.
func (w *world) testPriority() {
	g := w.newGate()
	limits := gate.Limits{PerSecond: 1000, Burst: 1000, Concurrency: 1}
	done, err := g.Acquire(w.Context(), w.askFor(limits))
	if err != nil {
		w.Fatal(err)
	}
	var all sync.WaitGroup
	start := func(priority int, task int64) {
		for range 8 {
			all.Go(func() {
				a := w.askFor(limits)
				a.Priority, a.Task = priority, task
				if err := w.makeRequest(w.Context(), g, a, 0, gate.Signal{}); err != nil {
					w.Error(err)
				}
			})
		}
	}
	start(90, 1)
	w.awaitQueue(g, 8)
	start(50, 2)
	w.awaitQueue(g, 16)
	start(10, 3)
	w.awaitQueue(g, 24)
	done(gate.Signal{})
	all.Wait()
	wrong := 0
	for i, s := range w.sentLog() {
		if want := []int{10, 50, 90}[i/8]; s.priority != want {
			wrong++
		}
	}
	if wrong > 0 {
		w.Errorf("%d of 24 left out of order: %+v", wrong, w.sentLog())
	}
}

// testScarce: of a quota that does not last, something is left for the more urgent.
func (w *world) testScarce() {
	if w.untilHour() < 50*time.Minute && !w.Virtual {
		return // what is kept melts while the hour passes
	}
	g := w.newGate()
	had := map[int]int{}
	for _, priority := range []int{90, 50, 10} {
		a := w.askFor(fastLimits(gate.Limits{QuotaPerHour: 1000, QuotaMargin: 0.1}))
		a.Priority, a.Deadline = priority, time.Millisecond
		for w.makeRequest(w.Context(), g, a, 0, gate.Signal{}) == nil {
			had[priority]++
		}
	}
	if had[90] < 700 || had[90] > 780 || had[50] < 60 || had[10] < 60 || had[90]+had[50]+had[10] != 900 {
		w.Errorf("BACKFILL %d, UPDATE %d, HARVEST %d of 900", had[90], had[50], had[10])
	}
}

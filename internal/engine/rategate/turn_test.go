package rategate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// A task that was away for long catches up by a quantum and not more.
func TestQuantum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, declared := New(), limits(10, 1, 100)
		declared.Quantum = 4
		ask := func(task int64) gate.Ask { return gate.Ask{Key: "k", Limits: declared, Task: task} }
		one := func(task int64) {
			p, err := l.Acquire(t.Context(), ask(task))
			if err != nil {
				t.Fatal(err)
			}
			p.Done(gate.Signal{})
		}
		one(2)
		for range 50 {
			one(1)
		}
		var mu sync.Mutex
		var order []int64
		var all sync.WaitGroup
		for _, task := range []int64{1, 2} {
			for range 12 {
				all.Go(func() {
					p, err := l.Acquire(t.Context(), ask(task))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					order = append(order, task)
					mu.Unlock()
					p.Done(gate.Signal{})
				})
			}
		}
		all.Wait()
		streak := 0
		for streak < len(order) && order[streak] == 2 {
			streak++
		}
		if streak < 3 || streak > 6 {
			t.Errorf("a quantum of 4, and %d in a row: %v", streak, order)
		}
	})
}

// Who is stopped at the moment it is served gives everything back.
func TestStoppedWhenServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, declared := New(), limits(1, 1, 1)
		declared.QuotaPerDay = 100
		first, err := l.Acquire(t.Context(), gate.Ask{Key: "k", Limits: declared})
		if err != nil {
			t.Fatal(err)
		}
		k := l.keys["k"]
		l.mu.Lock()
		w := k.enqueueAsk(gate.Ask{Key: "k", Limits: declared}, time.Now())
		l.mu.Unlock()
		<-time.After(5 * time.Second)
		first.Done(gate.Signal{})
		synctest.Wait()
		if w.permit == nil {
			t.Fatal("not served")
		}
		w.leaveQueue(context.Canceled)
		s := k.state.Snapshot("k", time.Now())
		if !errors.Is(w.err, context.Canceled) || w.permit != nil || k.inFlight != 0 || s.Quotas[0].Used != 1 || s.BurstLeft != 1 {
			t.Errorf("%v: %d under way, %+v", w.err, k.inFlight, s)
		}
	})
}

package rategate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// A Retry-After holds back every request of the key, those that already wait
// for their turn too, and its end is not a starting gun for all of them.
func TestCoolDownHoldsBackWhoAlreadyWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		declared := limits(1, 1, 5)
		first, err := l.Acquire(t.Context(), gate.Ask{Key: "k", Limits: declared})
		if err != nil {
			t.Fatal(err)
		}
		log.leave()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _ = log.request(t.Context(), l, "k", declared, 0, gate.Signal{}) })
		}
		synctest.Wait() // all four have a place and wait for the rate
		log.back()
		first.Done(gate.Signal{RetryAfter: time.Minute})
		end := time.Now().Add(time.Minute)
		all.Wait()
		if n := len(log.since(end)); n != 4 {
			t.Errorf("%d of 4 waited for the end of the cool-down", n)
		}
		within(t, log.sent, 1, 1)
	})
}

func TestLongerCoolDownWins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		var permits []transport.Permit
		for range 3 {
			p, err := l.Acquire(t.Context(), gate.Ask{Key: "k", Limits: limits(100, 3, 3)})
			if err != nil {
				t.Fatal(err)
			}
			permits = append(permits, p)
		}
		for i, wait := range []time.Duration{10 * time.Second, time.Minute, 0} {
			permits[i].Done(gate.Signal{RetryAfter: wait})
		}
		began := time.Now()
		if err := log.request(t.Context(), l, "k", limits(100, 3, 3), 0, gate.Signal{}); err != nil || time.Since(began) < 63*time.Second || time.Since(began) > 69*time.Second {
			t.Errorf("waited %v, want a minute and 5 to 15 percent: %v", time.Since(began), err)
		}
	})
}

func TestCancelledWaitersLeaveNothingBehind(t *testing.T) {
	for name, prepare := range map[string]func(*Local, context.Context){
		"for a place": func(l *Local, ctx context.Context) {
			for range 2 {
				_, _ = l.Acquire(ctx, gate.Ask{Key: "k", Limits: limits(1000, 1000, 2)})
			}
		},
		"for the rate": func(l *Local, ctx context.Context) {
			p, _ := l.Acquire(ctx, gate.Ask{Key: "k", Limits: limits(0.001, 1, 2)})
			p.Done(gate.Signal{})
		},
		"for the end of a cool-down": func(l *Local, ctx context.Context) {
			p, _ := l.Acquire(ctx, gate.Ask{Key: "k", Limits: limits(1000, 1000, 2)})
			p.Done(gate.Signal{RetryAfter: time.Hour})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := New()
				prepare(l, t.Context())
				declared, held := l.keys["k"].state.Limits(), l.keys["k"].inFlight
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						if _, err := l.Acquire(ctx, gate.Ask{Key: "k", Limits: declared}); err == nil {
							t.Error("a permit was given")
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				cancel()
				all.Wait()
				if time.Since(began) != 0 {
					t.Errorf("giving up took %v", time.Since(began))
				}
				if k := l.keys["k"]; k.inFlight != held || len(k.waiting) != 0 {
					t.Errorf("%d places and %d waiting, want %d and none", k.inFlight, len(k.waiting), held)
				}
			})
		})
	}
}

// A place that is given up goes to the next in line, in order.
func TestPlacesGoOnInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := New()
		declared := limits(1000, 1000, 1)
		holder, err := l.Acquire(t.Context(), gate.Ask{Key: "k", Limits: declared})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		impatient, cancel := context.WithCancel(t.Context())
		for i := range 6 {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = impatient
			}
			all.Go(func() {
				p, err := l.Acquire(ctx, gate.Ask{Key: "k", Limits: declared})
				if err != nil {
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				p.Done(gate.Signal{})
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		holder.Done(gate.Signal{})
		all.Wait()
		if len(order) != 3 || order[0] != 1 || order[1] != 3 || order[2] != 5 {
			t.Errorf("served %v, want [1 3 5]", order)
		}
	})
}

// Who gives up while waiting for the rate must not let two others leave at once.
func TestGivingUpDoesNotBunchTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		declared := limits(1, 1, 10)
		var all sync.WaitGroup
		start := func(ctx context.Context) {
			all.Go(func() { _ = log.request(ctx, l, "k", declared, 0, gate.Signal{}) })
			synctest.Wait()
		}
		impatient, cancel := context.WithCancel(t.Context())
		start(t.Context()) // leaves at once
		start(impatient)   // would leave after 1 s
		start(t.Context()) // leaves after 2 s
		cancel()
		synctest.Wait()
		start(t.Context())
		start(t.Context())
		all.Wait()
		if len(log.sent) != 4 {
			t.Errorf("%d sent", len(log.sent))
		}
		within(t, log.sent, 1, 1)
	})
}

func TestCancelledBeforehand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := New()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			if _, err := l.Acquire(ctx, gate.Ask{Key: "k", Limits: gate.Limits{}}); err == nil {
				t.Fatal("a permit after the end")
			}
		}
		if len(l.keys) != 0 {
			t.Error("something is left over")
		}
	})
}

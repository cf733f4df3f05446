package rategate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// D§5.23: processes that share a limit without a shared gate stay below it
// together. Without one they cannot know each other's last request, so each may
// have one request that falls together with the others'.
func TestSharesStayBelowTheLimitTogether(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		declared := limits(rapid.Float64Range(0.5, 20).Draw(rt, "rate"), rapid.IntRange(1, 6).Draw(rt, "burst"), rapid.IntRange(1, 8).Draw(rt, "concurrency"))
		n := rapid.IntRange(1, 5).Draw(rt, "processes")
		takes := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "takes")) * time.Millisecond
		var log traffic
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for rank := range n {
				l := New()
				l.SetShare(rank, n)
				for range 4 {
					all.Go(func() {
						for log.request(ctx, l, "k", declared, takes, gate.Signal{}) == nil {
						}
					})
				}
			}
			all.Wait()
		})
		if log.atMost > declared.Concurrency {
			rt.Fatalf("%d under way over %d processes, allowed %d", log.atMost, n, declared.Concurrency)
		}
		within(rt, log.sent, declared.PerSecond, max(declared.Burst, n))
		if len(log.sent) == 0 {
			rt.Fatal("nobody sent anything")
		}
	})
}

func TestShareChangesWhileWorking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		declared := limits(10, 1, 4)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for log.request(ctx, l, "k", declared, 300*time.Millisecond, gate.Signal{}) == nil {
				}
			})
		}
		<-time.After(10 * time.Second)
		l.SetShare(1, 5) // concurrency 4 over 5: one for rank 1
		joined := time.Now()
		<-time.After(10 * time.Second)
		shared := log.since(joined.Add(time.Microsecond))
		within(t, shared, 2, 1)
		if len(shared) < 15 {
			t.Errorf("%d requests in 10 s at 2 a second", len(shared))
		}
		l.SetShare(0, 1)
		alone := time.Now()
		<-time.After(10 * time.Second)
		cancel()
		all.Wait()
		again := log.since(alone)
		within(t, again, 10, 1)
		if len(again) < 90 {
			t.Errorf("%d requests in 10 s at 10 a second: the larger share is not used", len(again))
		}
	})
}

// A process may get no place at all; it waits until the others are gone.
func TestNoPlaceForOneOfMany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		l.SetShare(1, 2)
		done := make(chan error, 1)
		go func() { done <- log.request(t.Context(), l, "k", limits(10, 1, 1), 0, gate.Signal{}) }()
		<-time.After(time.Hour)
		if len(log.sent) != 0 {
			t.Error("a request left without a place")
		}
		l.SetShare(0, 1)
		if err := <-done; err != nil || len(log.sent) != 1 {
			t.Errorf("%d sent, %v", len(log.sent), err)
		}
	})
}

// What the answers announce lowers the limits at once, for those who wait too,
// and never raises them above the declared ones.
func TestAnnouncedLimitsLower(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		declared := limits(10, 1, 5)
		slow := gate.Signal{Announced: gate.Announced{PerSecond: 1, Concurrency: 2}}
		first, err := l.Acquire(t.Context(), gate.Ask{Key: "k", Limits: declared})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for log.request(ctx, l, "k", declared, 3*time.Second, slow) == nil {
				}
			})
		}
		synctest.Wait() // four wait at ten a second
		first.Done(slow)
		announced := time.Now()
		<-time.After(time.Minute)
		cancel()
		all.Wait()
		within(t, log.since(announced), 1, 1)
		if n := len(log.sent); n < 35 {
			t.Errorf("%d requests in a minute: two at a time, three seconds each", n)
		}
		if log.atMost > 2 {
			t.Errorf("%d under way, announced 2", log.atMost)
		}
	})
}

func TestAnnouncedLimitsNeverRaise(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		declared := limits(2, 1, 2)
		generous := gate.Signal{Announced: gate.Announced{PerSecond: 1000, Concurrency: 100}}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 5 {
					_ = log.request(t.Context(), l, "k", declared, 2*time.Second, generous)
				}
			})
		}
		all.Wait()
		within(t, log.sent, 2, 1)
		if log.atMost > 2 {
			t.Errorf("%d under way, declared 2", log.atMost)
		}
	})
}

// After an announcement is taken back, the declared limits hold again; an
// answer that says nothing takes nothing back.
func TestAnnouncementsComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		rate := func(says gate.Announced) float64 {
			_ = log.request(t.Context(), l, "k", limits(4, 1, 4), 0, gate.Signal{Announced: says})
			return l.keys["k"].state.Rate(time.Now())
		}
		for i, step := range []struct {
			says gate.Announced
			want float64
		}{{gate.Announced{}, 4}, {gate.Announced{PerSecond: 1}, 1}, {gate.Announced{}, 1}, {gate.Announced{PerSecond: 3}, 3}, {gate.Announced{PerSecond: 9}, 4}} {
			if got := rate(step.says); got != step.want {
				t.Errorf("step %d: %v a second, want %v", i, got, step.want)
			}
		}
	})
}

func TestObeyHeadersCanBeTurnedOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log, no, yes := New(), traffic{}, false, true
		slow := gate.Signal{Announced: gate.Announced{PerSecond: 1, Concurrency: 1}}
		for _, step := range []struct {
			obey *bool
			want float64
		}{{&no, 5}, {&yes, 1}, {&no, 5}, {nil, 1}} {
			declared := limits(5, 1, 3)
			declared.ObeyHeaders = step.obey
			_ = log.request(t.Context(), l, "k", declared, 0, slow)
			<-time.After(2 * time.Minute) // for that long, the more polite declaration counts
			_ = log.request(t.Context(), l, "k", declared, 0, slow)
			if got := l.keys["k"].state.Rate(time.Now()); got != step.want {
				t.Errorf("obeyHeaders %v: %v a second, want %v", step.obey, got, step.want)
			}
		}
	})
}

// A process that is the second of two gets no place where there is one.
func TestPlaces(t *testing.T) {
	l := New()
	if n := l.Places("k", limits(10, 1, 3)); n != 3 {
		t.Errorf("alone: %d", n)
	}
	for _, c := range []struct{ rank, n, want int }{{0, 2, 2}, {1, 2, 1}, {3, 4, 0}} {
		l.SetShare(c.rank, c.n)
		if got := l.Places("k", limits(10, 1, 3)); got != c.want {
			t.Errorf("rank %d of %d: %d places, want %d", c.rank, c.n, got, c.want)
		}
		if rank, n := l.Share(); rank != c.rank || n != c.n {
			t.Errorf("share %d of %d, want %d of %d", rank, n, c.rank, c.n)
		}
	}
}

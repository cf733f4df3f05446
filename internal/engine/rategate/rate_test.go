package rategate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// I11 as a law: any number of workers with requests of any length, some of them
// told to slow down and some of them giving up while they wait.
func TestNeverAboveTheLimits(t *testing.T) {
	type call struct {
		start, takes, patience, cool time.Duration
	}
	rapid.Check(t, func(rt *rapid.T) {
		declared := limits(rapid.Float64Range(0.2, 20).Draw(rt, "rate"), rapid.IntRange(1, 5).Draw(rt, "burst"), rapid.IntRange(1, 6).Draw(rt, "concurrency"))
		ms := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Millisecond
		}
		calls := make([]call, rapid.IntRange(1, 40).Draw(rt, "calls"))
		for i := range calls {
			calls[i] = call{start: ms("start", 3000), takes: ms("takes", 1500), patience: time.Hour}
			switch rapid.IntRange(0, 5).Draw(rt, "sort") {
			case 0:
				calls[i].patience = ms("patience", 2000)
			case 1:
				calls[i].cool = ms("cool", 5000)
			}
		}
		var log traffic
		var broken string
		synctest.Test(t, func(t *testing.T) {
			l := New()
			var cooling, heard time.Time // who leaves at the same instant cannot know
			var mu sync.Mutex
			var all sync.WaitGroup
			for _, c := range calls {
				all.Go(func() {
					<-time.After(c.start)
					ctx, cancel := context.WithTimeout(t.Context(), c.patience)
					defer cancel()
					permit, err := l.Acquire(ctx, gate.Ask{Key: "k", Limits: declared})
					if err != nil {
						return
					}
					log.leave()
					mu.Lock()
					if now := time.Now(); now.Before(cooling) && heard.Before(now) {
						broken = fmt.Sprintf("a request left %v before the end of a cool-down", time.Until(cooling))
					}
					mu.Unlock()
					<-time.After(c.takes)
					log.back()
					mu.Lock()
					if until := time.Now().Add(c.cool); c.cool > 0 && until.After(cooling) {
						cooling, heard = until, time.Now()
					}
					permit.Done(gate.Signal{RetryAfter: c.cool})
					mu.Unlock()
				})
			}
			all.Wait()
			if k := l.keys["k"]; k != nil && k.inFlight+len(k.waiting) != 0 {
				broken = fmt.Sprintf("%d places and %d waiting are left over", k.inFlight, len(k.waiting))
			}
		})
		if broken != "" {
			rt.Fatal(broken)
		}
		if log.atMost > declared.Concurrency {
			rt.Fatalf("%d under way, allowed %d", log.atMost, declared.Concurrency)
		}
		within(rt, log.sent, declared.PerSecond, declared.Burst)
	})
}

// Politeness has no cost beyond the limit: with enough to do, the rate is used up.
func TestTheRateIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		began := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 25 {
					if err := log.request(t.Context(), l, "k", limits(10, 1, 4), 200*time.Millisecond, gate.Signal{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		within(t, log.sent, 10, 1)
		if took := time.Since(began); took > 10200*time.Millisecond {
			t.Errorf("100 requests at 10 a second took %v", took)
		}
	})
}

func TestBurstAfterAPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		for range 3 { // a burst, a pause that refills the bucket, a burst …
			for range 5 {
				if err := log.request(t.Context(), l, "k", limits(1, 3, 1), 0, gate.Signal{}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Minute)
		}
		within(t, log.sent, 1, 3)
		if gap := log.sent[2].Sub(log.sent[0]); gap != 0 {
			t.Errorf("the burst took %v", gap)
		}
	})
}

// Unset limits are one request a second, one at a time (§4.10.8).
func TestDefaultIsPolite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_ = log.request(t.Context(), l, "k", gate.Limits{}, 100*time.Millisecond, gate.Signal{})
			})
		}
		all.Wait()
		within(t, log.sent, 1, 1)
		if log.atMost != 1 || len(log.sent) != 5 {
			t.Errorf("%d sent, %d at once", len(log.sent), log.atMost)
		}
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		began := time.Now()
		if err := log.request(t.Context(), l, "slow", limits(1, 1, 1), 0, gate.Signal{RetryAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if err := log.request(t.Context(), l, "other", limits(1, 1, 1), 0, gate.Signal{}); err != nil || time.Since(began) != 0 {
			t.Errorf("another key waited %v: %v", time.Since(began), err)
		}
	})
}

// A newer snapshot that declares less is obeyed from its first request on.
func TestNewerDeclarationCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, log := New(), traffic{}
		for range 10 {
			_ = log.request(t.Context(), l, "k", limits(100, 10, 10), 0, gate.Signal{})
		}
		at := time.Now()
		for range 5 {
			_ = log.request(t.Context(), l, "k", limits(1, 1, 1), 0, gate.Signal{})
		}
		within(t, log.since(at.Add(time.Microsecond)), 1, 1)
		if n := len(log.since(at.Add(time.Microsecond))); n < 4 {
			t.Errorf("only %d of the slow requests could be judged", n)
		}
	})
}

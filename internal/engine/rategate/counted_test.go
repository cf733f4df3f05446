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
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
)

func client(l *Local, restart func(*Local, bool) *Local) gatetest.Gate {
	g := gatetest.Gate{
		Acquire: func(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
			p, err := l.Acquire(ctx, a)
			if err != nil {
				return nil, err
			}
			return p.Done, nil
		},
		Estimate: l.Estimate, Snapshot: l.Snapshot, Standing: l.Standing, SetShare: l.SetShare,
	}
	if restart != nil {
		g.Restart = func(orderly bool) gatetest.Gate { return client(restart(l, orderly), restart) }
	}
	return g
}

// A gate whose quotas are counted elsewhere is a gate like any other.
func TestCounted(t *testing.T) {
	gatetest.Run(t, gatetest.Subject{Virtual: true, Open: func(t *testing.T, clients int) []gatetest.Gate {
		ledger, lives := &gatetest.Quotas{}, 0
		born := func() *Local {
			lives++
			l := NewCounted(ledger, fmt.Sprint("life ", lives))
			t.Cleanup(func() { l.Close(context.Background()) })
			return l
		}
		l := born()
		out := make([]gatetest.Gate, clients)
		for i := range out {
			out[i] = client(l, func(was *Local, orderly bool) *Local {
				if orderly {
					if err := was.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
				return born()
			})
		}
		return out
	}})
}

// One order after another of processes that begin, send, pause, end and crash,
// with stored quotas that fails at times, before or after it has counted: no window
// holds more than its quota, by the upstream's own log.
func TestNoOrderExceedsTheQuota(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.SliceOfN(rapid.Uint8(), 1, 30).Draw(rt, "events")
		perHour, perDay := rapid.Int64Range(1, 60).Draw(rt, "hour"), rapid.SampledFrom([]int64{0, 40, 90}).Draw(rt, "day")
		margin := rapid.SampledFrom([]float64{0.001, 0.1}).Draw(rt, "margin")
		takes := time.Duration(rapid.SampledFrom([]int{0, 3, 700, 5000}).Draw(rt, "takes")) * time.Millisecond
		unreliable := rapid.IntRange(0, 3).Draw(rt, "unreliable")
		over := ""
		synctest.Test(t, func(t *testing.T) {
			w := newTown(t, gate.Limits{PerSecond: 100, Burst: 20, Concurrency: 100, QuotaPerHour: perHour, QuotaPerDay: perDay, QuotaMargin: margin}, unreliable)
			w.ledger.Takes = takes
			for i, event := range seed {
				w.happens(i, event)
			}
			w.end()
			over = w.over(perHour, perDay)
		})
		if over != "" {
			rt.Fatal(over)
		}
	})
}

// town is some processes on one ledger.
type town struct {
	*testing.T
	limits gate.Limits
	ledger *gatetest.Quotas
	gates  []*Local // those that live
	born   []*Local
	all    sync.WaitGroup
	mu     sync.Mutex
	sent   []time.Time
}

func newTown(t *testing.T, l gate.Limits, unreliable int) *town {
	w := &town{T: t, limits: l, ledger: &gatetest.Quotas{}}
	claims := 0
	if unreliable > 0 {
		w.ledger.Fails = func() (bool, bool) {
			claims++
			return claims%(unreliable+2) == 0, claims%(unreliable+3) == 1
		}
	}
	for range 3 {
		w.gates = append(w.gates, w.birth())
	}
	return w
}

func (w *town) birth() *Local {
	l := NewCounted(w.ledger, fmt.Sprint("life ", len(w.born)))
	w.born = append(w.born, l)
	return l
}

// happens: mostly requests, of any priority; now and then an end, a crash, or a
// pause that may pass the end of an hour.
func (w *town) happens(i int, event uint8) {
	one := i % len(w.gates)
	switch event % 8 {
	case 0:
		w.gates[one].Close(context.Background())
		w.gates[one] = w.birth()
	case 1:
		w.gates[one] = w.birth() // and whoever waits at the old one goes on: the worst a crash can do
	case 2: // to the end of the hour, nearly
		<-time.After(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)) - time.Duration(event)*20*time.Millisecond)
	default:
		at := w.gates[one]
		for range 1 + event/16 {
			w.all.Go(func() { w.request(at, []int{10, 50, 90}[event%3]) })
		}
		<-time.After(time.Duration(event) * 5 * time.Millisecond)
	}
}

func (w *town) request(l *Local, priority int) {
	p, err := l.Acquire(context.Background(), gate.Ask{Key: "source", Limits: w.limits, Priority: priority, Deadline: 5 * time.Second})
	if err != nil {
		return
	}
	w.mu.Lock()
	w.sent = append(w.sent, time.Now())
	w.mu.Unlock()
	<-time.After(50 * time.Millisecond)
	p.Done(gate.Signal{})
}

func (w *town) end() {
	w.all.Wait()
	for _, l := range w.born {
		l.Close(context.Background())
	}
}

func (w *town) over(perHour, perDay int64) string {
	hours, days := map[time.Time]int64{}, map[time.Time]int64{}
	for _, at := range w.sent {
		hours[at.Truncate(time.Hour)]++
		days[at.Truncate(24*time.Hour)]++
	}
	for at, n := range hours {
		if n > perHour {
			return fmt.Sprintf("%d requests in the hour of %v, declared %d", n, at, perHour)
		}
	}
	for at, n := range days {
		if perDay > 0 && n > perDay {
			return fmt.Sprintf("%d requests on %v, declared %d", n, at, perDay)
		}
	}
	return ""
}

// Requests of a busy process cost a claim now and then, not one each.
func TestBlocksSaveRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &gatetest.Quotas{}
		l := NewCounted(ledger, "one")
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 10, Burst: 1, Concurrency: 1, QuotaPerHour: 100_000}}
		for range 1000 {
			p, err := l.Acquire(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			p.Done(gate.Signal{})
		}
		if ledger.Claims > 30 {
			t.Errorf("%d claims for 1000 requests", ledger.Claims)
		}
		if taken := ledger.Taken("source", "hour"); taken < 1000 || taken > 1200 {
			t.Errorf("%v taken for 1000 requests", taken)
		}
		<-time.After(2 * time.Minute) // nobody needs it
		synctest.Wait()
		if taken := ledger.Taken("source", "hour"); taken != 1000 {
			t.Errorf("%v are still taken by who sent 1000 and sleeps", taken)
		}
	})
}

// What one process gives back, another that was refused finds after a while.
func TestRefusedLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &gatetest.Quotas{}
		hoards, waits := NewCounted(ledger, "hoards"), NewCounted(ledger, "waits")
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 100, Burst: 10, Concurrency: 9, QuotaPerHour: 10, QuotaMargin: 0.001}, Deadline: time.Second}
		if _, err := ledger.ClaimQuota(t.Context(), "source", "hoards", []gate.Claim{{Quota: "hour", Length: time.Hour, Usable: 9, More: 9}}); err != nil {
			t.Fatal(err)
		}
		if _, err := waits.Acquire(t.Context(), a); err == nil {
			t.Fatal("more than the quota")
		}
		if err := hoards.Look(t.Context(), "source", a.Limits); err != nil { // it knows of nothing it used
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		_, _ = waits.Acquire(t.Context(), a)
		synctest.Wait()
		if p, err := waits.Acquire(t.Context(), a); err != nil {
			t.Error(err)
		} else {
			p.Done(gate.Signal{})
		}
	})
}

// A pause the upstream asked for holds for who comes after us, too.
func TestCoolDownOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &gatetest.Quotas{}
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 10}, Deadline: time.Second}
		p, err := NewCounted(ledger, "one").Acquire(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		p.Done(gate.Signal{Outcome: gate.Throttled, RetryAfter: time.Minute})
		synctest.Wait()
		if _, err := NewCounted(ledger, "two").Acquire(t.Context(), a); err == nil {
			t.Error("a new process did not wait")
		}
		<-time.After(70 * time.Second)
		if _, err := NewCounted(ledger, "three").Acquire(t.Context(), a); err != nil {
			t.Error(err)
		}
	})
}

// While nobody counts, nothing leaves.
func TestNothingLeavesUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		ledger := &gatetest.Quotas{Fails: func() (bool, bool) { return down, false }}
		l := NewCounted(ledger, "one")
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 10, QuotaPerDay: 100}, Deadline: 5 * time.Second}
		if _, err := l.Acquire(t.Context(), a); err == nil {
			t.Fatal("a request left that nobody counted")
		}
		if _, _, err := l.Spend(t.Context(), a); err == nil {
			t.Fatal("it was spent")
		}
		down = false
		if _, err := l.Acquire(t.Context(), a); err != nil {
			t.Error(err)
		}
		valid, undo, err := l.Spend(t.Context(), a)
		if err != nil || !valid() {
			t.Fatal("not spent", err)
		}
		<-time.After(time.Hour)
		if !valid() {
			t.Error("the day is over after an hour")
		}
		undo()
		if s, _ := l.Snapshot(t.Context()); s[0].Quotas[0].Used != 1 {
			t.Errorf("%+v", s[0].Quotas)
		}
	})
}

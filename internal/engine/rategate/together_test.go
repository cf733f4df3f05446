package rategate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
)

// team is processes that share nothing but a book, and their upstream's log.
type team struct {
	*testing.T
	book  *gatetest.SharedRate
	gates []*Local
	mu    sync.Mutex
	at    []time.Time
}

func newTeam(t *testing.T, n int) *team {
	m := &team{T: t, book: &gatetest.SharedRate{Takes: time.Millisecond}}
	for i := range n {
		l := NewCounted(&gatetest.Quotas{}, fmt.Sprint(i))
		l.Agree(m.book, false)
		l.SetShare(i, n)
		m.gates = append(m.gates, l)
		t.Cleanup(func() { l.Close(context.Background()) })
	}
	return m
}

// send is one request of one process.
func (m *team) send(ctx context.Context, l *Local, a gate.Ask, says gate.Signal) error {
	p, err := l.Acquire(ctx, a)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.at = append(m.at, time.Now())
	m.mu.Unlock()
	<-time.After(10 * time.Millisecond)
	p.Done(says)
	return nil
}

// busy keeps all processes at it for a while.
func (m *team) busy(lasts time.Duration, a gate.Ask) {
	ctx, cancel := context.WithTimeout(m.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range m.gates {
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					if err := m.send(ctx, l, a, gate.Signal{}); err != nil && ctx.Err() == nil {
						m.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
}

func (m *team) within(perSecond, burst float64) {
	m.Helper()
	slices.SortFunc(m.at, time.Time.Compare)
	for i := range m.at {
		for j := i; j < len(m.at); j++ {
			if n := float64(j - i + 1); n > burst+perSecond*m.at[j].Sub(m.at[i]).Seconds()+1e-3 {
				m.Fatalf("%v requests within %v", n, m.at[j].Sub(m.at[i]))
			}
		}
	}
}

// I11 for any number of processes: never above burst + rate × time, and the rate
// is used.
func TestBelieve14TogetherNeverAboveAndUsed(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8, 16} {
		for _, burst := range []int{1, 5, 20} {
			t.Run(fmt.Sprintf("%d processes, burst %d", n, burst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newTeam(t, n)
					m.busy(20*time.Second, gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 50, Burst: burst, Concurrency: 64}})
					m.within(50, float64(burst))
					if len(m.at) < 970 {
						t.Errorf("%d requests in 20 s at 50 a second: politeness is not slowness", len(m.at))
					}
				})
			})
		}
	}
}

// A pause one process was asked for holds all, from the moment it was told.
func TestBelieve13PauseOfOneHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t, 4)
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 50, Burst: 10, Concurrency: 64}}
		var told time.Time
		var all sync.WaitGroup
		all.Go(func() { m.busy(10*time.Second, a) })
		all.Go(func() {
			<-time.After(3 * time.Second)
			if err := m.send(t.Context(), m.gates[0], a, gate.Signal{Outcome: gate.Throttled, RetryAfter: 2 * time.Second}); err != nil {
				t.Error(err)
			}
			told = time.Now() // it is stored
		})
		all.Wait()
		inside, after := 0, 0
		for _, at := range m.at {
			switch {
			case at.After(told) && at.Before(told.Add(2*time.Second)):
				inside++
			case at.After(told):
				after++
			}
		}
		if inside > 0 || after == 0 {
			t.Errorf("%d requests inside the pause, %d after it", inside, after)
		}
		m.within(50, 10)
	})
}

// While the shared rate cannot be asked nothing leaves; then it goes on.
func TestTogetherWithoutTheBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t, 2)
		began, gone := time.Now(), 5*time.Second
		m.book.Fails = func() bool { d := time.Since(began); return d > gone && d < 2*gone }
		m.busy(3*gone, gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 20, Burst: 2, Concurrency: 64}})
		m.within(20, 2)
		var during, after int
		for _, at := range m.at {
			switch d := at.Sub(began); {
			case d > gone+10*time.Millisecond && d < 2*gone:
				during++
			case d > 2*gone+2*time.Second:
				after++
			}
		}
		if during > 0 || after < 50 {
			t.Errorf("%d requests without the shared rate, %d after it came back", during, after)
		}
	})
}

// From one process to two and back: what left before counts.
func TestBelieve12JoinAndLeaveKeepTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t, 2)
		for _, l := range m.gates {
			l.SetShare(0, 1)
		}
		first, second := m.gates[0], m.gates[1]
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 2, Burst: 4, Concurrency: 2}}
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 4 { // all of the burst
			must(m.send(ctx, first, a, gate.Signal{}))
		}
		under, err := first.Acquire(ctx, a)
		must(err)
		also, err := first.Acquire(ctx, a)
		must(err)
		m.at = append(m.at, time.Now().Add(-500*time.Millisecond), time.Now())
		first.SetShare(0, 2)
		if room, err := first.MakeRoom(ctx); room || err != nil {
			t.Errorf("two requests are under way, one is ours: %v, %v", room, err)
		}
		also.Done(gate.Signal{})
		under.Done(gate.Signal{})
		if room, err := first.MakeRoom(ctx); !room || err != nil {
			t.Errorf("there is no room: %v, %v", room, err)
		}
		second.SetShare(1, 2)
		for range 3 {
			must(m.send(ctx, second, a, gate.Signal{}))
			must(m.send(ctx, first, a, gate.Signal{}))
		}
		first.SetShare(0, 1)
		for range 3 {
			must(m.send(ctx, first, a, gate.Signal{}))
		}
		m.within(2, 4)
	})
}

// A door that is closed lets nobody through, also who had a permit before.
func TestDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDoor()
		g := Guarded{Permits: New(), Door: d}
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 1, Concurrency: 4}, Deadline: 3 * time.Second}
		if _, err := g.Acquire(t.Context(), a); err == nil {
			t.Error("it was closed")
		}
		began := time.Now()
		time.AfterFunc(time.Second, func() { d.Set(true, time.Now().Add(500*time.Millisecond)) })
		time.AfterFunc(5*time.Second, func() { d.Set(true, time.Now().Add(time.Hour)) })
		for _, want := range []time.Duration{time.Second, 5 * time.Second} { // the second had to wait for the rate, and found it closed
			a.Deadline = 10 * time.Second
			p, err := g.Acquire(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got < want {
				t.Errorf("let through after %v, want %v", got, want)
			}
			p.Done(gate.Signal{})
		}
	})
}

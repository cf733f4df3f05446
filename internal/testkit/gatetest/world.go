package gatetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// world is one test: a gate, and an upstream that writes down who came when.
type world struct {
	*testing.T
	Subject

	noise    *Noise // of a test in real time
	began    time.Time
	mu       sync.Mutex
	sent     []arrival
	underWay int
	atMost   int
}

type arrival struct {
	at       time.Time
	task     int64
	priority int
}

// pickByTime is a value for virtual and one for real time.
func pickByTime[T any](w *world, virtual, real T) T {
	if w.Virtual {
		return virtual
	}
	return real
}

func (w *world) newGate() Gate { return w.Open(w.T, 1)[0] }

// askFor is a request of a key that every test has for itself.
func (w *world) askFor(l gate.Limits) gate.Ask { return gate.Ask{Key: "source", Limits: l} }

// makeRequest passes the gate, takes some time at the upstream and hands in what the
// answer said.
func (w *world) makeRequest(ctx context.Context, g Gate, a gate.Ask, takes time.Duration, says gate.Signal) error {
	done, err := g.Acquire(ctx, a)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.sent = append(w.sent, arrival{time.Now(), a.Task, a.Priority})
	w.underWay++
	w.atMost = max(w.atMost, w.underWay)
	w.mu.Unlock()
	if takes > 0 {
		<-time.After(takes)
	}
	w.mu.Lock()
	w.underWay--
	w.mu.Unlock()
	done(says)
	return nil
}

// mustPass is a request that has to pass.
func (w *world) mustPass(g Gate, a gate.Ask, says gate.Signal) {
	w.Helper()
	if err := w.makeRequest(w.Context(), g, a, 0, says); err != nil {
		w.Fatal(err)
	}
}

// sentLog is what the upstream wrote down, in order.
func (w *world) sentLog() []arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(w.sent), func(a, b arrival) int { return a.at.Compare(b.at) })
}

// isExact reports whether the test may ask how soon something happens.
func (w *world) isExact() bool { return w.Virtual || Proves() }

// checkWithin holds the log against I11: over any stretch of time no more than
// burst + rate × time.
func (w *world) checkWithin(sent []arrival, perSecond float64, burst int) {
	w.Helper()
	var came []time.Time
	for _, s := range sent {
		came = append(came, s.at)
	}
	if !w.Virtual {
		CheckRate(w.T, w.began, came, perSecond, float64(burst), w.noise)
		return
	}
	if most := highestBurst(came, perSecond); most > float64(burst)+1e-6 {
		w.Fatalf("a burst of %.2f above %v a second, declared are %d", most, perSecond, burst)
	}
}

// awaitQueue waits until so many ask for the key. A gate that does not show them gets a
// moment of virtual time.
func (w *world) awaitQueue(g Gate, waiting int) {
	w.Helper()
	for {
		<-time.After(time.Millisecond)
		if g.Snapshot == nil || w.gateState(g).Waiting >= waiting {
			return
		}
	}
}

// keepBusy keeps workers of a client asking until ctx ends.
func (w *world) keepBusy(ctx context.Context, all *sync.WaitGroup, g Gate, workers int, a gate.Ask, takes time.Duration, says gate.Signal) {
	for range workers {
		all.Go(func() {
			for {
				err := w.makeRequest(ctx, g, a, takes, says)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					w.Error(err)
					return
				}
			}
		})
	}
}

// refusalOf is the fault of a request that is refused at once.
func (w *world) refusalOf(g Gate, a gate.Ask) *fault.Error {
	w.Helper()
	began := time.Now()
	done, err := g.Acquire(w.Context(), a)
	if err == nil {
		done(gate.Signal{})
		w.Fatal("a permit was given")
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.RateLimited || !f.Unsent || f.Level != fault.Transient {
		w.Fatalf("refused with %#v", err)
	}
	if took := time.Since(began); took > a.Deadline+time.Second && w.isExact() {
		w.Errorf("the refusal took %v", took)
	}
	return f
}

// gateState is what the gate shows of the key.
func (w *world) gateState(g Gate) gate.Snapshot {
	w.Helper()
	all, err := g.Snapshot(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range all {
		if s.Key == "source" {
			return s
		}
	}
	w.Fatalf("the key is not among %+v", all)
	return gate.Snapshot{}
}

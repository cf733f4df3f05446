package rategate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// traffic notes when requests leave and how many are under way.
type traffic struct {
	mu       sync.Mutex
	sent     []time.Time
	underWay int
	atMost   int
}

func (f *traffic) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, time.Now())
	f.underWay++
	f.atMost = max(f.atMost, f.underWay)
}

func (f *traffic) back() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay--
}

// request passes the gate, takes some time at the upstream and hands in what
// the answer said.
func (f *traffic) request(ctx context.Context, l *Local, key string, limits gate.Limits, takes time.Duration, says gate.Signal) error {
	permit, err := l.Acquire(ctx, gate.Ask{Key: key, Limits: limits})
	if err != nil {
		return err
	}
	f.leave()
	<-time.After(takes)
	f.back()
	permit.Done(says)
	return nil
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// within holds the log against I11: over any stretch of time, no more than
// burst + rate × time.
func within(t failer, sent []time.Time, perSecond float64, burst int) {
	t.Helper()
	sent = slices.SortedFunc(slices.Values(sent), time.Time.Compare)
	for i := range sent {
		for j := i; j < len(sent); j++ {
			span := sent[j].Sub(sent[i]).Seconds()
			if n := float64(j - i + 1); n > float64(burst)+perSecond*span+1e-6 {
				t.Fatalf("%v requests within %.3f s from %v on, allowed %.2f", n, span, sent[i].Sub(sent[0]), float64(burst)+perSecond*span)
			}
		}
	}
}

// since is what left at an instant or later.
func (f *traffic) since(at time.Time) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.sent), func(t time.Time) bool { return t.Before(at) })
}

func limits(perSecond float64, burst, concurrency int) gate.Limits {
	return gate.Limits{PerSecond: perSecond, Burst: burst, Concurrency: concurrency}
}

// bubble runs a test with a clock of its own that jumps to the next event.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

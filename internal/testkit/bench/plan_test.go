package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// hourly plans one slice an hour: n of them.
func hourly(n int) planner.Request {
	to := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	from := to.Add(-time.Duration(n) * time.Hour)
	return planner.Request{Now: to.AddDate(0, 1, 0), From: &from, To: &to, TriggerKey: fmt.Sprint(n), Scheduler: "TEST", Type: "MANUAL"}
}

// planned is what one plan took.
type planned struct {
	wall, cpu time.Duration
	heap      uint64
}

func planOnce(ctx context.Context, tb testing.TB, k kind, c *spec.Compiled, n int) planned {
	tb.Helper()
	s := k.fresh(tb).open(tb, false)
	defer s.Close()
	runtime.GC()
	peak, stop := watchHeap()
	began, before := time.Now(), cpu(tb)
	_, d, err := planner.New(s).Plan(ctx, c, hourly(n))
	took := planned{wall: time.Since(began), cpu: cpu(tb) - before}
	stop()
	if err != nil || len(d.Slices) != n {
		tb.Fatalf("%d slices, %v", len(d.Slices), err)
	}
	took.heap = *peak
	return took
}

// watchHeap notes the largest heap until it is stopped.
func watchHeap() (peak *uint64, stop func()) {
	peak = new(uint64)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return peak, func() { close(done); <-ended }
}

// benchPlan draws and stores a plan of 100,000 slices with their tasks. The
// reference is a tenth of it: the cost per slice must not grow.
func benchPlan(b *testing.B, k kind, out *table) {
	c := compile(b, "slicing.step=PT1H", "filter.precision=SECOND")
	const few, many = 10_000, 100_000
	small := planOnce(b.Context(), b, k, c, few)
	large := planOnce(b.Context(), b, k, c, many)
	what := fmt.Sprintf("plan and store 100,000 slices, %s", k.name)
	ours := fmt.Sprintf("%.1f s (processor %.1f s), heap %d MB", large.wall.Seconds(), large.cpu.Seconds(), large.heap>>20)
	reference := fmt.Sprintf("%.2f s (processor %.2f s) for 10,000", small.wall.Seconds(), small.cpu.Seconds())
	out.add(b, line{what, ours, reference, ratio(large.wall, 10*small.wall), "per slice, against a tenth of them; 1 is linear"})
}

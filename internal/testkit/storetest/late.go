package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// following is a harvest after one that read the first nine days of March.
func following(trigger string) harvest {
	return harvest{trigger: trigger, first: 9, days: 2, lag: &ingest.PlanLag{
		Declared: 10 * time.Minute, SafetyLag: 15 * time.Minute, Passed: march(1, 10),
	}}
}

func (w *world) latenessIs(h harvest, since time.Time, late, changed int64, raised time.Duration) {
	w.Helper()
	got, err := w.store.Lateness(w.ctx, h.namespace(), since)
	w.must(err)
	if want := (window.Lateness{Late: late, Changed: changed, Raised: raised}); got != want {
		w.Errorf("lateness %+v, want %+v", got, want)
	}
}

// lateAndOnTime is a page of which one item came late and two did not.
func (a *attempt) lateAndOnTime() ingest.BatchResult {
	a.w.Helper()
	n := a.run.ID*10 + int64(a.pages)
	return a.commit(item(fmt.Sprint("late", n), "x", midnight(9)), item(fmt.Sprint("new", n), "x", midnight(10)), item(fmt.Sprint("newer", n), "x", noon))
}

func ended(o ingest.Outcome, results ...ingest.BatchResult) ingest.Outcome {
	for _, r := range results {
		o.Stats.BatchStats = o.Stats.BatchStats.Add(r.Stats)
	}
	return o
}

func (s suite) lateArrivals(t *testing.T) {
	const raised = 5 * time.Minute
	h := following("next")
	s.test(t, "nothing is known at first", func(w *world) {
		w.latenessIs(h, noon, 0, 0, 0)
		w.plan(harvest{})
		w.latenessIs(h, noon, 0, 0, 0)
	})
	s.test(t, "items behind the watermark are counted to the end of the run", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		if a.work.Passed != march(1, 10) {
			w.Fatalf("the worker is told %v", a.work.Passed)
		}
		page := a.page(item("late", "x", midnight(9)), item("new", "x", midnight(10)), item("old", "x", midnight(1).Add(-time.Second)))
		first := a.store(page)
		want := ingest.BatchStats{Seen: 3, Inserted: 3, Late: 1}
		repeated, err := w.store.CommitBatch(w.ctx, page)
		w.must(err)
		if first.Stats != want || repeated.Stats != want {
			w.Errorf("committed %+v, again %+v, want %+v", first.Stats, repeated.Stats, want)
		}
		second := a.page(item("late", "y", midnight(9).Add(time.Hour)), item("new", "x", midnight(10)))
		second.RunStats.BatchStats = first.Stats
		changed := a.store(second)
		w.latenessIs(h, noon, 0, 0, raised) // the run may still be started over
		o := ended(succeeded, first, changed)
		a.finish(o)
		w.latenessIs(h, noon, 2, 4, raised)
		w.unchanged("finished again", func() { a.finish(o) })
		p, err := w.store.Progress(w.ctx, a.work.Lineage.PlanID)
		w.must(err)
		if p.Stats.Late != 2 || !p.Stats.Balanced() {
			w.Errorf("the plan says %+v", p.Stats)
		}
	})
	s.test(t, "runs that failed count, and so do those whose worker died", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.finish(ended(again, a.lateAndOnTime()))
		w.latenessIs(h, noon, 1, 3, raised)
		b := w.begin(h)
		b.lateAndOnTime() // its stats stand with the checkpoint
		w.clock.advance(2 * lease)
		w.reaps(10, 1)
		w.latenessIs(h, noon, 2, 6, raised)
		w.reaps(10, 0)
		c := w.begin(h)
		c.finish(ended(failed, c.lateAndOnTime()))
		w.latenessIs(h, noon, 3, 9, raised)
	})
	s.test(t, "a worker that died before its first page", func(w *world) {
		w.plan(h)
		w.begin(h)
		w.claim(h, 1)
		w.clock.advance(2 * lease)
		w.reaps(10, 2)
		w.latenessIs(h, noon, 0, 0, raised)
	})
	s.test(t, "what ended before does not count, the newest lag does", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.finish(ended(succeeded, a.lateAndOnTime()))
		w.clock.advance(time.Hour)
		next := following("after")
		next.lag.SafetyLag = 42 * time.Minute
		w.plan(next)
		w.latenessIs(h, noon, 1, 3, 32*time.Minute)
		w.latenessIs(h, noon.Add(time.Second), 0, 0, 32*time.Minute)
		b := w.begin(h)
		b.finish(ended(succeeded, b.lateAndOnTime())) // of the older plan: it counts again as a whole
		w.latenessIs(h, noon.Add(time.Hour), 2, 6, 32*time.Minute)
	})
	s.test(t, "an empty plan keeps its lag", func(w *world) {
		empty := following("empty")
		empty.empty = true
		w.open(empty)
		w.latenessIs(h, noon, 0, 0, raised)
	})
	s.test(t, "a first harvest and other operations measure nothing", func(w *world) {
		none := following("none")
		none.lag.Passed = window.Window{}
		for _, h := range []harvest{none, {operation: ingest.Backfill, first: 9, days: 2}, {source: "old", first: 9, days: 2}} {
			w.plan(h)
			a := w.begin(h)
			if a.work.Passed != (window.Window{}) {
				w.Errorf("the worker is told %v", a.work.Passed)
			}
			result := a.lateAndOnTime()
			a.finish(ended(succeeded, result))
			if result.Stats.Late != 0 {
				w.Errorf("%+v", result.Stats)
			}
		}
		w.latenessIs(none, noon, 0, 0, raised)
		w.latenessIs(harvest{operation: ingest.Backfill}, noon, 0, 0, 0)
	})
	s.test(t, "each namespace has its own", func(w *world) {
		other := following("next")
		other.source = "other"
		w.plan(h)
		w.plan(other)
		a := w.begin(other)
		a.finish(ended(succeeded, a.lateAndOnTime()))
		w.latenessIs(h, noon, 0, 0, raised)
		w.latenessIs(other, noon, 1, 3, raised)
	})
	s.test(t, "runs that end at once are all counted", func(w *world) {
		const runs = 8
		many := following("many")
		many.days = runs
		w.plan(many)
		handles := w.handles(4)
		var attempts []*attempt
		for _, work := range w.claim(many, runs) {
			attempts = append(attempts, w.start(work))
		}
		w.together(runs, func(i int) error {
			a := attempts[i]
			result, err := handles[i%4].CommitBatch(w.ctx, a.page(item(fmt.Sprint("late", i), "x", midnight(9)), item(fmt.Sprint("new", i), "x", noon)))
			if err != nil {
				return err
			}
			return handles[i%4].FinishRun(w.ctx, a.ending(ended(succeeded, result)))
		})
		w.latenessIs(many, noon, runs, 2*runs, raised)
	})
}

func lossyLate() []lossy {
	h := following("lost")
	return []lossy{
		{"open plan", "open plan with its lag", openLossy(h)},
		{"finish run", "finish run with late items", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			end := a.ending(ended(succeeded, a.lateAndOnTime()))
			return func() (answer, error) { return nil, w.store.FinishRun(w.ctx, end) }
		}},
		{"reap expired leases", "reap a run with late items", func(w *world) func() (answer, error) {
			w.plan(h)
			w.begin(h).lateAndOnTime()
			w.clock.advance(2 * lease)
			return func() (answer, error) { _, err := w.store.Reap(w.ctx, 10); return nil, err }
		}},
	}
}

package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// following is a harvest after one that read the first nine days of March.
func following(trigger string) fixture.Harvest {
	return fixture.Harvest{Trigger: trigger, First: 9, Days: 2, Lag: &ingest.PlanLag{
		Declared: 10 * time.Minute, SafetyLag: 15 * time.Minute, Passed: fixture.March(1, 10),
	}}
}

func (w *world) latenessIs(h fixture.Harvest, since time.Time, late, changed int64, raised time.Duration) {
	w.Helper()
	got, err := w.Store.Lateness(w.Ctx, h.Namespace(), since)
	w.Must(err)
	if want := (window.Lateness{Late: late, Changed: changed, Raised: raised}); got != want {
		w.Errorf("lateness %+v, want %+v", got, want)
	}
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
		w.latenessIs(h, fixture.Noon, 0, 0, 0)
		w.Plan(fixture.Harvest{})
		w.latenessIs(h, fixture.Noon, 0, 0, 0)
	})
	s.test(t, "items behind the watermark are counted to the end of the run", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		if a.Work.Passed != fixture.March(1, 10) {
			w.Fatalf("the worker is told %v", a.Work.Passed)
		}
		page := a.Page(fixture.Item("late", "x", fixture.Midnight(9)), fixture.Item("new", "x", fixture.Midnight(10)), fixture.Item("old", "x", fixture.Midnight(1).Add(-time.Second)))
		first := a.Store(page)
		want := ingest.BatchStats{Seen: 3, Inserted: 3, Late: 1}
		repeated, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		if first.Stats != want || repeated.Stats != want {
			w.Errorf("committed %+v, again %+v, want %+v", first.Stats, repeated.Stats, want)
		}
		second := a.Page(fixture.Item("late", "y", fixture.Midnight(9).Add(time.Hour)), fixture.Item("new", "x", fixture.Midnight(10)))
		second.RunStats.BatchStats = first.Stats
		changed := a.Store(second)
		w.latenessIs(h, fixture.Noon, 0, 0, raised) // the run may still be started over
		o := ended(fixture.Succeeded, first, changed)
		a.Finish(o)
		w.latenessIs(h, fixture.Noon, 2, 4, raised)
		w.Unchanged("finished again", func() { a.Finish(o) })
		p, err := w.Store.Progress(w.Ctx, a.Work.Lineage.PlanID)
		w.Must(err)
		if p.Stats.Late != 2 || !p.Stats.Balanced() {
			w.Errorf("the plan says %+v", p.Stats)
		}
	})
	s.test(t, "runs that failed count, and so do those whose worker died", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Finish(ended(fixture.Again, a.LateAndOnTime()))
		w.latenessIs(h, fixture.Noon, 1, 3, raised)
		b := w.Begin(h)
		b.LateAndOnTime() // its stats stand with the checkpoint
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 1)
		w.latenessIs(h, fixture.Noon, 2, 6, raised)
		w.reaps(10, 0)
		c := w.Begin(h)
		c.Finish(ended(fixture.Failed, c.LateAndOnTime()))
		w.latenessIs(h, fixture.Noon, 3, 9, raised)
	})
	s.test(t, "a worker that died before its first page", func(w *world) {
		w.Plan(h)
		w.Begin(h)
		w.Claim(h, 1)
		w.Clock.Advance(2 * fixture.Lease)
		w.reaps(10, 2)
		w.latenessIs(h, fixture.Noon, 0, 0, raised)
	})
	s.test(t, "what ended before does not count, the newest lag does", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Finish(ended(fixture.Succeeded, a.LateAndOnTime()))
		w.Clock.Advance(time.Hour)
		next := following("after")
		next.Lag.SafetyLag = 42 * time.Minute
		w.Plan(next)
		w.latenessIs(h, fixture.Noon, 1, 3, 32*time.Minute)
		w.latenessIs(h, fixture.Noon.Add(time.Second), 0, 0, 32*time.Minute)
		b := w.Begin(h)
		b.Finish(ended(fixture.Succeeded, b.LateAndOnTime())) // of the older plan: it counts again as a whole
		w.latenessIs(h, fixture.Noon.Add(time.Hour), 2, 6, 32*time.Minute)
	})
	s.test(t, "an empty plan keeps its lag", func(w *world) {
		empty := following("empty")
		empty.Empty = true
		w.Open(empty)
		w.latenessIs(h, fixture.Noon, 0, 0, raised)
	})
	s.test(t, "a first harvest and other operations measure nothing", func(w *world) {
		none := following("none")
		none.Lag.Passed = window.Window{}
		for _, h := range []fixture.Harvest{none, {Operation: ingest.Backfill, First: 9, Days: 2}, {Source: "old", First: 9, Days: 2}} {
			w.Plan(h)
			a := w.Begin(h)
			if a.Work.Passed != (window.Window{}) {
				w.Errorf("the worker is told %v", a.Work.Passed)
			}
			result := a.LateAndOnTime()
			a.Finish(ended(fixture.Succeeded, result))
			if result.Stats.Late != 0 {
				w.Errorf("%+v", result.Stats)
			}
		}
		w.latenessIs(none, fixture.Noon, 0, 0, raised)
		w.latenessIs(fixture.Harvest{Operation: ingest.Backfill}, fixture.Noon, 0, 0, 0)
	})
	s.test(t, "each namespace has its own", func(w *world) {
		other := following("next")
		other.Source = "other"
		w.Plan(h)
		w.Plan(other)
		a := w.Begin(other)
		a.Finish(ended(fixture.Succeeded, a.LateAndOnTime()))
		w.latenessIs(h, fixture.Noon, 0, 0, raised)
		w.latenessIs(other, fixture.Noon, 1, 3, raised)
	})
	s.test(t, "runs that end at once are all counted", func(w *world) {
		const runs = 8
		many := following("many")
		many.Days = runs
		w.Plan(many)
		handles := w.Handles(4)
		var attempts []*fixture.Attempt
		for _, work := range w.Claim(many, runs) {
			attempts = append(attempts, w.Start(work))
		}
		w.Together(runs, func(i int) error {
			a := attempts[i]
			result, err := handles[i%4].CommitBatch(w.Ctx, a.Page(fixture.Item(fmt.Sprint("late", i), "x", fixture.Midnight(9)), fixture.Item(fmt.Sprint("new", i), "x", fixture.Noon)))
			if err != nil {
				return err
			}
			return handles[i%4].FinishRun(w.Ctx, a.Ending(ended(fixture.Succeeded, result)))
		})
		w.latenessIs(many, fixture.Noon, runs, 2*runs, raised)
	})
}

func lossyLate() []lossy {
	h := following("lost")
	return []lossy{
		{"open plan", "open plan with its lag", openLossy(h)},
		{"finish run", "finish run with late items", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			end := a.Ending(ended(fixture.Succeeded, a.LateAndOnTime()))
			return func() (answer, error) { return nil, w.Store.FinishRun(w.Ctx, end) }
		}},
		{"reap expired leases", "reap a run with late items", func(w *world) func() (answer, error) {
			w.Plan(h)
			w.Begin(h).LateAndOnTime()
			w.Clock.Advance(2 * fixture.Lease)
			return func() (answer, error) { _, err := w.Store.Reap(w.Ctx, 10); return nil, err }
		}},
	}
}

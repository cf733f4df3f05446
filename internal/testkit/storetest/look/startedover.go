package look

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// startedOver: a slice that starts over again and again is found while it is not
// read, with the reason of the last time; a plan lists every one that ever did.
func (s suite) startedOver(t *testing.T) {
	s.test(t, "a slice that starts over again and again", func(w *world) {
		h := fixture.Harvest{Days: 3}
		plan := w.Plan(h)
		end := func(o ingest.Outcome, restarts int, reason string) {
			a := w.Begin(h)
			o.Stats = ingest.RunStats{Restarts: restarts, RestartedBy: reason}
			a.Finish(o)
		}
		found := func(want ...int) {
			w.Helper()
			got, err := w.Store.StartedOver(w.Ctx, "")
			w.Must(err)
			if len(got) != len(want) {
				w.Fatalf("%d slices, want %d: %+v", len(got), len(want), got)
			}
			for i, n := range want {
				if got[i].Restarts != n || got[i].Reason == "" || got[i].Window.Empty() || got[i].Source != plan.Partition.Source {
					w.Errorf("%+v, want %d restarts", got[i], n)
				}
			}
		}
		end(fixture.Again, 2, "an answer was lost")
		found()
		end(fixture.Again, 1, "the day shrank")
		found(3)
		if got, err := w.Store.StartedOver(w.Ctx, plan.Partition.Source); err != nil || len(got) != 1 || got[0].Reason != "the day shrank" {
			w.Errorf("%+v %v", got, err)
		}
		if got, err := w.Store.StartedOver(w.Ctx, "another"); err != nil || len(got) != 0 {
			w.Errorf("of another source: %+v %v", got, err)
		}
		end(fixture.Succeeded, 4, "the day shrank")
		found() // read in the end
		got, err := w.Store.StartedOverIn(w.Ctx, plan.ID)
		w.Must(err)
		if len(got) != 1 || got[0].Restarts != 7 || got[0].Status != string(ingest.TaskSucceeded) {
			w.Errorf("of the plan: %+v", got)
		}
		a := w.Begin(h)
		b := a.Page(fixture.Item("a", "x", fixture.Noon))
		b.RunStats = ingest.RunStats{Restarts: 5, RestartedBy: "the list shrinks"}
		_, err = w.Store.CommitBatch(w.Ctx, b)
		w.Must(err)
		found(5) // while it runs
	})
}

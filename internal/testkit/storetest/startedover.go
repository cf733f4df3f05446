package storetest

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// startedOver: a slice that starts over again and again is found while it is not
// read, with the reason of the last time; a plan lists every one that ever did.
func (s suite) startedOver(t *testing.T) {
	s.test(t, "a slice that starts over again and again", func(w *world) {
		h := harvest{days: 3}
		plan := w.plan(h)
		end := func(o ingest.Outcome, restarts int, reason string) {
			a := w.begin(h)
			o.Stats = ingest.RunStats{Restarts: restarts, RestartedBy: reason}
			a.finish(o)
		}
		found := func(want ...int) {
			w.Helper()
			got, err := w.store.StartedOver(w.ctx, "")
			w.must(err)
			if len(got) != len(want) {
				w.Fatalf("%d slices, want %d: %+v", len(got), len(want), got)
			}
			for i, n := range want {
				if got[i].Restarts != n || got[i].Reason == "" || got[i].Window.Empty() || got[i].Source != plan.Partition.Source {
					w.Errorf("%+v, want %d restarts", got[i], n)
				}
			}
		}
		end(again, 2, "an answer was lost")
		found()
		end(again, 1, "the day shrank")
		found(3)
		if got, err := w.store.StartedOver(w.ctx, plan.Partition.Source); err != nil || len(got) != 1 || got[0].Reason != "the day shrank" {
			w.Errorf("%+v %v", got, err)
		}
		if got, err := w.store.StartedOver(w.ctx, "another"); err != nil || len(got) != 0 {
			w.Errorf("of another source: %+v %v", got, err)
		}
		end(succeeded, 4, "the day shrank")
		found() // read in the end
		got, err := w.store.StartedOverIn(w.ctx, plan.ID)
		w.must(err)
		if len(got) != 1 || got[0].Restarts != 7 || got[0].Status != string(ingest.TaskSucceeded) {
			w.Errorf("of the plan: %+v", got)
		}
		a := w.begin(h)
		b := a.page(item("a", "x", noon))
		b.RunStats = ingest.RunStats{Restarts: 5, RestartedBy: "the list shrinks"}
		_, err = w.store.CommitBatch(w.ctx, b)
		w.must(err)
		found(5) // while it runs
	})
}

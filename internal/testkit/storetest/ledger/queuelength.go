package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// queueLengths: how many tasks waited, once per slot and for two days.
func (s suite) queueLengths(t *testing.T) {
	lengths := func(w *world) (out []int64) {
		w.Helper()
		all, err := w.Store.QueueLengths(w.Ctx)
		w.Must(err)
		for _, l := range all {
			out = append(out, l.Waiting)
		}
		return out
	}
	s.test(t, "one length per slot, without what is worked on and what a person ordered", func(w *world) {
		w.Must(w.Store.NoteQueue(w.Ctx))
		w.Plan(fixture.Harvest{Source: "busy", Days: 5})
		w.Plan(fixture.Harvest{Source: "old", Operation: ingest.Backfill, Days: 2})
		w.Claim(fixture.Harvest{Source: "busy"}, 2)
		w.Must(w.Store.NoteQueue(w.Ctx))
		if got := lengths(w); !slices.Equal(got, []int64{0}) {
			w.Errorf("in one slot: %v", got)
		}
		w.Clock.Advance(time.Duration(view.ShortSlot))
		w.Must(w.Store.NoteQueue(w.Ctx))
		all, err := w.Store.QueueLengths(w.Ctx)
		w.Must(err)
		if len(all) != 2 || all[1].Waiting != 3 || !all[1].At.Equal(view.ShortSlot.Start(w.Clock.Read())) {
			w.Errorf("%+v", all)
		}
	})
	s.test(t, "what is older than two days goes", func(w *world) {
		w.Must(w.Store.NoteQueue(w.Ctx))
		w.Clock.Advance(view.ShortSlotKept + time.Duration(view.ShortSlot))
		w.Must(w.Store.NoteQueue(w.Ctx))
		if got := lengths(w); len(got) != 1 {
			w.Errorf("%v", got)
		}
	})
	s.test(t, "processes that note at once leave one length", func(w *world) {
		handles := w.Handles(3)
		w.Together(3, func(i int) error { return handles[i].NoteQueue(w.Ctx) })
		if got := lengths(w); len(got) != 1 {
			w.Errorf("%v", got)
		}
	})
}

func lossyQueueLength() []lossy {
	return []lossy{{"note queue", "note queue", func(w *world) func() (answer, error) {
		return func() (answer, error) { return nil, w.Store.NoteQueue(w.Ctx) }
	}}}
}

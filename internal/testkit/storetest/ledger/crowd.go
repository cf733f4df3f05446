package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Crowd lets many workers, each a process of its own, end the slices of one plan:
// all of them move one cursor. Some slices fail and are read again by a later
// plan. The law is I5: the cursor never goes back, ends at the end, and its ledger
// gives what is stored.
func Crowd(t *testing.T, db fixture.Database, workers, parts int) {
	w := &world{fixture.NewWorld(t, db)}
	h := fixture.Harvest{}
	step := h.Window().Duration() / time.Duration(parts)
	days := h.NewSlices()[0]
	slice := func(trigger string, n int) ingest.NewSlice {
		s := days
		s.No = n + 1
		s.Window = window.Window{From: fixture.Midnight(1).Add(time.Duration(n) * step), To: fixture.Midnight(1).Add(time.Duration(n+1) * step)}
		if n == parts-1 {
			s.Window.To = h.Window().To
		}
		s.Signature = fingerprint.Key(trigger, s.Window.String())
		s.TaskKey = fingerprint.Key(trigger, "task", s.Window.String())
		return s
	}
	plan := func(trigger string, asOf time.Time, numbers []int) {
		h := fixture.Harvest{Trigger: trigger, AsOf: asOf}
		id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
		w.Must(err)
		in := h.NewPlan(id)
		in.Owed = nil
		var all []ingest.NewSlice
		for i, n := range numbers {
			s := slice(trigger, n)
			s.No = i + 1
			all, in.Owed = append(all, s), append(in.Owed, s.Window)
		}
		in.Owed = window.Union(in.Owed)
		opened, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		for len(all) > 0 {
			n := min(len(all), 1000)
			w.Must(w.Store.AddSlices(w.Ctx, opened.ID, all[:n], n == len(all)))
			all = all[n:]
		}
	}
	plan("first", fixture.Noon, numbers(parts))
	handles := w.Handles(workers)
	partition := w.PartitionID(h)
	var broken []int
	for n := range parts {
		if n%97 == 3 {
			broken = append(broken, n)
		}
	}
	w.Together(workers, func(i int) error {
		return drain(w, handles[i], partition, fmt.Sprint("first-", i), func(work ingest.Work) ingest.Outcome {
			if n := int(work.Window.From.Sub(fixture.Midnight(1)) / step); n%97 == 3 {
				return fixture.Failed
			}
			return fixture.Succeeded
		})
	})
	w.Verified(h)
	if got, want := w.CoverageOf(h).Cursor, fixture.Midnight(1).Add(3*step); !got.Equal(want) {
		w.Errorf("the cursor is at %v, want it below the first broken slice, %v", got, want)
	}
	plan("second", fixture.Noon.Add(time.Hour), broken)
	w.Together(workers, func(i int) error {
		return drain(w, handles[i], partition, fmt.Sprint("second-", i), func(ingest.Work) ingest.Outcome { return fixture.Succeeded })
	})
	w.Verified(h)
	if got := w.CoverageOf(h).Cursor; !got.Equal(h.Window().To) {
		w.Errorf("the cursor is at %v, want the end %v", got, h.Window().To)
	}
	if n, want := w.Number("SELECT COUNT(*) FROM ing_cursor_event"), int64(2+parts+len(broken)); n != want {
		w.Errorf("%d events, want %d", n, want)
	}
	if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE new_instant < prev_instant"); n != 0 {
		w.Errorf("the cursor went back %d times", n)
	}
}

// drain ends tasks until there are none.
func drain(w *world, s *store.Store, partition int64, owner string, outcome func(ingest.Work) ingest.Outcome) error {
	for n := 0; ; n++ {
		work, err := s.Claim(w.Ctx, ingest.ClaimRequest{PartitionID: partition, Owner: owner, Token: fmt.Sprintf("%s-%d", owner, n), Lease: fixture.Lease, Max: 4})
		if err != nil || len(work) == 0 {
			return err
		}
		for _, one := range work {
			run, err := s.StartRun(w.Ctx, one, fixture.Lease)
			if err != nil {
				return err
			}
			one.Lineage.RunID = run.ID
			if err := s.FinishRun(w.Ctx, ingest.Finish{Lease: one.Lease, Lineage: one.Lineage, Outcome: outcome(one)}); err != nil {
				return err
			}
		}
	}
}

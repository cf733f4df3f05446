package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Crowd lets many workers, each a process of its own, end the slices of one plan:
// all of them move one cursor. Some slices fail and are read again by a later
// plan. The law is I5: the cursor never goes back, ends at the end, and its ledger
// gives what is stored.
func Crowd(t *testing.T, db Database, workers, parts int) {
	w := newWorld(t, db)
	h := harvest{}
	step := h.window().Duration() / time.Duration(parts)
	days := h.newSlices()[0]
	slice := func(trigger string, n int) ingest.NewSlice {
		s := days
		s.No = n + 1
		s.Window = window.Window{From: midnight(1).Add(time.Duration(n) * step), To: midnight(1).Add(time.Duration(n+1) * step)}
		if n == parts-1 {
			s.Window.To = h.window().To
		}
		s.Signature = fingerprint.Key(trigger, s.Window.String())
		s.TaskKey = fingerprint.Key(trigger, "task", s.Window.String())
		return s
	}
	plan := func(trigger string, asOf time.Time, numbers []int) {
		h := harvest{trigger: trigger, asOf: asOf}
		id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
		w.must(err)
		in := h.newPlan(id)
		in.Owed = nil
		var all []ingest.NewSlice
		for i, n := range numbers {
			s := slice(trigger, n)
			s.No = i + 1
			all, in.Owed = append(all, s), append(in.Owed, s.Window)
		}
		in.Owed = window.Union(in.Owed)
		opened, _, err := w.store.OpenPlan(w.ctx, in)
		w.must(err)
		for len(all) > 0 {
			n := min(len(all), 1000)
			w.must(w.store.AddSlices(w.ctx, opened.ID, all[:n], n == len(all)))
			all = all[n:]
		}
	}
	plan("first", noon, numbers(parts))
	handles := w.handles(workers)
	partition := w.partitionID(h)
	var broken []int
	for n := range parts {
		if n%97 == 3 {
			broken = append(broken, n)
		}
	}
	w.together(workers, func(i int) error {
		return drain(w, handles[i], partition, fmt.Sprint("first-", i), func(work ingest.Work) ingest.Outcome {
			if n := int(work.Window.From.Sub(midnight(1)) / step); n%97 == 3 {
				return failed
			}
			return succeeded
		})
	})
	w.verified(h)
	if got, want := w.book(h).Cursor, midnight(1).Add(3*step); !got.Equal(want) {
		w.Errorf("the cursor is at %v, want it below the first broken slice, %v", got, want)
	}
	plan("second", noon.Add(time.Hour), broken)
	w.together(workers, func(i int) error {
		return drain(w, handles[i], partition, fmt.Sprint("second-", i), func(ingest.Work) ingest.Outcome { return succeeded })
	})
	w.verified(h)
	if got := w.book(h).Cursor; !got.Equal(h.window().To) {
		w.Errorf("the cursor is at %v, want the end %v", got, h.window().To)
	}
	if n, want := w.number("SELECT COUNT(*) FROM ing_cursor_event"), int64(2+parts+len(broken)); n != want {
		w.Errorf("%d events, want %d", n, want)
	}
	if n := w.number("SELECT COUNT(*) FROM ing_cursor_event WHERE new_instant < prev_instant"); n != 0 {
		w.Errorf("the cursor went back %d times", n)
	}
}

// drain ends tasks until there are none.
func drain(w *world, s *store.Store, partition int64, owner string, outcome func(ingest.Work) ingest.Outcome) error {
	for n := 0; ; n++ {
		work, err := s.Claim(w.ctx, ingest.ClaimRequest{PartitionID: partition, Owner: owner, Token: fmt.Sprintf("%s-%d", owner, n), Lease: lease, Max: 4})
		if err != nil || len(work) == 0 {
			return err
		}
		for _, one := range work {
			run, err := s.StartRun(w.ctx, one, lease)
			if err != nil {
				return err
			}
			one.Lineage.RunID = run.ID
			if err := s.FinishRun(w.ctx, ingest.Finish{Lease: one.Lease, Lineage: one.Lineage, Outcome: outcome(one)}); err != nil {
				return err
			}
		}
	}
}

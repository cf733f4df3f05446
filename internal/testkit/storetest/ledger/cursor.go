package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) cursor(t *testing.T) {
	h := fixture.Harvest{Days: 3}
	s.test(t, "a plan starts the cursor, slices move it", func(w *world) {
		w.Plan(h)
		w.CursorAt(h, 1)
		for n := 2; n <= 4; n++ {
			w.Work(h, fixture.Succeeded)
			w.CursorAt(h, n)
		}
	})
	s.test(t, "the cursor waits below a failed slice and jumps when it is read", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		broken := w.Begin(h)
		broken.Finish(fixture.Failed)
		w.CursorAt(h, 2)
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 2)
		w.Requeue(broken.Work.Lease.TaskID)
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 4)
	})
	s.test(t, "a later plan heals a failed slice", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Succeeded)
		repair := fixture.Harvest{Trigger: "repair", First: 2, Days: 1, AsOf: fixture.Noon.Add(time.Hour)}
		w.Plan(repair)
		w.CursorAt(h, 2)
		w.Work(repair, fixture.Succeeded)
		w.CursorAt(h, 4)
	})
	s.test(t, "a later plan alone does not open what is behind the cursor", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		again := fixture.Harvest{Trigger: "again", Days: 3, AsOf: fixture.Noon.Add(time.Hour)}
		w.Plan(again)
		w.CursorAt(h, 4) // it never regresses
		w.Work(again, fixture.Failed)
		w.CursorAt(h, 4)
		gaps := coverage.Gaps(w.CoverageOf(h).Segments, h.Window())
		if !reflect.DeepEqual(gaps, []window.Window{h.Window()}) {
			w.Errorf("owed %v, want all three days", gaps)
		}
	})
	s.test(t, "what was not read to its end stays owed", func(w *world) {
		for _, o := range []ingest.Outcome{fixture.Failed, fixture.Partial, fixture.Cancelled} {
			h := fixture.Harvest{Source: string(o.Task), Days: 2}
			w.Plan(h)
			w.Work(h, o)
			segments := w.CoverageOf(h).Segments
			if first := segments[0]; first.Done() || first.Fails != 1 || !first.RetryAfter.Equal(fixture.Noon.Add(coverage.Backoff.First)) {
				w.Errorf("%s: %+v, want it owed with a retry in %v", o.Task, first, coverage.Backoff.First)
			}
			w.Work(h, fixture.Succeeded)
			w.CursorAt(h, 1)
		}
	})
	s.test(t, "a task put back writes no event", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Again, fixture.Later)
		if n := len(w.Events(h)); n != 1 {
			w.Errorf("%d events, want the PLANNED one", n)
		}
		w.CursorAt(h, 1)
	})
	s.test(t, "waits double with each failure", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		for n := 1; n <= 4; n++ {
			a := w.Begin(h)
			a.Finish(fixture.Failed)
			segment := w.CoverageOf(h).Segments[0]
			if want := fixture.Noon.Add(coverage.Backoff.After(n)); segment.Fails != n || !segment.RetryAfter.Equal(want) {
				w.Errorf("after %d failures: %+v, want a retry at %v", n, segment, want)
			}
			w.Requeue(a.Work.Lease.TaskID)
			w.Verified(h)
		}
	})
	s.test(t, "events know where they come from", func(w *world) {
		plan := w.Plan(h)
		a := w.Begin(h)
		w.Clock.Advance(time.Minute)
		o := fixture.Succeeded
		o.Observed = fixture.Noon.Add(time.Hour)
		a.Finish(o)
		got := w.Events(h)[1]
		want := view.CursorEvent{
			ID: got.ID, Kind: coverage.Succeeded, Prev: window.Text(fixture.Midnight(1)), New: window.Text(fixture.Midnight(2)), Moved: true,
			Windows: []window.Window{fixture.March(1, 2)}, AsOf: fixture.Noon, At: fixture.Noon.Add(time.Minute), Observed: window.Text(fixture.Noon.Add(time.Hour)),
			Lineage: ingest.Lineage{ScheduleID: plan.ScheduleID, PlanID: plan.ID, SliceID: a.Work.Lineage.SliceID, TaskID: a.Work.Lease.TaskID, RunID: a.Run.ID},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("event\n%+v, want\n%+v", got, want)
		}
		if epoch := w.Number("SELECT lease_epoch FROM ing_cursor_event WHERE id = ?", got.ID); epoch != 1 {
			w.Errorf("epoch %d", epoch)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor WHERE last_run_id = ? AND task_id = ? AND slice_id = ?", a.Run.ID, got.TaskID, got.SliceID); n != 1 {
			w.Error("the cursor does not name the run that moved it")
		}
	})
	s.test(t, "an event that moves nothing says so", func(w *world) {
		w.Plan(h)
		first := w.Claim(h, 1)[0]
		w.Work(h, fixture.Succeeded) // the second day
		events := w.Events(h)
		if e := events[1]; e.Moved || e.Prev != e.New {
			w.Errorf("event %+v, want a no-forward", e)
		}
		w.Start(first).Finish(fixture.Succeeded)
		if e := w.Events(h)[2]; !e.Moved || e.New != window.Text(fixture.Midnight(3)) {
			w.Errorf("event %+v, want a jump over both days", e)
		}
	})
	s.test(t, "the largest stamp seen is kept and moves nothing", func(w *world) {
		w.Plan(h)
		for _, c := range []struct {
			observed, want time.Time
		}{{fixture.Midnight(9), fixture.Midnight(9)}, {fixture.Midnight(5), fixture.Midnight(9)}, {time.Time{}, fixture.Midnight(9)}} {
			o := fixture.Failed
			o.Observed = c.observed
			w.Work(h, o)
			cursor, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
			w.Must(err)
			if cursor.ObservedMax != window.Text(c.want) || !cursor.Instant.Equal(fixture.Midnight(1)) {
				w.Errorf("observed %v: cursor %+v", c.observed, cursor)
			}
		}
	})
	s.test(t, "a plan below the first lowers the origin, not the cursor", func(w *world) {
		late := fixture.Harvest{First: 10, Days: 2}
		w.Plan(late)
		w.Work(late, fixture.Succeeded, fixture.Succeeded)
		w.Plan(fixture.Harvest{Trigger: "lookback", First: 8, Days: 4, AsOf: fixture.Noon.Add(time.Hour)})
		book := w.CoverageOf(late)
		if !book.Origin.Equal(fixture.Midnight(8)) {
			w.Errorf("origin %v", book.Origin)
		}
		w.CursorAt(late, 12)
	})
	s.test(t, "backfills and updates leave the harvest's cursor alone", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		for _, operation := range []ingest.Operation{ingest.Backfill, ingest.Update} {
			other := fixture.Harvest{Operation: operation, Trigger: string(operation), Days: 3}
			before := fixture.TableRows(w.T, w.DB.SQL, "ing_cursor")
			w.Plan(other)
			w.Work(other, fixture.Succeeded, fixture.Failed, fixture.Succeeded)
			if lost := fixture.Only(before, fixture.TableRows(w.T, w.DB.SQL, "ing_cursor")); len(lost) != 0 {
				w.Errorf("%s changed %v", operation, lost)
			}
			w.CursorAt(other, 2)
		}
		w.CursorAt(h, 2)
	})
	s.test(t, "finished slices merge, so a long history is few rows", func(w *world) {
		h := fixture.Harvest{Days: 15, AsOf: fixture.Midnight(40)}
		w.Plan(h)
		for range 15 {
			w.Work(h, fixture.Succeeded)
		}
		if n := len(w.CoverageOf(h).Segments); n != 1 {
			w.Errorf("%d segments, want 1", n)
		}
		w.CursorAt(h, 16)
	})
	s.test(t, "an unknown namespace has no book", func(w *world) {
		state, known, err := w.Store.CoverageState(w.Ctx, h.Namespace())
		w.Must(err)
		if known || !reflect.DeepEqual(state, coverage.State{}) {
			w.Errorf("known=%v %+v", known, state)
		}
	})
}

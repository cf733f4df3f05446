package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func (w *world) book(h harvest) coverage.State {
	w.Helper()
	state, known, err := w.store.Book(w.ctx, h.namespace())
	w.must(err)
	if !known {
		w.Fatal("the namespace is unknown")
	}
	return state
}

// events is the whole ledger of a harvest's cursor.
func (w *world) events(h harvest) []view.CursorEvent {
	w.Helper()
	events, err := w.store.CursorEvents(w.ctx, w.cursorID(h), 0, 10000)
	w.must(err)
	return events
}

// verified checks I5: the ledger gives what is stored.
func (w *world) verified(h harvest) {
	w.Helper()
	verdict, err := w.store.Verify(w.ctx, w.cursorID(h))
	w.must(err)
	for _, problem := range verdict.Problems {
		w.Errorf("verify: %s", problem)
	}
	if book := w.book(h); !verdict.Refolded.Equal(book.Cursor) {
		w.Errorf("verify refolded to %v, the cursor is at %v", verdict.Refolded, book.Cursor)
	}
}

func (w *world) cursorAt(h harvest, day int) {
	w.Helper()
	if got := w.book(h).Cursor; !got.Equal(midnight(day)) {
		w.Errorf("cursor at %v, want %v", got, midnight(day))
	}
	w.verified(h)
}

func (s suite) cursor(t *testing.T) {
	h := harvest{days: 3}
	s.test(t, "a plan starts the cursor, slices move it", func(w *world) {
		w.plan(h)
		w.cursorAt(h, 1)
		for n := 2; n <= 4; n++ {
			w.work(h, succeeded)
			w.cursorAt(h, n)
		}
	})
	s.test(t, "the cursor waits below a failed slice and jumps when it is read", func(w *world) {
		w.plan(h)
		w.work(h, succeeded)
		broken := w.begin(h)
		broken.finish(failed)
		w.cursorAt(h, 2)
		w.work(h, succeeded)
		w.cursorAt(h, 2)
		w.requeue(broken.work.Lease.TaskID)
		w.work(h, succeeded)
		w.cursorAt(h, 4)
	})
	s.test(t, "a later plan heals a failed slice", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, failed, succeeded)
		repair := harvest{trigger: "repair", first: 2, days: 1, asOf: noon.Add(time.Hour)}
		w.plan(repair)
		w.cursorAt(h, 2)
		w.work(repair, succeeded)
		w.cursorAt(h, 4)
	})
	s.test(t, "a later plan alone does not open what is behind the cursor", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, succeeded, succeeded)
		again := harvest{trigger: "again", days: 3, asOf: noon.Add(time.Hour)}
		w.plan(again)
		w.cursorAt(h, 4) // it never regresses
		w.work(again, failed)
		w.cursorAt(h, 4)
		gaps := coverage.Gaps(w.book(h).Segments, h.window())
		if !reflect.DeepEqual(gaps, []window.Window{h.window()}) {
			w.Errorf("owed %v, want all three days", gaps)
		}
	})
	s.test(t, "what was not read to its end stays owed", func(w *world) {
		for _, o := range []ingest.Outcome{failed, partial, cancelled} {
			h := harvest{source: string(o.Task), days: 2}
			w.plan(h)
			w.work(h, o)
			segments := w.book(h).Segments
			if first := segments[0]; first.Done() || first.Fails != 1 || !first.RetryAfter.Equal(noon.Add(coverage.Backoff.First)) {
				w.Errorf("%s: %+v, want it owed with a retry in %v", o.Task, first, coverage.Backoff.First)
			}
			w.work(h, succeeded)
			w.cursorAt(h, 1)
		}
	})
	s.test(t, "a task put back writes no event", func(w *world) {
		w.plan(h)
		w.work(h, again, later)
		if n := len(w.events(h)); n != 1 {
			w.Errorf("%d events, want the PLANNED one", n)
		}
		w.cursorAt(h, 1)
	})
	s.test(t, "waits double with each failure", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		for n := 1; n <= 4; n++ {
			a := w.begin(h)
			a.finish(failed)
			segment := w.book(h).Segments[0]
			if want := noon.Add(coverage.Backoff.After(n)); segment.Fails != n || !segment.RetryAfter.Equal(want) {
				w.Errorf("after %d failures: %+v, want a retry at %v", n, segment, want)
			}
			w.requeue(a.work.Lease.TaskID)
			w.verified(h)
		}
	})
	s.test(t, "events know where they come from", func(w *world) {
		plan := w.plan(h)
		a := w.begin(h)
		w.clock.advance(time.Minute)
		o := succeeded
		o.Observed = noon.Add(time.Hour)
		a.finish(o)
		got := w.events(h)[1]
		want := view.CursorEvent{
			ID: got.ID, Kind: coverage.Succeeded, Prev: window.Text(midnight(1)), New: window.Text(midnight(2)), Moved: true,
			Windows: []window.Window{march(1, 2)}, AsOf: noon, At: noon.Add(time.Minute), Observed: window.Text(noon.Add(time.Hour)),
			Lineage: ingest.Lineage{ScheduleID: plan.ScheduleID, PlanID: plan.ID, SliceID: a.work.Lineage.SliceID, TaskID: a.work.Lease.TaskID, RunID: a.run.ID},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("event\n%+v, want\n%+v", got, want)
		}
		if epoch := w.number("SELECT lease_epoch FROM ing_cursor_event WHERE id = ?", got.ID); epoch != 1 {
			w.Errorf("epoch %d", epoch)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_cursor WHERE last_run_id = ? AND task_id = ? AND slice_id = ?", a.run.ID, got.TaskID, got.SliceID); n != 1 {
			w.Error("the cursor does not name the run that moved it")
		}
	})
	s.test(t, "an event that moves nothing says so", func(w *world) {
		w.plan(h)
		first := w.claim(h, 1)[0]
		w.work(h, succeeded) // the second day
		events := w.events(h)
		if e := events[1]; e.Moved || e.Prev != e.New {
			w.Errorf("event %+v, want a no-forward", e)
		}
		w.start(first).finish(succeeded)
		if e := w.events(h)[2]; !e.Moved || e.New != window.Text(midnight(3)) {
			w.Errorf("event %+v, want a jump over both days", e)
		}
	})
	s.test(t, "the largest stamp seen is kept and moves nothing", func(w *world) {
		w.plan(h)
		for _, c := range []struct {
			observed, want time.Time
		}{{midnight(9), midnight(9)}, {midnight(5), midnight(9)}, {time.Time{}, midnight(9)}} {
			o := failed
			o.Observed = c.observed
			w.work(h, o)
			cursor, err := w.store.Cursor(w.ctx, w.cursorID(h))
			w.must(err)
			if cursor.ObservedMax != window.Text(c.want) || !cursor.Instant.Equal(midnight(1)) {
				w.Errorf("observed %v: cursor %+v", c.observed, cursor)
			}
		}
	})
	s.test(t, "a plan below the first lowers the origin, not the cursor", func(w *world) {
		late := harvest{first: 10, days: 2}
		w.plan(late)
		w.work(late, succeeded, succeeded)
		w.plan(harvest{trigger: "lookback", first: 8, days: 4, asOf: noon.Add(time.Hour)})
		book := w.book(late)
		if !book.Origin.Equal(midnight(8)) {
			w.Errorf("origin %v", book.Origin)
		}
		w.cursorAt(late, 12)
	})
	s.test(t, "backfills and updates leave the harvest's cursor alone", func(w *world) {
		w.plan(h)
		w.work(h, succeeded)
		for _, operation := range []ingest.Operation{ingest.Backfill, ingest.Update} {
			other := harvest{operation: operation, trigger: string(operation), days: 3}
			before := tableRows(w.T, w.db.SQL, "ing_cursor")
			w.plan(other)
			w.work(other, succeeded, failed, succeeded)
			if lost := only(before, tableRows(w.T, w.db.SQL, "ing_cursor")); len(lost) != 0 {
				w.Errorf("%s changed %v", operation, lost)
			}
			w.cursorAt(other, 2)
		}
		w.cursorAt(h, 2)
	})
	s.test(t, "finished slices merge, so a long history is few rows", func(w *world) {
		h := harvest{days: 15, asOf: midnight(40)}
		w.plan(h)
		for range 15 {
			w.work(h, succeeded)
		}
		if n := len(w.book(h).Segments); n != 1 {
			w.Errorf("%d segments, want 1", n)
		}
		w.cursorAt(h, 16)
	})
	s.test(t, "an unknown namespace has no book", func(w *world) {
		state, known, err := w.store.Book(w.ctx, h.namespace())
		w.must(err)
		if known || !reflect.DeepEqual(state, coverage.State{}) {
			w.Errorf("known=%v %+v", known, state)
		}
	})
}

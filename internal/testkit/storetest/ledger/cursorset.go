package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// sets rehearses, sets, and sets again: the last must change nothing (I8).
func (w *world) sets(h fixture.Harvest, to time.Time) view.CursorSet {
	w.Helper()
	id, real := w.CursorID(h), w.By
	w.By.Rehearsal = true
	var rehearsed view.CursorSet
	w.Unchanged("rehearsal", func() {
		var err error
		rehearsed, err = w.Store.SetCursor(w.Ctx, id, to, w.By)
		w.Must(err)
	})
	w.By = real
	done, err := w.Store.SetCursor(w.Ctx, id, to, w.By)
	w.Must(err)
	if rehearsed.DryRun = false; !reflect.DeepEqual(rehearsed, done) {
		w.Errorf("rehearsed %+v, did %+v", rehearsed, done)
	}
	w.Unchanged("repeated", func() {
		again, err := w.Store.SetCursor(w.Ctx, id, to, w.By)
		w.Must(err)
		if again.Changed || again.Before != done.Before || again.After != done.After {
			w.Errorf("a second time %+v", again)
		}
	})
	w.Verified(h)
	return done
}

func (w *world) waives(h fixture.Harvest, within window.Window) view.Waived {
	w.Helper()
	id, real := w.CursorID(h), w.By
	w.By.Rehearsal = true
	w.Unchanged("rehearsal", func() {
		_, err := w.Store.WaiveCoverage(w.Ctx, id, within, w.By)
		w.Must(err)
	})
	w.By = real
	done, err := w.Store.WaiveCoverage(w.Ctx, id, within, w.By)
	w.Must(err)
	w.Unchanged("repeated", func() {
		again, err := w.Store.WaiveCoverage(w.Ctx, id, within, w.By)
		w.Must(err)
		if len(again.Waived) > 0 {
			w.Errorf("a second time %+v", again)
		}
	})
	w.Verified(h)
	return done
}

func (w *world) audited(action string, want int64) {
	w.Helper()
	if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = ? AND actor = ? AND reason = ?", action, w.By.Actor, w.By.Reason); n != want {
		w.Errorf("%d entries of %s in the audit log, want %d", n, action, want)
	}
}

func (s suite) cursorSet(t *testing.T) {
	h := fixture.Harvest{Days: 4}
	s.test(t, "back: what was read is open again and read again", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 5)
		done := w.sets(h, fixture.Midnight(2))
		want := view.CursorSet{CursorID: w.CursorID(h), Before: window.Text(fixture.Midnight(5)), After: window.Text(fixture.Midnight(2)), Changed: true, Reopened: []window.Window{fixture.March(2, 5)}}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		book := w.CoverageOf(h)
		if !book.Origin.Equal(fixture.Midnight(2)) || len(book.Segments) != 0 {
			w.Errorf("book %+v", book)
		}
		w.CursorAt(h, 2)
		w.audited("cursor.set", 1)
		events := w.Events(h)
		if e := events[len(events)-1]; e.Kind != coverage.Manual || e.Actor != w.By.Actor || e.Reason != w.By.Reason || !e.Moved {
			w.Errorf("event %+v", e)
		}
		again := fixture.Harvest{Trigger: "again", First: 2, Days: 3, AsOf: fixture.Noon.Add(time.Hour)}
		w.Plan(again)
		w.Work(again, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 5)
	})
	s.test(t, "forward: what is skipped stays known as left behind", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Succeeded, fixture.Succeeded)
		done := w.sets(h, fixture.Midnight(7))
		left := []window.Window{fixture.March(2, 3), fixture.March(5, 7)}
		if !reflect.DeepEqual(done.Left, left) || done.Reopened != nil {
			w.Errorf("%+v", done)
		}
		cursor, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
		w.Must(err)
		if !reflect.DeepEqual(cursor.Left, left) {
			w.Errorf("left %v", cursor.Left)
		}
		w.CursorAt(h, 7)
		// One debt is waived, so the next restart does not carry it on.
		if got := w.waives(h, fixture.March(2, 3)); !reflect.DeepEqual(got.Waived, []window.Window{fixture.March(2, 3)}) {
			w.Errorf("%+v", got)
		}
		if again := w.sets(h, fixture.Midnight(8)); !reflect.DeepEqual(again.Left, []window.Window{fixture.March(5, 8)}) {
			w.Errorf("%+v", again)
		}
	})
	s.test(t, "reset: no value, and all that was asked for is left behind", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		done := w.sets(h, time.Time{})
		if done.After != "" || !reflect.DeepEqual(done.Left, []window.Window{fixture.March(1, 5)}) || !reflect.DeepEqual(done.Reopened, []window.Window{fixture.March(1, 3)}) {
			w.Errorf("%+v", done)
		}
		if book := w.CoverageOf(h); !book.Cursor.IsZero() || !book.Origin.IsZero() {
			w.Errorf("book %+v", book)
		}
		w.audited("cursor.reset", 1)
		fresh := fixture.Harvest{Trigger: "fresh", First: 10, Days: 1, AsOf: fixture.Noon.Add(time.Hour)}
		w.Plan(fresh)
		w.CursorAt(h, 10)
	})
	s.test(t, "a slice that ends afterwards counts for its window", func(w *world) {
		attempts := w.StartAll(h)
		w.sets(h, fixture.Midnight(1))
		attempts[0].Finish(fixture.Succeeded)
		w.CursorAt(h, 2)
		attempts[2].Finish(fixture.Failed)
		w.CursorAt(h, 2)
	})
	s.test(t, "the same value for another reason is another act", func(w *world) {
		w.Plan(h)
		w.sets(h, fixture.Midnight(3))
		w.By.Reason = "once more"
		w.sets(h, fixture.Midnight(3))
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'MANUAL'"); n != 2 {
			w.Errorf("%d events", n)
		}
	})
	s.test(t, "no watermark in time to come, none of nobody", func(w *world) {
		w.Plan(h)
		w.Unchanged("refused", func() {
			_, err := w.Store.SetCursor(w.Ctx, w.CursorID(h), fixture.Noon.Add(time.Microsecond), w.By)
			w.Refuses(err, fault.ErrInvalid, "the future")
			_, err = w.Store.SetCursor(w.Ctx, 4711, fixture.Noon, w.By)
			w.Refuses(err, fault.ErrNotFound, "unknown cursor")
			_, err = w.Store.WaiveCoverage(w.Ctx, w.CursorID(h), window.Window{From: fixture.Midnight(1), To: fixture.Noon.Add(time.Microsecond)}, w.By)
			w.Refuses(err, fault.ErrInvalid, "waiving the future")
			_, err = w.Store.WaiveCoverage(w.Ctx, 4711, fixture.March(1, 2), w.By)
			w.Refuses(err, fault.ErrNotFound, "unknown cursor")
		})
	})
	s.test(t, "set while slices finish: the ledger still gives the cursor", func(w *world) {
		h := fixture.Harvest{Days: 8}
		attempts := w.StartAll(h)
		id, handles := w.CursorID(h), w.Handles(4)
		w.Together(len(attempts)+2, func(i int) error {
			if i < len(attempts) {
				return handles[i%len(handles)].FinishRun(w.Ctx, attempts[i].Ending(fixture.Succeeded))
			}
			by := w.By
			by.Reason = fmt.Sprint("number ", i)
			_, err := handles[i%len(handles)].SetCursor(w.Ctx, id, fixture.Midnight(i), by)
			return err
		})
		w.Verified(h)
	})
}

func (s suite) waive(t *testing.T) {
	h := fixture.Harvest{Days: 3}
	s.test(t, "a waived hole lets the cursor pass and stays visible", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Succeeded)
		w.CursorAt(h, 2)
		done := w.waives(h, fixture.March(1, 4))
		want := view.Waived{CursorID: w.CursorID(h), Window: fixture.March(1, 4), Waived: []window.Window{fixture.March(2, 3)}, Before: window.Text(fixture.Midnight(2)), After: window.Text(fixture.Midnight(4))}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		w.CursorAt(h, 4)
		w.audited("coverage.waive", 1)
		visible := false
		for _, seg := range w.CoverageOf(h).Segments {
			visible = visible || seg.Window == fixture.March(2, 3) && seg.Waived.Equal(fixture.Noon) && seg.Have.IsZero() && seg.Done()
		}
		if !visible {
			w.Errorf("no waived day in %+v", w.CoverageOf(h).Segments)
		}
	})
	// The book of the harvest does not hear of it (I6).
	s.test(t, "a window that an update gave up", func(w *world) {
		h, u := fixture.Harvest{Days: 3}, fixture.Harvest{Operation: ingest.Update, Trigger: "again", Days: 3}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.Plan(u)
		w.Work(u, fixture.Succeeded, fixture.Failed, fixture.Succeeded)
		w.CursorAt(u, 2)
		before := w.CoverageOf(h)
		done := w.waives(u, fixture.March(1, 4))
		if !reflect.DeepEqual(done.Waived, []window.Window{fixture.March(2, 3)}) || done.CursorID != w.CursorID(u) {
			w.Errorf("%+v", done)
		}
		w.CursorAt(u, 4)
		w.audited("coverage.waive", 1)
		if after := w.CoverageOf(h); !reflect.DeepEqual(before, after) {
			w.Errorf("the book of the harvest became %+v", after)
		}
	})
	s.test(t, "a later plan wants it again", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Succeeded)
		w.waives(h, fixture.March(2, 3))
		w.Plan(fixture.Harvest{Trigger: "later", First: 2, Days: 1, AsOf: fixture.Noon.Add(time.Hour)})
		if gaps := coverage.Gaps(w.CoverageOf(h).Segments, fixture.March(1, 4)); !reflect.DeepEqual(gaps, []window.Window{fixture.March(2, 3)}) {
			w.Errorf("gaps %v", gaps)
		}
		w.Verified(h)
	})
}

func (s suite) repair(t *testing.T) {
	h := fixture.Harvest{Days: 4, Lookback: fixture.Day}
	tampered := func(w *world) int64 {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Failed)
		id := w.CursorID(h)
		w.Exec("UPDATE ing_cursor SET normalized_instant = ?, cursor_value = ?, origin_instant = 7, lookback_us = 3 WHERE id = ?", fixture.Midnight(5).UnixMicro(), window.Text(fixture.Midnight(5)), id)
		w.Exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE cursor_id = ? AND fails > 0", id)
		return id
	}
	s.test(t, "the ledger wins, and its repair is signed", func(w *world) {
		id := tampered(w)
		w.By.Rehearsal = true
		w.Unchanged("rehearsal", func() {
			done, err := w.Store.RepairCursor(w.Ctx, id, w.By)
			w.Must(err)
			if !done.Changed || !done.DryRun || done.After != window.Text(fixture.Midnight(3)) || len(done.Problems) == 0 {
				w.Errorf("%+v", done)
			}
		})
		w.By.Rehearsal = false
		done, err := w.Store.RepairCursor(w.Ctx, id, w.By)
		w.Must(err)
		if !done.Changed || done.Cursor.Value != window.Text(fixture.Midnight(5)) || done.After != window.Text(fixture.Midnight(3)) {
			w.Errorf("%+v", done)
		}
		w.CursorAt(h, 3)
		w.audited("cursor.repair", 1)
		w.Unchanged("nothing to repair", func() {
			again, err := w.Store.RepairCursor(w.Ctx, id, w.By)
			w.Must(err)
			if again.Changed || len(again.Problems) > 0 {
				w.Errorf("%+v", again)
			}
		})
	})
	s.test(t, "what a restart left behind is repaired too", func(w *world) {
		w.Plan(h)
		w.sets(h, fixture.Midnight(3))
		w.Exec("UPDATE ing_cursor SET record_remarks = NULL")
		if v, err := w.Store.Verify(w.Ctx, w.CursorID(h)); err != nil || len(v.Problems) != 1 {
			w.Errorf("%v %v", v.Problems, err)
		}
		_, err := w.Store.RepairCursor(w.Ctx, w.CursorID(h), w.By)
		w.Must(err)
		w.Verified(h)
	})
	s.test(t, "a ledger that contradicts itself stays a finding", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		w.Exec("UPDATE ing_cursor_event SET new_value = ? WHERE kind_code = 'SUCCEEDED'", window.Text(fixture.Midnight(4)))
		_, err := w.Store.RepairCursor(w.Ctx, w.CursorID(h), w.By)
		w.Must(err)
		if v, err := w.Store.Verify(w.Ctx, w.CursorID(h)); err != nil || len(v.Problems) == 0 {
			w.Errorf("%v %v", v.Problems, err)
		}
	})
	s.test(t, "a cursor that never rests is verified and repaired all the same", func(w *world) { w.repairsBusy(16, 12) })
	s.test(t, "an unknown cursor is not found", func(w *world) {
		_, err := w.Store.RepairCursor(w.Ctx, 4711, w.By)
		w.Refuses(err, fault.ErrNotFound, "repair")
	})
}

// repairsBusy lets writers plan on one cursor, each so often, and repairs it
// meanwhile: that must not take until they are done.
func (w *world) repairsBusy(writers, times int) {
	w.Helper()
	h := fixture.Harvest{}
	w.Open(h)
	id := w.CursorID(h)
	w.Exec("UPDATE ing_cursor SET record_remarks = ? WHERE id = ?", `{"left":[{"from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z"}]}`, id)
	handles := w.Handles(4)
	var written atomic.Int64
	begun, left := make(chan struct{}), int64(-1)
	w.Together(writers+1, func(i int) error {
		if i == writers {
			<-begun
			if v, err := w.Store.Verify(w.Ctx, id); err != nil || len(v.Problems) != 1 {
				return fmt.Errorf("found %v, %w", v.Problems, err)
			}
			done, err := w.Store.RepairCursor(w.Ctx, id, w.By)
			if err == nil && !done.Changed {
				err = errors.New("nothing was repaired")
			}
			left = int64(writers*times) - written.Load()
			return err
		}
		for n := range times {
			at := fixture.Harvest{Trigger: fmt.Sprint("busy", i, "-", n)}
			trigger, err := handles[i%4].RecordTrigger(w.Ctx, at.NewTrigger())
			if err != nil {
				return err
			}
			if _, _, err := handles[i%4].OpenPlan(w.Ctx, at.NewPlan(trigger)); err != nil {
				return err
			}
			if written.Add(1) == int64(writers) {
				close(begun)
			}
		}
		return nil
	})
	if left <= 0 {
		w.Errorf("the repair waited until all writers were done")
	}
	w.Verified(h)
}

func lossyCursor() []lossy {
	h := fixture.Harvest{Days: 3}
	lived := func(w *world) int64 {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed)
		return w.CursorID(h)
	}
	return []lossy{
		{"set cursor", "set cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.Store.SetCursor(w.Ctx, id, fixture.Midnight(3), w.By)
				return nil, err
			}
		}},
		{"set cursor", "reset cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.Store.SetCursor(w.Ctx, id, time.Time{}, w.By)
				return nil, err
			}
		}},
		{"waive coverage", "waive coverage", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.Store.WaiveCoverage(w.Ctx, id, fixture.March(1, 4), w.By)
				return nil, err
			}
		}},
		{"waive sector", "waive sector", func(w *world) func() (answer, error) {
			id := w.CursorID(w.lagging())
			return func() (answer, error) {
				_, err := w.Store.WaiveSector(w.Ctx, id, "set=math", fixture.March(1, 2), w.By)
				return nil, err
			}
		}},
		{"repair cursor", "repair cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			w.Exec("UPDATE ing_cursor SET normalized_instant = NULL, cursor_value = NULL WHERE id = ?", id)
			return func() (answer, error) {
				_, err := w.Store.RepairCursor(w.Ctx, id, w.By)
				return nil, err
			}
		}},
	}
}

// ids are cursors that follow ids in place of time (§10.2).
func (s suite) idCursors(t *testing.T) {
	quarter := ingest.IDEnd / 4
	namespace := ingest.Namespace{Source: "crossref", Operation: ingest.Update, CursorKey: "provider_id", Scope: ingest.ScopeCustom, Key: fixture.Harvest{}.Namespace().Key, Type: ingest.CursorID}
	begin := func(w *world, ranges ...string) fixture.Harvest {
		h := fixture.Harvest{Operation: ingest.Update, Days: len(ranges)}
		id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
		w.Must(err)
		in := h.NewPlan(id)
		in.Strategy, in.Namespace, in.Owed = "ID_RANGE", namespace, []window.Window{ingest.IDSpan(0, ingest.IDEnd)}
		plan, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		parts := h.NewSlices()
		for i := range parts {
			parts[i].Spec = []byte(ranges[i])
		}
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, parts, true))
		return h
	}
	bucket := func(from, to string) string {
		return fmt.Sprintf(`{"range":{"key":"provider_id","kind":"HASH_BUCKET","from":%q,"to":%q,"asOf":"2025-03-20T12:00:00Z"}}`, from, to)
	}
	at := func(w *world, h fixture.Harvest, want int64) view.Cursor {
		w.Helper()
		c, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
		w.Must(err)
		if c.Type != "ID" || c.Value != fmt.Sprint(want) || !c.Instant.Equal(ingest.IDPoint(want)) {
			w.Errorf("cursor %+v, want %d", c, want)
		}
		if number := w.Text("SELECT normalized_numeric FROM ing_cursor WHERE id = ? AND normalized_instant IS NULL", c.ID); len(number) != 38 {
			w.Errorf("normalised %q", number)
		}
		v, err := w.Store.Verify(w.Ctx, c.ID)
		w.Must(err)
		for _, p := range v.Problems {
			w.Error(p)
		}
		return c
	}
	s.test(t, "an id cursor stands below the first range that is not checked", func(w *world) {
		h := begin(w, bucket("", "4000"), bucket("4000", "8000"), bucket("8000", ""))
		at(w, h, 0)
		attempts := []*fixture.Attempt{w.Begin(h), w.Begin(h), w.Begin(h)}
		attempts[1].Finish(fixture.Succeeded)
		if c := at(w, h, 0); c.ObservedMax != fmt.Sprint(2*quarter) || c.AheadIDs != int64(2*quarter) {
			w.Errorf("observed %s, ahead %v", c.ObservedMax, c.AheadIDs)
		}
		attempts[2].Finish(fixture.Failed)
		attempts[0].Finish(fixture.Succeeded)
		at(w, h, 2*quarter)
		w.Requeue(attempts[2].Work.Lease.TaskID)
		w.Work(h, fixture.Succeeded)
		at(w, h, 4*quarter)
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_type_code = 'ID' AND new_numeric IS NOT NULL AND new_instant IS NULL"); n != 5 {
			w.Errorf("%d events of ids, want 5", n)
		}
	})
	s.test(t, "an id cursor is set by number", func(w *world) {
		h := begin(w, bucket("", ""))
		w.Work(h, fixture.Succeeded)
		at(w, h, ingest.IDEnd)
		id := w.CursorID(h)
		done, err := w.Store.SetCursor(w.Ctx, id, ingest.IDPoint(42), w.By)
		w.Must(err)
		if done.Before != fmt.Sprint(ingest.IDEnd) || done.After != "42" {
			w.Errorf("%+v", done)
		}
		at(w, h, 42)
	})
	s.test(t, "a slice without ids ends nothing for an id cursor", func(w *world) {
		h := begin(w, `{"day":1}`)
		a := w.Begin(h)
		w.Unchanged("refused", func() { w.Refuses(w.Store.FinishRun(w.Ctx, a.Ending(fixture.Succeeded)), fault.ErrInvalid, "no range") })
	})
}

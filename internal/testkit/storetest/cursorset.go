package storetest

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
)

// sets rehearses, sets, and sets again: the last must change nothing (I8).
func (w *world) sets(h harvest, to time.Time) view.CursorSet {
	w.Helper()
	id, real := w.cursorID(h), w.by
	w.by.Rehearsal = true
	var rehearsed view.CursorSet
	w.unchanged("rehearsal", func() {
		var err error
		rehearsed, err = w.store.SetCursor(w.ctx, id, to, w.by)
		w.must(err)
	})
	w.by = real
	done, err := w.store.SetCursor(w.ctx, id, to, w.by)
	w.must(err)
	if rehearsed.DryRun = false; !reflect.DeepEqual(rehearsed, done) {
		w.Errorf("rehearsed %+v, did %+v", rehearsed, done)
	}
	w.unchanged("repeated", func() {
		again, err := w.store.SetCursor(w.ctx, id, to, w.by)
		w.must(err)
		if again.Changed || again.Before != done.Before || again.After != done.After {
			w.Errorf("a second time %+v", again)
		}
	})
	w.verified(h)
	return done
}

func (w *world) waives(h harvest, within window.Window) view.Waived {
	w.Helper()
	id, real := w.cursorID(h), w.by
	w.by.Rehearsal = true
	w.unchanged("rehearsal", func() {
		_, err := w.store.WaiveCoverage(w.ctx, id, within, w.by)
		w.must(err)
	})
	w.by = real
	done, err := w.store.WaiveCoverage(w.ctx, id, within, w.by)
	w.must(err)
	w.unchanged("repeated", func() {
		again, err := w.store.WaiveCoverage(w.ctx, id, within, w.by)
		w.must(err)
		if len(again.Waived) > 0 {
			w.Errorf("a second time %+v", again)
		}
	})
	w.verified(h)
	return done
}

func (w *world) audited(action string, want int64) {
	w.Helper()
	if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE action = ? AND actor = ? AND reason = ?", action, w.by.Actor, w.by.Reason); n != want {
		w.Errorf("%d entries of %s in the audit log, want %d", n, action, want)
	}
}

func (s suite) cursorSet(t *testing.T) {
	h := harvest{days: 4}
	s.test(t, "back: what was read is open again and read again", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, succeeded, succeeded, succeeded)
		w.cursorAt(h, 5)
		done := w.sets(h, midnight(2))
		want := view.CursorSet{CursorID: w.cursorID(h), Before: window.Text(midnight(5)), After: window.Text(midnight(2)), Changed: true, Reopened: []window.Window{march(2, 5)}}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		book := w.book(h)
		if !book.Origin.Equal(midnight(2)) || len(book.Segments) != 0 {
			w.Errorf("book %+v", book)
		}
		w.cursorAt(h, 2)
		w.audited("cursor.set", 1)
		events := w.events(h)
		if e := events[len(events)-1]; e.Kind != coverage.Manual || e.Actor != w.by.Actor || e.Reason != w.by.Reason || !e.Moved {
			w.Errorf("event %+v", e)
		}
		again := harvest{trigger: "again", first: 2, days: 3, asOf: noon.Add(time.Hour)}
		w.plan(again)
		w.work(again, succeeded, succeeded, succeeded)
		w.cursorAt(h, 5)
	})
	s.test(t, "forward: what is skipped stays known as left behind", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, failed, succeeded, succeeded)
		done := w.sets(h, midnight(7))
		left := []window.Window{march(2, 3), march(5, 7)}
		if !reflect.DeepEqual(done.Left, left) || done.Reopened != nil {
			w.Errorf("%+v", done)
		}
		cursor, err := w.store.Cursor(w.ctx, w.cursorID(h))
		w.must(err)
		if !reflect.DeepEqual(cursor.Left, left) {
			w.Errorf("left %v", cursor.Left)
		}
		w.cursorAt(h, 7)
		// One debt is waived, so the next restart does not carry it on.
		if got := w.waives(h, march(2, 3)); !reflect.DeepEqual(got.Waived, []window.Window{march(2, 3)}) {
			w.Errorf("%+v", got)
		}
		if again := w.sets(h, midnight(8)); !reflect.DeepEqual(again.Left, []window.Window{march(5, 8)}) {
			w.Errorf("%+v", again)
		}
	})
	s.test(t, "reset: no value, and all that was asked for is left behind", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, succeeded)
		done := w.sets(h, time.Time{})
		if done.After != "" || !reflect.DeepEqual(done.Left, []window.Window{march(1, 5)}) || !reflect.DeepEqual(done.Reopened, []window.Window{march(1, 3)}) {
			w.Errorf("%+v", done)
		}
		if book := w.book(h); !book.Cursor.IsZero() || !book.Origin.IsZero() {
			w.Errorf("book %+v", book)
		}
		w.audited("cursor.reset", 1)
		fresh := harvest{trigger: "fresh", first: 10, days: 1, asOf: noon.Add(time.Hour)}
		w.plan(fresh)
		w.cursorAt(h, 10)
	})
	s.test(t, "a slice that ends afterwards counts for its window", func(w *world) {
		attempts := w.startAll(h)
		w.sets(h, midnight(1))
		attempts[0].finish(succeeded)
		w.cursorAt(h, 2)
		attempts[2].finish(failed)
		w.cursorAt(h, 2)
	})
	s.test(t, "the same value for another reason is another act", func(w *world) {
		w.plan(h)
		w.sets(h, midnight(3))
		w.by.Reason = "once more"
		w.sets(h, midnight(3))
		if n := w.number("SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'MANUAL'"); n != 2 {
			w.Errorf("%d events", n)
		}
	})
	s.test(t, "no watermark in time to come, none of nobody", func(w *world) {
		w.plan(h)
		w.unchanged("refused", func() {
			_, err := w.store.SetCursor(w.ctx, w.cursorID(h), noon.Add(time.Microsecond), w.by)
			w.refuses(err, fault.ErrInvalid, "the future")
			_, err = w.store.SetCursor(w.ctx, 4711, noon, w.by)
			w.refuses(err, fault.ErrNotFound, "unknown cursor")
			_, err = w.store.WaiveCoverage(w.ctx, w.cursorID(h), window.Window{From: midnight(1), To: noon.Add(time.Microsecond)}, w.by)
			w.refuses(err, fault.ErrInvalid, "waiving the future")
			_, err = w.store.WaiveCoverage(w.ctx, 4711, march(1, 2), w.by)
			w.refuses(err, fault.ErrNotFound, "unknown cursor")
		})
	})
	s.test(t, "set while slices finish: the ledger still gives the cursor", func(w *world) {
		h := harvest{days: 8}
		attempts := w.startAll(h)
		id, handles := w.cursorID(h), w.handles(4)
		w.together(len(attempts)+2, func(i int) error {
			if i < len(attempts) {
				return handles[i%len(handles)].FinishRun(w.ctx, attempts[i].ending(succeeded))
			}
			by := w.by
			by.Reason = fmt.Sprint("number ", i)
			_, err := handles[i%len(handles)].SetCursor(w.ctx, id, midnight(i), by)
			return err
		})
		w.verified(h)
	})
}

func (s suite) waive(t *testing.T) {
	h := harvest{days: 3}
	s.test(t, "a waived hole lets the cursor pass and stays visible", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, failed, succeeded)
		w.cursorAt(h, 2)
		done := w.waives(h, march(1, 4))
		want := view.Waived{CursorID: w.cursorID(h), Window: march(1, 4), Waived: []window.Window{march(2, 3)}, Before: window.Text(midnight(2)), After: window.Text(midnight(4))}
		if !reflect.DeepEqual(done, want) {
			w.Errorf("%+v, want %+v", done, want)
		}
		w.cursorAt(h, 4)
		w.audited("coverage.waive", 1)
		visible := false
		for _, seg := range w.book(h).Segments {
			visible = visible || seg.Window == march(2, 3) && seg.Waived.Equal(noon) && seg.Have.IsZero() && seg.Done()
		}
		if !visible {
			w.Errorf("no waived day in %+v", w.book(h).Segments)
		}
	})
	// The book of the harvest does not hear of it (I6).
	s.test(t, "a window that an update gave up", func(w *world) {
		h, u := harvest{days: 3}, harvest{operation: ingest.Update, trigger: "again", days: 3}
		w.plan(h)
		w.work(h, succeeded, succeeded, succeeded)
		w.plan(u)
		w.work(u, succeeded, failed, succeeded)
		w.cursorAt(u, 2)
		before := w.book(h)
		done := w.waives(u, march(1, 4))
		if !reflect.DeepEqual(done.Waived, []window.Window{march(2, 3)}) || done.CursorID != w.cursorID(u) {
			w.Errorf("%+v", done)
		}
		w.cursorAt(u, 4)
		w.audited("coverage.waive", 1)
		if after := w.book(h); !reflect.DeepEqual(before, after) {
			w.Errorf("the book of the harvest became %+v", after)
		}
	})
	s.test(t, "a later plan wants it again", func(w *world) {
		w.plan(h)
		w.work(h, succeeded, failed, succeeded)
		w.waives(h, march(2, 3))
		w.plan(harvest{trigger: "later", first: 2, days: 1, asOf: noon.Add(time.Hour)})
		if gaps := coverage.Gaps(w.book(h).Segments, march(1, 4)); !reflect.DeepEqual(gaps, []window.Window{march(2, 3)}) {
			w.Errorf("gaps %v", gaps)
		}
		w.verified(h)
	})
}

func (s suite) repair(t *testing.T) {
	h := harvest{days: 4, lookback: day}
	tampered := func(w *world) int64 {
		w.plan(h)
		w.work(h, succeeded, succeeded, failed)
		id := w.cursorID(h)
		w.exec("UPDATE ing_cursor SET normalized_instant = ?, cursor_value = ?, origin_instant = 7, lookback_us = 3 WHERE id = ?", midnight(5).UnixMicro(), window.Text(midnight(5)), id)
		w.exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE cursor_id = ? AND fails > 0", id)
		return id
	}
	s.test(t, "the ledger wins, and its repair is signed", func(w *world) {
		id := tampered(w)
		w.by.Rehearsal = true
		w.unchanged("rehearsal", func() {
			done, err := w.store.RepairCursor(w.ctx, id, w.by)
			w.must(err)
			if !done.Changed || !done.DryRun || done.After != window.Text(midnight(3)) || len(done.Problems) == 0 {
				w.Errorf("%+v", done)
			}
		})
		w.by.Rehearsal = false
		done, err := w.store.RepairCursor(w.ctx, id, w.by)
		w.must(err)
		if !done.Changed || done.Cursor.Value != window.Text(midnight(5)) || done.After != window.Text(midnight(3)) {
			w.Errorf("%+v", done)
		}
		w.cursorAt(h, 3)
		w.audited("cursor.repair", 1)
		w.unchanged("nothing to repair", func() {
			again, err := w.store.RepairCursor(w.ctx, id, w.by)
			w.must(err)
			if again.Changed || len(again.Problems) > 0 {
				w.Errorf("%+v", again)
			}
		})
	})
	s.test(t, "what a restart left behind is repaired too", func(w *world) {
		w.plan(h)
		w.sets(h, midnight(3))
		w.exec("UPDATE ing_cursor SET record_remarks = NULL")
		if v, err := w.store.Verify(w.ctx, w.cursorID(h)); err != nil || len(v.Problems) != 1 {
			w.Errorf("%v %v", v.Problems, err)
		}
		_, err := w.store.RepairCursor(w.ctx, w.cursorID(h), w.by)
		w.must(err)
		w.verified(h)
	})
	s.test(t, "a ledger that contradicts itself stays a finding", func(w *world) {
		w.plan(h)
		w.work(h, succeeded)
		w.exec("UPDATE ing_cursor_event SET new_value = ? WHERE kind_code = 'SUCCEEDED'", window.Text(midnight(4)))
		_, err := w.store.RepairCursor(w.ctx, w.cursorID(h), w.by)
		w.must(err)
		if v, err := w.store.Verify(w.ctx, w.cursorID(h)); err != nil || len(v.Problems) == 0 {
			w.Errorf("%v %v", v.Problems, err)
		}
	})
	s.test(t, "a cursor that never rests is verified and repaired all the same", func(w *world) { w.repairsBusy(16, 12) })
	s.test(t, "an unknown cursor is not found", func(w *world) {
		_, err := w.store.RepairCursor(w.ctx, 4711, w.by)
		w.refuses(err, fault.ErrNotFound, "repair")
	})
}

// repairsBusy lets writers plan on one cursor, each so often, and repairs it
// meanwhile: that must not take until they are done.
func (w *world) repairsBusy(writers, times int) {
	w.Helper()
	h := harvest{}
	w.open(h)
	id := w.cursorID(h)
	w.exec("UPDATE ing_cursor SET record_remarks = ? WHERE id = ?", `{"left":[{"from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z"}]}`, id)
	handles := w.handles(4)
	var written atomic.Int64
	begun, left := make(chan struct{}), int64(-1)
	w.together(writers+1, func(i int) error {
		if i == writers {
			<-begun
			if v, err := w.store.Verify(w.ctx, id); err != nil || len(v.Problems) != 1 {
				return fmt.Errorf("found %v, %w", v.Problems, err)
			}
			done, err := w.store.RepairCursor(w.ctx, id, w.by)
			if err == nil && !done.Changed {
				err = errors.New("nothing was repaired")
			}
			left = int64(writers*times) - written.Load()
			return err
		}
		for n := range times {
			at := harvest{trigger: fmt.Sprint("busy", i, "-", n)}
			trigger, err := handles[i%4].RecordTrigger(w.ctx, at.newTrigger())
			if err != nil {
				return err
			}
			if _, _, err := handles[i%4].OpenPlan(w.ctx, at.newPlan(trigger)); err != nil {
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
	w.verified(h)
}

func lossyCursor() []lossy {
	h := harvest{days: 3}
	lived := func(w *world) int64 {
		w.plan(h)
		w.work(h, succeeded, failed)
		return w.cursorID(h)
	}
	return []lossy{
		{"set cursor", "set cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.store.SetCursor(w.ctx, id, midnight(3), w.by)
				return nil, err
			}
		}},
		{"set cursor", "reset cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.store.SetCursor(w.ctx, id, time.Time{}, w.by)
				return nil, err
			}
		}},
		{"waive coverage", "waive coverage", func(w *world) func() (answer, error) {
			id := lived(w)
			return func() (answer, error) {
				_, err := w.store.WaiveCoverage(w.ctx, id, march(1, 4), w.by)
				return nil, err
			}
		}},
		{"repair cursor", "repair cursor", func(w *world) func() (answer, error) {
			id := lived(w)
			w.exec("UPDATE ing_cursor SET normalized_instant = NULL, cursor_value = NULL WHERE id = ?", id)
			return func() (answer, error) {
				_, err := w.store.RepairCursor(w.ctx, id, w.by)
				return nil, err
			}
		}},
	}
}

// ids are cursors that follow ids in place of time (§10.2).
func (s suite) idCursors(t *testing.T) {
	quarter := ingest.IDEnd / 4
	namespace := ingest.Namespace{Source: "crossref", Operation: ingest.Update, CursorKey: "provider_id", Scope: ingest.ScopeCustom, Key: harvest{}.namespace().Key, Type: ingest.CursorID}
	begin := func(w *world, ranges ...string) harvest {
		h := harvest{operation: ingest.Update, days: len(ranges)}
		id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
		w.must(err)
		in := h.newPlan(id)
		in.Strategy, in.Namespace, in.Owed = "ID_RANGE", namespace, []window.Window{ingest.IDSpan(0, ingest.IDEnd)}
		plan, _, err := w.store.OpenPlan(w.ctx, in)
		w.must(err)
		parts := h.newSlices()
		for i := range parts {
			parts[i].Spec = []byte(ranges[i])
		}
		w.must(w.store.AddSlices(w.ctx, plan.ID, parts, true))
		return h
	}
	bucket := func(from, to string) string {
		return fmt.Sprintf(`{"range":{"key":"provider_id","kind":"HASH_BUCKET","from":%q,"to":%q,"asOf":"2025-03-20T12:00:00Z"}}`, from, to)
	}
	at := func(w *world, h harvest, want int64) view.Cursor {
		w.Helper()
		c, err := w.store.Cursor(w.ctx, w.cursorID(h))
		w.must(err)
		if c.Type != "ID" || c.Value != fmt.Sprint(want) || !c.Instant.Equal(ingest.IDPoint(want)) {
			w.Errorf("cursor %+v, want %d", c, want)
		}
		if number := w.text("SELECT normalized_numeric FROM ing_cursor WHERE id = ? AND normalized_instant IS NULL", c.ID); len(number) != 38 {
			w.Errorf("normalised %q", number)
		}
		v, err := w.store.Verify(w.ctx, c.ID)
		w.must(err)
		for _, p := range v.Problems {
			w.Error(p)
		}
		return c
	}
	s.test(t, "an id cursor stands below the first range that is not checked", func(w *world) {
		h := begin(w, bucket("", "4000"), bucket("4000", "8000"), bucket("8000", ""))
		at(w, h, 0)
		attempts := []*attempt{w.begin(h), w.begin(h), w.begin(h)}
		attempts[1].finish(succeeded)
		if c := at(w, h, 0); c.ObservedMax != fmt.Sprint(2*quarter) || c.AheadIDs != int64(2*quarter) {
			w.Errorf("observed %s, ahead %v", c.ObservedMax, c.AheadIDs)
		}
		attempts[2].finish(failed)
		attempts[0].finish(succeeded)
		at(w, h, 2*quarter)
		w.requeue(attempts[2].work.Lease.TaskID)
		w.work(h, succeeded)
		at(w, h, 4*quarter)
		if n := w.number("SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_type_code = 'ID' AND new_numeric IS NOT NULL AND new_instant IS NULL"); n != 5 {
			w.Errorf("%d events of ids, want 5", n)
		}
	})
	s.test(t, "an id cursor is set by number", func(w *world) {
		h := begin(w, bucket("", ""))
		w.work(h, succeeded)
		at(w, h, ingest.IDEnd)
		id := w.cursorID(h)
		done, err := w.store.SetCursor(w.ctx, id, ingest.IDPoint(42), w.by)
		w.must(err)
		if done.Before != fmt.Sprint(ingest.IDEnd) || done.After != "42" {
			w.Errorf("%+v", done)
		}
		at(w, h, 42)
	})
	s.test(t, "a slice without ids ends nothing for an id cursor", func(w *world) {
		h := begin(w, `{"day":1}`)
		a := w.begin(h)
		w.unchanged("refused", func() { w.refuses(w.store.FinishRun(w.ctx, a.ending(succeeded)), fault.ErrInvalid, "no range") })
	})
}

package ledger

import (
	"errors"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// failed is the end of a slice that is given up.
var failed = ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.BadRequest), Error: "no such set"}

func (s suite) sectors(t *testing.T) {
	h := fixture.Harvest{Days: 2, Sectors: []string{"set=cs", "set=math", "set=physics"}}
	s.test(t, "a window counts when the last of its sectors is read, and not before", func(w *world) {
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 1)
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 2)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 2)
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 3)
		w.leavesTile()
		if p, err := w.Store.Plan(w.Ctx, plan.ID); err != nil || p.Status != string(ingest.PlanCompleted) {
			w.Errorf("%+v, %v", p, err)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED'"); n != 2 {
			w.Errorf("%d events for two windows", n)
		}
	})
	s.test(t, "a sector that failed keeps its window owed, also if it is not the last", func(w *world) {
		w.Plan(h)
		w.Work(h, fixture.Succeeded, failed)
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'FAILED'"); n != 0 {
			w.Errorf("%d failures of a window that is still being read", n)
		}
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, failed)
		w.CursorAt(h, 1)
		if gaps := coverage.Gaps(w.CoverageOf(h).Segments, h.Window()); len(gaps) != 1 || gaps[0] != h.Window() {
			w.Errorf("gaps %v", gaps)
		}
	})
	s.test(t, "a failed sector that is tried again closes its window", func(w *world) {
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, failed, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 1)
		task := w.Number("SELECT id FROM ing_task WHERE plan_id = ? AND status_code = 'FAILED'", plan.ID)
		_, _, err := w.Store.RetryTasks(w.Ctx, ingest.TaskPick{IDs: []int64{task}}, ingest.Act{Actor: "test", Reason: "again"})
		w.Must(err)
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 3)
	})
	s.test(t, "parts of a slice that was too large count when all of them and all other sectors are read", func(w *world) {
		one := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		plan := w.Plan(one)
		w.Begin(one).GiveUp(noonOf(1))
		children := quarters(one, plan.Key, noonOf(1))
		for i := range children {
			children[i].Sector = "set=cs"
		}
		w.Must(w.Store.ReplaceSlice(w.Ctx, w.pending(1)[0].ID, children))
		w.Work(one, fixture.Succeeded) // the other sector
		if at := w.CoverageOf(one).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("the first half is read for both: %s", at)
		}
		w.Work(one, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		if at := w.CoverageOf(one).Cursor; !at.Equal(noonOf(1).To.Add(-fixture.Day / 8)) {
			w.Errorf("three quarters of the second half are read: %s", at)
		}
		w.Work(one, fixture.Succeeded)
		w.CursorAt(one, 2)
		w.leavesTile()
	})
	s.test(t, "what cannot be cut smaller fails for its sector, and the window with it", func(w *world) {
		one := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		w.Plan(one)
		w.Begin(one).GiveUp(noonOf(1))
		w.Work(one, fixture.Succeeded)
		w.Must(w.Store.DeclineReslice(w.Ctx, w.pending(1)[0].ID, "no finer cut"))
		if at := w.CoverageOf(one).Cursor; !at.Equal(noonOf(1).From) {
			w.Errorf("cursor at %s", at)
		}
		if gaps := coverage.Gaps(w.CoverageOf(one).Segments, one.Window()); len(gaps) != 1 || gaps[0] != noonOf(1) {
			w.Errorf("gaps %v", gaps)
		}
	})
	s.test(t, "a plan that has no slices of a sector yet claims nothing", func(w *world) {
		plan := w.Open(h)
		all := h.NewSlices()
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[:2], false))
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 1)
		if got, err := w.Store.PlannedWindows(w.Ctx, plan.ID); err != nil || len(got["set=cs"]) != 1 || len(got["set=physics"]) != 0 {
			w.Errorf("%v, %v", got, err)
		}
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[2:4], false))
		w.Work(h, fixture.Succeeded) // physics of the first day: now all of it is read
		w.CursorAt(h, 2)
		if err := w.Store.AddSlices(w.Ctx, plan.ID, all[4:5], true); !errors.Is(err, fault.ErrInvalid) {
			w.Errorf("a plan was closed without a sector of its last day: %v", err)
		}
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[4:], true))
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 3)
	})
	s.test(t, "a plan that is cancelled leaves the windows of which a sector is missing", func(w *world) {
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		running := w.Begin(h)
		_, err := w.Store.CancelPlan(w.Ctx, plan.ID, "test", "enough")
		w.Must(err)
		running.Finish(fixture.Succeeded)
		w.CursorAt(h, 2)
		if gaps := coverage.Gaps(w.CoverageOf(h).Segments, h.Window()); len(gaps) != 1 || gaps[0] != fixture.March(2, 3) {
			w.Errorf("gaps %v", gaps)
		}
	})
	s.test(t, "slices of a window that end at once: one of them claims it", func(w *world) {
		many := fixture.Harvest{Days: 4}
		for n := range 6 {
			many.Sectors = append(many.Sectors, fmt.Sprint("set=", n))
		}
		w.Plan(many)
		running := w.startClaimed(many, 24)
		handles := w.Handles(3)
		w.Together(24, func(i int) error {
			return handles[i%len(handles)].FinishRun(w.Ctx, running[i].Ending(fixture.Succeeded))
		})
		w.CursorAt(many, 5)
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED'"); n != 4 {
			w.Errorf("%d events for four windows", n)
		}
	})
}

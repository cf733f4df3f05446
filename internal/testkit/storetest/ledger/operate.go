package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// operation is CancelTasks or RetryTasks.
type operation func(*store.Store, *world, ingest.TaskPick) (ingest.TasksDone, bool, error)

func cancelling(s *store.Store, w *world, pick ingest.TaskPick) (ingest.TasksDone, bool, error) {
	return s.CancelTasks(w.Ctx, pick, w.By)
}

func retrying(s *store.Store, w *world, pick ingest.TaskPick) (ingest.TasksDone, bool, error) {
	return s.RetryTasks(w.Ctx, pick, w.By)
}

func (w *world) rehearses(do operation, pick ingest.TaskPick) (done ingest.TasksDone) {
	w.Helper()
	real := fixture.Tester
	defer func() { w.By = real }()
	w.By.Rehearsal = true
	w.Unchanged("rehearsal", func() {
		var err error
		done, _, err = do(w.Store, w, pick)
		w.Must(err)
	})
	return done
}

// operates rehearses it, does it to the end, and once more: that must change
// nothing (I8).
func (w *world) operates(do operation, pick ingest.TaskPick, want ingest.TasksDone) {
	w.Helper()
	var did ingest.TasksDone
	if expected := w.rehearses(do, pick); pick.Named() && expected != want {
		w.Errorf("%s: rehearsed %+v, want %+v", pick, expected, want)
	}
	for more := true; more; {
		done, again, err := do(w.Store, w, pick)
		w.Must(err)
		did, more = did.Add(done), again
	}
	if did != want {
		w.Errorf("%s: did %+v, want %+v", pick, did, want)
	}
	w.Unchanged("repeated", func() {
		again, _, err := do(w.Store, w, pick)
		w.Must(err)
		if again.Changed() != 0 {
			w.Errorf("%s: a second time %+v", pick, again)
		}
	})
}

// refusesTasks expects that nothing is done.
func (w *world) refusesTasks(do operation, pick ingest.TaskPick, kind error) {
	w.Helper()
	w.Unchanged("refused", func() {
		_, _, err := do(w.Store, w, pick)
		w.Refuses(err, kind, pick.String())
	})
}

func (w *world) sliceIs(task int64, want ingest.SliceStatus) {
	w.Helper()
	if got := w.Text("SELECT s.status_code FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE t.id = ?", task); got != string(want) {
		w.Errorf("the slice of task %d is %s, want %s", task, got, want)
	}
}

func (s suite) taskCancel(t *testing.T) {
	s.test(t, "what waits ends at once, who works is told", func(w *world) {
		h := fixture.Harvest{Days: 5}
		plan := w.Plan(h)
		running, claimed := w.Begin(h), w.Claim(h, 1)[0]
		w.operates(cancelling, fixture.Named(running.Work.Lease.TaskID, claimed.Lease.TaskID, 4), ingest.TasksDone{Cancelled: 1, Stopping: 2})
		if got := w.taskByID(4); got.Status != "CANCELLED" || !got.FinishedAt.Equal(fixture.Noon) || got.ErrorCode != "INTERRUPTED" || got.Error != "cancelled by the operator" {
			w.Errorf("%+v", got)
		}
		w.sliceIs(4, ingest.SliceCancelled)
		if !running.Commit(fixture.Item("a", "x", fixture.Noon)).Cancel || !w.Start(claimed).Run.Cancel {
			w.Error("a worker is not told to stop")
		}
		running.Finish(fixture.Cancelled)
		w.planIs(plan.ID, ingest.PlanReady)
		w.Verified(h)
	})
	s.test(t, "the last one ends its plan", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded)
		w.operates(cancelling, fixture.Named(2), ingest.TasksDone{Cancelled: 1})
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a window that was cancelled stays owed and is planned again", func(w *world) {
		h := fixture.Harvest{Days: 3}
		w.Plan(h)
		w.operates(cancelling, fixture.Named(2, 3), ingest.TasksDone{Cancelled: 2})
		events := w.Events(h)
		if last := events[len(events)-1]; len(events) != 2 || last.Kind != coverage.Failed || !reflect.DeepEqual(last.Windows, []window.Window{fixture.March(2, 4)}) {
			w.Errorf("ledger %+v", events)
		}
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 2)
		again := fixture.Harvest{Trigger: "again", First: 2, Days: 2}
		w.Plan(again)
		w.Work(again, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 4)
		w.Verified(h)
	})
	s.test(t, "tasks of the future, of a plan, of a scope", func(w *world) {
		later, daily, old, other := fixture.Harvest{Trigger: "later", Days: 2, Due: fixture.Noon.Add(time.Hour)}, fixture.Harvest{Days: 3},
			fixture.Harvest{Operation: ingest.Backfill, Trigger: "old"}, fixture.Harvest{Source: "other"}
		plan := w.Plan(later)
		for _, h := range []fixture.Harvest{daily, old, other} {
			w.Plan(h)
		}
		w.Begin(daily)
		for _, c := range []struct {
			pick             ingest.TaskPick
			waiting, running int
		}{
			{ingest.TaskPick{PlanID: plan.ID}, 2, 0},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Operation: ingest.Backfill}}, 3, 0},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Endpoint: "works"}}, 7, 1},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "nobody"}}, 0, 0},
		} {
			n, err := w.Store.CountTasks(w.Ctx, c.pick, ingest.OpenTasks()...)
			w.Must(err)
			if n[ingest.TaskScheduled]+n[ingest.TaskQueued] != c.waiting || n[ingest.TaskDispatched]+n[ingest.TaskExecuting] != c.running {
				w.Errorf("%s: counted %v", c.pick, n)
			}
		}
		w.refusesTasks(cancelling, ingest.TaskPick{PlanID: 4711}, fault.ErrNotFound)
		w.operates(cancelling, ingest.TaskPick{PlanID: plan.ID}, ingest.TasksDone{Cancelled: 2})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Operation: ingest.Backfill}}, ingest.TasksDone{Cancelled: 3})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref"}}, ingest.TasksDone{Cancelled: 2, Stopping: 1})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "nobody"}}, ingest.TasksDone{})
		w.Claim(other, 3)
	})
	s.test(t, "named tasks are cancelled all or none", func(w *world) {
		h := fixture.Harvest{Days: 4}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Partial)
		w.refusesTasks(cancelling, fixture.Named(4, 4711), fault.ErrNotFound)
		for _, ended := range []int64{1, 2, 3} {
			w.refusesTasks(cancelling, fixture.Named(4, ended), fault.ErrConflict)
		}
		w.operates(cancelling, fixture.Named(4, 4), ingest.TasksDone{Cancelled: 1})
		w.operates(cancelling, ingest.TaskPick{PlanID: 1}, ingest.TasksDone{})
	})
	s.test(t, "a plan of many tasks is cancelled in chunks", func(w *world) {
		h := fixture.Harvest{Days: 1103}
		plan := w.Plan(h)
		w.Begin(h)
		w.operates(cancelling, ingest.TaskPick{PlanID: plan.ID}, ingest.TasksDone{Cancelled: 1102, Stopping: 1})
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE object = 'plan/1'"); n != 3 {
			w.Errorf("%d entries, want one a chunk", n)
		}
		w.Verified(h)
	})
	s.test(t, "the audit log has an entry for each task that was named", func(w *world) {
		w.Plan(fixture.Harvest{Days: 3})
		w.operates(cancelling, fixture.Named(1, 3), ingest.TasksDone{Cancelled: 2})
		for i, want := range []string{`tester task.cancel task/1 because {"status":"QUEUED"}`, `tester task.cancel task/3 because {"status":"QUEUED"}`} {
			if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason, ' ', detail) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
	})
}

func (s suite) taskRetry(t *testing.T) {
	s.test(t, "failed and cancelled tasks wait again, with slice and plan", func(w *world) {
		h := fixture.Harvest{Days: 3}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed)
		w.operates(cancelling, fixture.Named(3), ingest.TasksDone{Cancelled: 1})
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.Clock.Advance(time.Hour)
		w.operates(retrying, fixture.Named(2, 3), ingest.TasksDone{Queued: 2})
		w.planIs(plan.ID, ingest.PlanReady)
		for _, id := range []int64{2, 3} {
			w.sliceIs(id, ingest.SliceReady)
			if got := w.taskByID(id); got.Status != "QUEUED" || !got.FinishedAt.IsZero() || !got.ScheduledAt.Equal(fixture.Noon.Add(time.Hour)) {
				w.Errorf("%+v", got)
			}
		}
		if open, err := w.Store.OpenPlans(w.Ctx, h.Partition()); err != nil || len(open) != 1 {
			w.Errorf("open plans %v, %v: a harvest would not continue it", open, err)
		}
		w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, fixture.Harvest{Days: 4}.NewSlices()[3:], false), fault.ErrInvalid, "a slice for a plan that is sliced")
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.CursorAt(h, 4)
		w.Verified(h)
	})
	s.test(t, "what failed before is forgiven", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		w.Work(h, fixture.Again, fixture.Again, fixture.Failed)
		w.operates(retrying, fixture.Named(1), ingest.TasksDone{Queued: 1})
		a := w.Begin(h)
		if a.Run.Failures != 0 || a.Run.IdleLeases != 1 || a.Run.AttemptNo != 4 || a.Work.Attempts != 3 {
			w.Errorf("%+v after %d attempts", a.Run, a.Work.Attempts)
		}
		a.Finish(fixture.Again)
		if next := w.Begin(h); next.Run.Failures != 1 {
			w.Errorf("%d failures, want 1", next.Run.Failures)
		}
	})
	s.test(t, "a run that came further forgives those before it", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		w.Work(h, fixture.Again, fixture.Again)
		further := fixture.Again
		further.Advanced = true
		a := w.Begin(h)
		if a.Run.Failures != 2 {
			w.Errorf("%d failures, want 2", a.Run.Failures)
		}
		a.Finish(further)
		for want := 1; want <= 2; want++ {
			next := w.Begin(h)
			if next.Run.Failures != want {
				w.Errorf("%d failures, want %d", next.Run.Failures, want)
			}
			next.Finish(fixture.Again)
		}
	})
	s.test(t, "a retry goes on where an interruption or the network stopped it", func(w *world) {
		for code, goesOn := range map[string]bool{"NETWORK": true, "INTERRUPTED": true, "REJECT_RATE": false, "BAD_REQUEST": false, "UNAUTHORIZED": false} {
			h := fixture.Harvest{Source: code, Days: 1}
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("a", "x", fixture.Noon))
			a.Finish(ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: code, Error: "why"})
			w.operates(retrying, fixture.Named(a.Work.Lease.TaskID), ingest.TasksDone{Queued: 1})
			if next := w.Begin(h); (next.Run.Checkpoint.Pass == 1) != goesOn {
				w.Errorf("after %s the next run begins at %+v", code, next.Run.Checkpoint)
			}
		}
	})
	s.test(t, "what waits or is worked on is left alone", func(w *world) {
		h := fixture.Harvest{Days: 3}
		w.Plan(h)
		w.Begin(h)
		w.Claim(h, 1)
		w.operates(retrying, fixture.Named(1, 2, 3), ingest.TasksDone{Unchanged: 3})
		w.operates(cancelling, fixture.Named(1), ingest.TasksDone{Stopping: 1})
		w.refusesTasks(retrying, fixture.Named(1), fault.ErrConflict)
	})
	s.test(t, "named tasks are tried again all or none", func(w *world) {
		h := fixture.Harvest{Days: 4}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Partial)
		w.refusesTasks(retrying, fixture.Named(2, 4711), fault.ErrNotFound)
		for _, ended := range []int64{1, 3} {
			w.refusesTasks(retrying, fixture.Named(2, ended), fault.ErrConflict)
		}
		w.cancel(plan.ID)
		w.refusesTasks(retrying, fixture.Named(2), fault.ErrConflict)
		w.refusesTasks(retrying, fixture.Named(4), fault.ErrConflict)
		w.operates(retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskFailed}, ingest.TasksDone{})
	})
	s.test(t, "of a plan or a scope those of one state", func(w *world) {
		h := fixture.Harvest{Days: 4}
		plan := w.Plan(h)
		w.Work(h, fixture.Failed, fixture.Failed, fixture.Succeeded)
		w.operates(cancelling, fixture.Named(4), ingest.TasksDone{Cancelled: 1})
		w.operates(retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskCancelled}, ingest.TasksDone{Queued: 1})
		w.operates(retrying, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Endpoint: "works"}, Status: ingest.TaskFailed}, ingest.TasksDone{Queued: 2})
		if got := w.Text("SELECT CONCAT(action, ' ', object, ' ', detail) FROM ing_audit_log WHERE id = 3"); got != `task.retry source/crossref/works {"tasks":[1,2]}` {
			w.Errorf("entry %q", got)
		}
	})
	s.test(t, "a slice that could not be cut smaller may ask for it again", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		a := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, a.TooMuch(a.Work.Window)))
		a.Finish(fixture.Partial)
		pending := func() []ingest.PendingReslice {
			all, err := w.Store.PendingReslices(w.Ctx, 10)
			w.Must(err)
			return all
		}
		w.Must(w.Store.DeclineReslice(w.Ctx, pending()[0].ID, "too small"))
		w.operates(retrying, fixture.Named(a.Work.Lease.TaskID), ingest.TasksDone{Queued: 1})
		if n := len(pending()); n != 0 {
			w.Errorf("%d slices are to be replaced while one is tried again", n)
		}
		next := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, next.TooMuch(next.Work.Window)))
		next.Finish(fixture.Partial)
		if got := pending(); len(got) != 1 || got[0].Lineage.RunID != next.Run.ID {
			w.Errorf("to be replaced: %+v", got)
		}
		w.Verified(h)
	})
	s.test(t, "cancelled, tried again and cancelled again", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		for range 3 {
			w.operates(cancelling, fixture.Named(1), ingest.TasksDone{Cancelled: 1})
			w.operates(retrying, fixture.Named(1), ingest.TasksDone{Queued: 1})
			w.Begin(h).Finish(fixture.Failed)
			w.operates(retrying, fixture.Named(1), ingest.TasksDone{Queued: 1})
		}
		w.operates(cancelling, fixture.Named(1, 2), ingest.TasksDone{Cancelled: 2})
		if n := len(w.Events(h)); n != 8 { // planned, three failures, four cancellations
			w.Errorf("%d events, want 8", n)
		}
		w.Verified(h)
	})
}

// taskRaces: whoever works, cancels and retries at once, every slice ends as its
// task did, and a plan is complete exactly if no slice is open.
func (s suite) taskRaces(t *testing.T) {
	s.test(t, "some cancel and retry while others work", func(w *world) {
		h := fixture.Harvest{Days: 60}
		plan := w.Plan(h)
		handles := w.Handles(4)
		requests := make([]ingest.ClaimRequest, 2*40)
		for i := range requests {
			requests[i] = w.Request(h, 1)
		}
		w.Together(4, func(i int) error {
			if i < 2 {
				for _, request := range requests[40*i : 40*i+40] {
					if err := workOn(w, handles[i], request); err != nil {
						return err
					}
				}
				return nil
			}
			do, pick := operation(cancelling), ingest.TaskPick{PlanID: plan.ID}
			if i == 3 {
				do, pick = retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskCancelled}
			}
			for range 15 {
				if _, _, err := do(handles[i], w, pick); err != nil {
					return fmt.Errorf("operator %d: %w", i, err)
				}
			}
			return nil
		})
		w.sound(plan.ID)
		w.operates(retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskCancelled}, ingest.TasksDone{Queued: w.taskStatuses(plan.ID)["CANCELLED"]})
		w.sound(plan.ID)
		for w.taskStatuses(plan.ID)["QUEUED"] > 0 {
			w.Must(workOn(w, w.Store, w.Request(h, 10)))
		}
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.CursorAt(h, 61)
		w.Verified(h)
	})
}

func (w *world) sound(planID int64) {
	w.Helper()
	if n := w.Number(`SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code <>
  CASE WHEN t.status_code IN ('SUCCEEDED','CANCELLED') THEN t.status_code ELSE 'READY' END`); n != 0 {
		w.Errorf("%d slices are not what their tasks are", n)
	}
	open := w.Number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'READY'")
	if want := map[bool]string{true: "COMPLETED", false: "READY"}[open == 0]; w.Text("SELECT status_code FROM ing_plan WHERE id = ?", planID) != want {
		w.Errorf("with %d open slices the plan is not %s", open, want)
	}
}

func lossyTasks() []lossy {
	h := fixture.Harvest{Days: 3}
	prepare := func(do operation, pick ingest.TaskPick) func(w *world) func() (answer, error) {
		return func(w *world) func() (answer, error) {
			w.Plan(h)
			w.Work(h, fixture.Failed)
			w.Begin(h)
			return func() (answer, error) {
				_, _, err := do(w.Store, w, pick)
				return nil, err
			}
		}
	}
	return []lossy{
		{"cancel tasks", "cancel named tasks", prepare(cancelling, fixture.Named(2, 3))},
		{"cancel tasks", "cancel the tasks of a plan", prepare(cancelling, ingest.TaskPick{PlanID: 1})},
		{"retry tasks", "retry named tasks", prepare(retrying, fixture.Named(1))},
		{"retry tasks", "retry the tasks of a source", prepare(retrying, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref"}, Status: ingest.TaskFailed})},
	}
}

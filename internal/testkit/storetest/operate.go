package storetest

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
)

func named(ids ...int64) ingest.TaskPick { return ingest.TaskPick{IDs: ids} }

// operation is CancelTasks or RetryTasks.
type operation func(*store.Store, *world, ingest.TaskPick) (ingest.TasksDone, bool, error)

func cancelling(s *store.Store, w *world, pick ingest.TaskPick) (ingest.TasksDone, bool, error) {
	return s.CancelTasks(w.ctx, pick, w.by)
}

func retrying(s *store.Store, w *world, pick ingest.TaskPick) (ingest.TasksDone, bool, error) {
	return s.RetryTasks(w.ctx, pick, w.by)
}

func (w *world) rehearses(do operation, pick ingest.TaskPick) (done ingest.TasksDone) {
	w.Helper()
	real := tester
	defer func() { w.by = real }()
	w.by.Rehearsal = true
	w.unchanged("rehearsal", func() {
		var err error
		done, _, err = do(w.store, w, pick)
		w.must(err)
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
		done, again, err := do(w.store, w, pick)
		w.must(err)
		did, more = did.Add(done), again
	}
	if did != want {
		w.Errorf("%s: did %+v, want %+v", pick, did, want)
	}
	w.unchanged("repeated", func() {
		again, _, err := do(w.store, w, pick)
		w.must(err)
		if again.Changed() != 0 {
			w.Errorf("%s: a second time %+v", pick, again)
		}
	})
}

// refusesTasks expects that nothing is done.
func (w *world) refusesTasks(do operation, pick ingest.TaskPick, kind error) {
	w.Helper()
	w.unchanged("refused", func() {
		_, _, err := do(w.store, w, pick)
		w.refuses(err, kind, pick.String())
	})
}

func (w *world) sliceIs(task int64, want ingest.SliceStatus) {
	w.Helper()
	if got := w.text("SELECT s.status_code FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE t.id = ?", task); got != string(want) {
		w.Errorf("the slice of task %d is %s, want %s", task, got, want)
	}
}

func (s suite) taskCancel(t *testing.T) {
	s.test(t, "what waits ends at once, who works is told", func(w *world) {
		h := harvest{days: 5}
		plan := w.plan(h)
		running, claimed := w.begin(h), w.claim(h, 1)[0]
		w.operates(cancelling, named(running.work.Lease.TaskID, claimed.Lease.TaskID, 4), ingest.TasksDone{Cancelled: 1, Stopping: 2})
		if got := w.taskByID(4); got.Status != "CANCELLED" || !got.FinishedAt.Equal(noon) || got.ErrorCode != "INTERRUPTED" || got.Error != "cancelled by the operator" {
			w.Errorf("%+v", got)
		}
		w.sliceIs(4, ingest.SliceCancelled)
		if !running.commit(item("a", "x", noon)).Cancel || !w.start(claimed).run.Cancel {
			w.Error("a worker is not told to stop")
		}
		running.finish(cancelled)
		w.planIs(plan.ID, ingest.PlanReady)
		w.verified(h)
	})
	s.test(t, "the last one ends its plan", func(w *world) {
		h := harvest{days: 2}
		plan := w.plan(h)
		w.work(h, succeeded)
		w.operates(cancelling, named(2), ingest.TasksDone{Cancelled: 1})
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a window that was cancelled stays owed and is planned again", func(w *world) {
		h := harvest{days: 3}
		w.plan(h)
		w.operates(cancelling, named(2, 3), ingest.TasksDone{Cancelled: 2})
		events := w.events(h)
		if last := events[len(events)-1]; len(events) != 2 || last.Kind != coverage.Failed || !reflect.DeepEqual(last.Windows, []window.Window{march(2, 4)}) {
			w.Errorf("ledger %+v", events)
		}
		w.work(h, succeeded)
		w.cursorAt(h, 2)
		again := harvest{trigger: "again", first: 2, days: 2}
		w.plan(again)
		w.work(again, succeeded, succeeded)
		w.cursorAt(h, 4)
		w.verified(h)
	})
	s.test(t, "tasks of the future, of a plan, of a scope", func(w *world) {
		later, daily, old, other := harvest{trigger: "later", days: 2, due: noon.Add(time.Hour)}, harvest{days: 3},
			harvest{operation: ingest.Backfill, trigger: "old"}, harvest{source: "other"}
		plan := w.plan(later)
		for _, h := range []harvest{daily, old, other} {
			w.plan(h)
		}
		w.begin(daily)
		for _, c := range []struct {
			pick             ingest.TaskPick
			waiting, running int
		}{
			{ingest.TaskPick{PlanID: plan.ID}, 2, 0},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Operation: ingest.Backfill}}, 3, 0},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Endpoint: "works"}}, 7, 1},
			{ingest.TaskPick{Scope: ingest.Scope{Source: "nobody"}}, 0, 0},
		} {
			n, err := w.store.CountTasks(w.ctx, c.pick, ingest.OpenTasks()...)
			w.must(err)
			if n[ingest.TaskScheduled]+n[ingest.TaskQueued] != c.waiting || n[ingest.TaskDispatched]+n[ingest.TaskExecuting] != c.running {
				w.Errorf("%s: counted %v", c.pick, n)
			}
		}
		w.refusesTasks(cancelling, ingest.TaskPick{PlanID: 4711}, fault.ErrNotFound)
		w.operates(cancelling, ingest.TaskPick{PlanID: plan.ID}, ingest.TasksDone{Cancelled: 2})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Operation: ingest.Backfill}}, ingest.TasksDone{Cancelled: 3})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref"}}, ingest.TasksDone{Cancelled: 2, Stopping: 1})
		w.operates(cancelling, ingest.TaskPick{Scope: ingest.Scope{Source: "nobody"}}, ingest.TasksDone{})
		w.claim(other, 3)
	})
	s.test(t, "named tasks are cancelled all or none", func(w *world) {
		h := harvest{days: 4}
		w.plan(h)
		w.work(h, succeeded, failed, partial)
		w.refusesTasks(cancelling, named(4, 4711), fault.ErrNotFound)
		for _, ended := range []int64{1, 2, 3} {
			w.refusesTasks(cancelling, named(4, ended), fault.ErrConflict)
		}
		w.operates(cancelling, named(4, 4), ingest.TasksDone{Cancelled: 1})
		w.operates(cancelling, ingest.TaskPick{PlanID: 1}, ingest.TasksDone{})
	})
	s.test(t, "a plan of many tasks is cancelled in chunks", func(w *world) {
		h := harvest{days: 1103}
		plan := w.plan(h)
		w.begin(h)
		w.operates(cancelling, ingest.TaskPick{PlanID: plan.ID}, ingest.TasksDone{Cancelled: 1102, Stopping: 1})
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE object = 'plan/1'"); n != 3 {
			w.Errorf("%d entries, want one a chunk", n)
		}
		w.verified(h)
	})
	s.test(t, "the audit log has an entry for each task that was named", func(w *world) {
		w.plan(harvest{days: 3})
		w.operates(cancelling, named(1, 3), ingest.TasksDone{Cancelled: 2})
		for i, want := range []string{`tester task.cancel task/1 because {"status":"QUEUED"}`, `tester task.cancel task/3 because {"status":"QUEUED"}`} {
			if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason, ' ', detail) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
	})
}

func (s suite) taskRetry(t *testing.T) {
	s.test(t, "failed and cancelled tasks wait again, with slice and plan", func(w *world) {
		h := harvest{days: 3}
		plan := w.plan(h)
		w.work(h, succeeded, failed)
		w.operates(cancelling, named(3), ingest.TasksDone{Cancelled: 1})
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.clock.advance(time.Hour)
		w.operates(retrying, named(2, 3), ingest.TasksDone{Queued: 2})
		w.planIs(plan.ID, ingest.PlanReady)
		for _, id := range []int64{2, 3} {
			w.sliceIs(id, ingest.SliceReady)
			if got := w.taskByID(id); got.Status != "QUEUED" || !got.FinishedAt.IsZero() || !got.ScheduledAt.Equal(noon.Add(time.Hour)) {
				w.Errorf("%+v", got)
			}
		}
		if open, err := w.store.OpenPlans(w.ctx, h.partition()); err != nil || len(open) != 1 {
			w.Errorf("open plans %v, %v: a harvest would not continue it", open, err)
		}
		w.refuses(w.store.AddSlices(w.ctx, plan.ID, harvest{days: 4}.newSlices()[3:], false), fault.ErrInvalid, "a slice for a plan that is sliced")
		w.work(h, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.cursorAt(h, 4)
		w.verified(h)
	})
	s.test(t, "what failed before is forgiven", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		w.work(h, again, again, failed)
		w.operates(retrying, named(1), ingest.TasksDone{Queued: 1})
		a := w.begin(h)
		if a.run.Failures != 0 || a.run.IdleLeases != 1 || a.run.AttemptNo != 4 || a.work.Attempts != 3 {
			w.Errorf("%+v after %d attempts", a.run, a.work.Attempts)
		}
		a.finish(again)
		if next := w.begin(h); next.run.Failures != 1 {
			w.Errorf("%d failures, want 1", next.run.Failures)
		}
	})
	s.test(t, "a run that came further forgives those before it", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		w.work(h, again, again)
		further := again
		further.Advanced = true
		a := w.begin(h)
		if a.run.Failures != 2 {
			w.Errorf("%d failures, want 2", a.run.Failures)
		}
		a.finish(further)
		for want := 1; want <= 2; want++ {
			next := w.begin(h)
			if next.run.Failures != want {
				w.Errorf("%d failures, want %d", next.run.Failures, want)
			}
			next.finish(again)
		}
	})
	s.test(t, "a retry goes on where an interruption or the network stopped it", func(w *world) {
		for code, goesOn := range map[string]bool{"NETWORK": true, "INTERRUPTED": true, "REJECT_RATE": false, "BAD_REQUEST": false, "UNAUTHORIZED": false} {
			h := harvest{source: code, days: 1}
			w.plan(h)
			a := w.begin(h)
			a.commit(item("a", "x", noon))
			a.finish(ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: code, Error: "why"})
			w.operates(retrying, named(a.work.Lease.TaskID), ingest.TasksDone{Queued: 1})
			if next := w.begin(h); (next.run.Checkpoint.Pass == 1) != goesOn {
				w.Errorf("after %s the next run begins at %+v", code, next.run.Checkpoint)
			}
		}
	})
	s.test(t, "what waits or is worked on is left alone", func(w *world) {
		h := harvest{days: 3}
		w.plan(h)
		w.begin(h)
		w.claim(h, 1)
		w.operates(retrying, named(1, 2, 3), ingest.TasksDone{Unchanged: 3})
		w.operates(cancelling, named(1), ingest.TasksDone{Stopping: 1})
		w.refusesTasks(retrying, named(1), fault.ErrConflict)
	})
	s.test(t, "named tasks are tried again all or none", func(w *world) {
		h := harvest{days: 4}
		plan := w.plan(h)
		w.work(h, succeeded, failed, partial)
		w.refusesTasks(retrying, named(2, 4711), fault.ErrNotFound)
		for _, ended := range []int64{1, 3} {
			w.refusesTasks(retrying, named(2, ended), fault.ErrConflict)
		}
		w.cancel(plan.ID)
		w.refusesTasks(retrying, named(2), fault.ErrConflict)
		w.refusesTasks(retrying, named(4), fault.ErrConflict)
		w.operates(retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskFailed}, ingest.TasksDone{})
	})
	s.test(t, "of a plan or a scope those of one state", func(w *world) {
		h := harvest{days: 4}
		plan := w.plan(h)
		w.work(h, failed, failed, succeeded)
		w.operates(cancelling, named(4), ingest.TasksDone{Cancelled: 1})
		w.operates(retrying, ingest.TaskPick{PlanID: plan.ID, Status: ingest.TaskCancelled}, ingest.TasksDone{Queued: 1})
		w.operates(retrying, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref", Endpoint: "works"}, Status: ingest.TaskFailed}, ingest.TasksDone{Queued: 2})
		if got := w.text("SELECT CONCAT(action, ' ', object, ' ', detail) FROM ing_audit_log WHERE id = 3"); got != `task.retry source/crossref/works {"tasks":[1,2]}` {
			w.Errorf("entry %q", got)
		}
	})
	s.test(t, "a slice that could not be cut smaller may ask for it again", func(w *world) {
		h := harvest{days: 2}
		w.plan(h)
		a := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, a.tooMuch(a.work.Window)))
		a.finish(partial)
		pending := func() []ingest.PendingReslice {
			all, err := w.store.PendingReslices(w.ctx, 10)
			w.must(err)
			return all
		}
		w.must(w.store.DeclineReslice(w.ctx, pending()[0].ID, "too small"))
		w.operates(retrying, named(a.work.Lease.TaskID), ingest.TasksDone{Queued: 1})
		if n := len(pending()); n != 0 {
			w.Errorf("%d slices are to be replaced while one is tried again", n)
		}
		next := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, next.tooMuch(next.work.Window)))
		next.finish(partial)
		if got := pending(); len(got) != 1 || got[0].Lineage.RunID != next.run.ID {
			w.Errorf("to be replaced: %+v", got)
		}
		w.verified(h)
	})
	s.test(t, "cancelled, tried again and cancelled again", func(w *world) {
		h := harvest{days: 2}
		w.plan(h)
		for range 3 {
			w.operates(cancelling, named(1), ingest.TasksDone{Cancelled: 1})
			w.operates(retrying, named(1), ingest.TasksDone{Queued: 1})
			w.begin(h).finish(failed)
			w.operates(retrying, named(1), ingest.TasksDone{Queued: 1})
		}
		w.operates(cancelling, named(1, 2), ingest.TasksDone{Cancelled: 2})
		if n := len(w.events(h)); n != 8 { // planned, three failures, four cancellations
			w.Errorf("%d events, want 8", n)
		}
		w.verified(h)
	})
}

// taskRaces: whoever works, cancels and retries at once, every slice ends as its
// task did, and a plan is complete exactly if no slice is open.
func (s suite) taskRaces(t *testing.T) {
	s.test(t, "some cancel and retry while others work", func(w *world) {
		h := harvest{days: 60}
		plan := w.plan(h)
		handles := w.handles(4)
		requests := make([]ingest.ClaimRequest, 2*40)
		for i := range requests {
			requests[i] = w.request(h, 1)
		}
		w.together(4, func(i int) error {
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
			w.must(workOn(w, w.store, w.request(h, 10)))
		}
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.cursorAt(h, 61)
		w.verified(h)
	})
}

func (w *world) sound(planID int64) {
	w.Helper()
	if n := w.number(`SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code <>
  CASE WHEN t.status_code IN ('SUCCEEDED','CANCELLED') THEN t.status_code ELSE 'READY' END`); n != 0 {
		w.Errorf("%d slices are not what their tasks are", n)
	}
	open := w.number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'READY'")
	if want := map[bool]string{true: "COMPLETED", false: "READY"}[open == 0]; w.text("SELECT status_code FROM ing_plan WHERE id = ?", planID) != want {
		w.Errorf("with %d open slices the plan is not %s", open, want)
	}
}

func lossyTasks() []lossy {
	h := harvest{days: 3}
	prepare := func(do operation, pick ingest.TaskPick) func(w *world) func() (answer, error) {
		return func(w *world) func() (answer, error) {
			w.plan(h)
			w.work(h, failed)
			w.begin(h)
			return func() (answer, error) {
				_, _, err := do(w.store, w, pick)
				return nil, err
			}
		}
	}
	return []lossy{
		{"cancel tasks", "cancel named tasks", prepare(cancelling, named(2, 3))},
		{"cancel tasks", "cancel the tasks of a plan", prepare(cancelling, ingest.TaskPick{PlanID: 1})},
		{"retry tasks", "retry named tasks", prepare(retrying, named(1))},
		{"retry tasks", "retry the tasks of a source", prepare(retrying, ingest.TaskPick{Scope: ingest.Scope{Source: "crossref"}, Status: ingest.TaskFailed})},
	}
}

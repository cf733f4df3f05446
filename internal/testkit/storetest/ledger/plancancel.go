package ledger

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (w *world) cancel(planID int64) view.PlanCancel {
	w.Helper()
	did, err := w.Store.CancelPlan(w.Ctx, planID, "tester", "because")
	w.Must(err)
	return did
}

// cancels checks what cancelling a plan comes to: told beforehand, told by the
// call, and told again.
func (w *world) cancels(planID int64, cancelled, stopping, ended int) {
	w.Helper()
	want := view.PlanCancel{PlanID: planID, Cancelled: cancelled, Stopping: stopping, Ended: ended}
	expected, err := w.Store.PlanCancel(w.Ctx, planID)
	w.Must(err)
	if want.Status = expected.Status; expected != want {
		w.Errorf("expected to come to %+v, want %+v", expected, want)
	}
	want.Status = string(ingest.PlanCancelled)
	if did := w.cancel(planID); did != want {
		w.Errorf("came to %+v, want %+v", did, want)
	}
	w.planIs(planID, ingest.PlanCancelled)
	w.Unchanged("second cancellation", func() {
		if again := w.cancel(planID); again != want {
			w.Errorf("the second one came to %+v, want %+v", again, want)
		}
	})
}

// taskStatuses counts the tasks of a plan.
func (w *world) taskStatuses(planID int64) map[string]int {
	w.Helper()
	tasks, err := w.Store.Tasks(w.Ctx, view.Filter{PlanID: planID, Limit: 10_000})
	w.Must(err)
	out := map[string]int{}
	for _, task := range tasks {
		out[task.Status]++
	}
	return out
}

func (s suite) planCancel(t *testing.T) {
	s.test(t, "what waits is cancelled, who works is told, what ended stays", func(w *world) {
		h := fixture.Harvest{Days: 6}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed)
		running, claimed := w.Begin(h), w.Claim(h, 1)[0]
		w.cancels(plan.ID, 2, 2, 2)
		if got, want := w.taskStatuses(plan.ID), map[string]int{"SUCCEEDED": 1, "FAILED": 1, "EXECUTING": 1, "DISPATCHED": 1, "CANCELLED": 2}; !reflect.DeepEqual(got, want) {
			w.Errorf("tasks %v, want %v", got, want)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'CANCELLED'"); n != 2 {
			w.Errorf("%d slices are cancelled, want 2", n)
		}
		if !running.Commit(fixture.Item("a", "x", fixture.Noon)).Cancel || !w.Start(claimed).Run.Cancel {
			w.Error("a worker is not told to stop")
		}
		running.Finish(fixture.Cancelled)
		w.planIs(plan.ID, ingest.PlanCancelled)
		w.Verified(h)
	})
	s.test(t, "a cancelled task is over", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.cancels(w.Plan(h).ID, 2, 0, 0)
		w.Claim(h, 0)
		for _, task := range []int64{1, 2} {
			if shown := w.taskByID(task); shown.Status != "CANCELLED" || !shown.FinishedAt.Equal(fixture.Noon) || shown.ErrorCode != "INTERRUPTED" || shown.LeaseOwner != "" {
				w.Errorf("%+v", shown)
			}
		}
	})
	s.test(t, "tasks of the future are cancelled too", func(w *world) {
		h := fixture.Harvest{Days: 3, Due: fixture.Noon.Add(time.Hour)}
		w.cancels(w.Plan(h).ID, 3, 0, 0)
		w.Clock.Advance(2 * time.Hour)
		n, err := w.Store.Promote(w.Ctx, 10)
		w.Must(err)
		if n != 0 {
			w.Errorf("%d cancelled tasks were queued", n)
		}
	})
	s.test(t, "slices without a task are cancelled too", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		w.Exec("DELETE FROM ing_task WHERE id = 2")
		w.Exec("UPDATE ing_plan_slice SET status_code = 'PENDING' WHERE id = 2")
		w.cancels(plan.ID, 2, 0, 0)
		if n := w.Number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'CANCELLED'"); n != 2 {
			w.Errorf("%d slices are cancelled, want 2", n)
		}
		w.Verified(h)
	})
	s.test(t, "cancelled windows stay owed", func(w *world) {
		h := fixture.Harvest{Days: 5}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded)
		running := w.Begin(h)
		w.cancels(plan.ID, 3, 1, 1)
		events := w.Events(h)
		last := events[len(events)-1]
		if len(events) != 3 || last.Kind != coverage.Failed || last.PlanID != plan.ID || !reflect.DeepEqual(last.Windows, []window.Window{fixture.March(3, 6)}) || !last.AsOf.Equal(fixture.Noon) {
			w.Errorf("ledger %+v, want one FAILED for all that was cancelled", events)
		}
		running.Finish(fixture.Cancelled)
		w.CursorAt(h, 2)
		var owed []window.Window
		for _, s := range w.CoverageOf(h).Segments {
			if !s.Done() {
				owed = append(owed, s.Window)
			}
		}
		if got := window.Union(owed); !reflect.DeepEqual(got, []window.Window{fixture.March(2, 6)}) {
			w.Errorf("owed %v", got)
		}
		if open, err := w.Store.OpenPlans(w.Ctx, h.Partition()); err != nil || len(open) != 0 {
			w.Errorf("a cancelled plan would be continued: %v %v", open, err)
		}
		again := fixture.Harvest{Trigger: "again", First: 2, Days: 4}
		w.Plan(again)
		w.Work(again, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 6)
	})
	s.test(t, "a plan that is being sliced takes no further slice", func(w *world) {
		h := fixture.Harvest{Days: 6}
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:3], false))
		w.cancels(plan.ID, 3, 0, 0)
		w.Unchanged("planner that goes on", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[3:], false), fault.ErrInvalid, "slices of a cancelled plan")
			w.Must(w.Store.AddSlices(w.Ctx, plan.ID, nil, true))
		})
	})
	s.test(t, "a plan in parts is cancelled", func(w *world) {
		plan := w.Plan(fixture.Harvest{Days: 2})
		w.Exec("UPDATE ing_plan SET status_code = 'PARTIAL'")
		w.cancels(plan.ID, 2, 0, 0)
	})
	s.test(t, "a plan that has ended is refused", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed)
		empty := w.Open(fixture.Harvest{Trigger: "empty", Empty: true})
		w.Unchanged("refused cancellations", func() {
			for _, id := range []int64{plan.ID, empty.ID} {
				_, err := w.Store.CancelPlan(w.Ctx, id, "tester", "")
				w.Refuses(err, fault.ErrConflict, "ended plan")
			}
			_, err := w.Store.CancelPlan(w.Ctx, 4711, "tester", "")
			w.Refuses(err, fault.ErrNotFound, "unknown plan")
			_, err = w.Store.PlanCancel(w.Ctx, 4711)
			w.Refuses(err, fault.ErrNotFound, "unknown plan")
		})
	})
	s.test(t, "the audit log names who and why, once", func(w *world) {
		plan := w.Plan(fixture.Harvest{})
		w.cancels(plan.ID, 3, 0, 0)
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d entries, want 1", n)
		}
		if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason, ' ', detail) FROM ing_audit_log"); got != `tester plan.cancel plan/1 because {"status":"READY"}` {
			w.Errorf("entry %q", got)
		}
		other := w.Plan(fixture.Harvest{Trigger: "other"})
		_, err := w.Store.CancelPlan(w.Ctx, other.ID, "", "")
		w.Must(err)
		if got := w.Text("SELECT actor FROM ing_audit_log WHERE id = 2"); got != "unknown" {
			w.Errorf("actor %q", got)
		}
	})
	s.test(t, "a plan of many slices is cancelled in chunks", func(w *world) {
		h := fixture.Harvest{Days: 1203}
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded)
		w.Begin(h)
		w.cancels(plan.ID, 1201, 1, 1)
		if n := len(w.Events(h)); n != 5 { // planned, one success, three chunks
			w.Errorf("%d events, want 5", n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d audit entries, want 1", n)
		}
		w.Verified(h)
	})
	s.test(t, "a cancellation that died half-way is finished by repeating it", func(w *world) {
		plan := w.Plan(fixture.Harvest{Days: 1203})
		w.Wire.LoseNext("cancel plan")
		if _, err := w.Store.CancelPlan(w.Ctx, plan.ID, "tester", "because"); !errors.Is(err, fixture.ErrLost) {
			w.Fatalf("the answer was not lost: %v", err)
		}
		w.planIs(plan.ID, ingest.PlanCancelled)
		if n := w.taskStatuses(plan.ID)["CANCELLED"]; n != 500 {
			w.Errorf("%d tasks are cancelled after one chunk", n)
		}
		w.cancels(plan.ID, 1203, 0, 0)
	})
}

// planCancelRaces: whoever works, plans or cancels at the same time, no slice is
// left that nobody ends, and none is both done and cancelled.
func (s suite) planCancelRaces(t *testing.T) {
	s.test(t, "two cancel at once", func(w *world) {
		h := fixture.Harvest{Days: 700}
		plan := w.Plan(h)
		handles := w.Handles(3)
		w.Together(4, func(i int) error {
			_, err := handles[i%len(handles)].CancelPlan(w.Ctx, plan.ID, "tester", "because")
			return err
		})
		w.cancels(plan.ID, 700, 0, 0)
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d audit entries, want 1", n)
		}
		w.Verified(h)
	})
	s.test(t, "one cancels while others claim and finish", func(w *world) {
		h := fixture.Harvest{Days: 120}
		plan := w.Plan(h)
		handles := w.Handles(4)
		requests := make([]ingest.ClaimRequest, 3*20)
		for i := range requests {
			requests[i] = w.Request(h, 2)
		}
		w.Together(4, func(i int) error {
			if i == 3 {
				_, err := handles[3].CancelPlan(w.Ctx, plan.ID, "tester", "because")
				return err
			}
			for _, request := range requests[20*i : 20*i+20] {
				if err := workOn(w, handles[i], request); err != nil {
					return err
				}
			}
			return nil
		})
		w.planIs(plan.ID, ingest.PlanCancelled)
		if n := w.Number(`SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code <> t.status_code
  OR t.status_code NOT IN ('SUCCEEDED','CANCELLED')`); n != 0 {
			w.Errorf("%d slices are neither done nor cancelled", n)
		}
		w.Verified(h)
	})
	s.test(t, "one cancels while the planner adds slices", func(w *world) {
		h := fixture.Harvest{Days: 60}
		plan := w.Open(h)
		handles := w.Handles(2)
		w.Together(2, func(i int) error {
			if i == 1 {
				_, err := handles[1].CancelPlan(w.Ctx, plan.ID, "tester", "because")
				return err
			}
			_, err := planWith(w, handles[0], h, 4)
			if errors.Is(err, fault.ErrInvalid) { // the plan takes no further slice
				return nil
			}
			return err
		})
		w.planIs(plan.ID, ingest.PlanCancelled)
		if got := w.taskStatuses(plan.ID); len(got) > 1 || got["CANCELLED"] != int(w.Number("SELECT COUNT(*) FROM ing_plan_slice")) {
			w.Errorf("tasks %v, want cancelled ones only", got)
		}
		w.Verified(h)
	})
}

// workOn claims and finishes tasks as a worker does: it stops where it is told.
func workOn(w *world, s *store.Store, request ingest.ClaimRequest) error {
	work, err := s.Claim(w.Ctx, request)
	if err != nil {
		return err
	}
	for _, one := range work {
		run, err := s.StartRun(w.Ctx, one, fixture.Lease)
		if err != nil {
			return err
		}
		one.Lineage.RunID = run.ID
		end := ingest.Finish{Lease: one.Lease, Lineage: one.Lineage, Outcome: fixture.Succeeded}
		if run.Cancel {
			end.Outcome = fixture.Cancelled
		}
		if err := s.FinishRun(w.Ctx, end); err != nil {
			return err
		}
	}
	return nil
}

func lossyCancel() []lossy {
	cancel := func(w *world, id int64) func() (answer, error) {
		return func() (answer, error) { return w.Store.CancelPlan(w.Ctx, id, "tester", "because") }
	}
	return []lossy{
		{"cancel plan", "cancel plan", func(w *world) func() (answer, error) {
			h := fixture.Harvest{Days: 4}
			plan := w.Plan(h)
			w.Work(h, fixture.Succeeded)
			w.Begin(h)
			return cancel(w, plan.ID)
		}},
		{"cancel plan", "cancel plan without slices", func(w *world) func() (answer, error) {
			return cancel(w, w.Open(fixture.Harvest{}).ID)
		}},
		{"cancel plan", "supersede plan", func(w *world) func() (answer, error) {
			plan := w.Plan(fixture.Harvest{Days: 4})
			return func() (answer, error) { return w.Store.SupersedePlan(w.Ctx, plan.ID, "because") }
		}},
	}
}

package storetest

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
)

func (w *world) cancel(planID int64) view.PlanCancel {
	w.Helper()
	did, err := w.store.CancelPlan(w.ctx, planID, "tester", "because")
	w.must(err)
	return did
}

// cancels checks what cancelling a plan comes to: told beforehand, told by the
// call, and told again.
func (w *world) cancels(planID int64, cancelled, stopping, ended int) {
	w.Helper()
	want := view.PlanCancel{PlanID: planID, Cancelled: cancelled, Stopping: stopping, Ended: ended}
	expected, err := w.store.PlanCancel(w.ctx, planID)
	w.must(err)
	if want.Status = expected.Status; expected != want {
		w.Errorf("expected to come to %+v, want %+v", expected, want)
	}
	want.Status = string(ingest.PlanCancelled)
	if did := w.cancel(planID); did != want {
		w.Errorf("came to %+v, want %+v", did, want)
	}
	w.planIs(planID, ingest.PlanCancelled)
	w.unchanged("second cancellation", func() {
		if again := w.cancel(planID); again != want {
			w.Errorf("the second one came to %+v, want %+v", again, want)
		}
	})
}

// taskStatuses counts the tasks of a plan.
func (w *world) taskStatuses(planID int64) map[string]int {
	w.Helper()
	tasks, err := w.store.Tasks(w.ctx, view.Filter{PlanID: planID, Limit: 10_000})
	w.must(err)
	out := map[string]int{}
	for _, task := range tasks {
		out[task.Status]++
	}
	return out
}

func (s suite) planCancel(t *testing.T) {
	s.test(t, "what waits is cancelled, who works is told, what ended stays", func(w *world) {
		h := harvest{days: 6}
		plan := w.plan(h)
		w.work(h, succeeded, failed)
		running, claimed := w.begin(h), w.claim(h, 1)[0]
		w.cancels(plan.ID, 2, 2, 2)
		if got, want := w.taskStatuses(plan.ID), map[string]int{"SUCCEEDED": 1, "FAILED": 1, "EXECUTING": 1, "DISPATCHED": 1, "CANCELLED": 2}; !reflect.DeepEqual(got, want) {
			w.Errorf("tasks %v, want %v", got, want)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'CANCELLED'"); n != 2 {
			w.Errorf("%d slices are cancelled, want 2", n)
		}
		if !running.commit(item("a", "x", noon)).Cancel || !w.start(claimed).run.Cancel {
			w.Error("a worker is not told to stop")
		}
		running.finish(cancelled)
		w.planIs(plan.ID, ingest.PlanCancelled)
		w.verified(h)
	})
	s.test(t, "a cancelled task is over", func(w *world) {
		h := harvest{days: 2}
		w.cancels(w.plan(h).ID, 2, 0, 0)
		w.claim(h, 0)
		for _, task := range []int64{1, 2} {
			if shown := w.taskByID(task); shown.Status != "CANCELLED" || !shown.FinishedAt.Equal(noon) || shown.ErrorCode != "INTERRUPTED" || shown.LeaseOwner != "" {
				w.Errorf("%+v", shown)
			}
		}
	})
	s.test(t, "tasks of the future are cancelled too", func(w *world) {
		h := harvest{days: 3, due: noon.Add(time.Hour)}
		w.cancels(w.plan(h).ID, 3, 0, 0)
		w.clock.advance(2 * time.Hour)
		n, err := w.store.Promote(w.ctx, 10)
		w.must(err)
		if n != 0 {
			w.Errorf("%d cancelled tasks were queued", n)
		}
	})
	s.test(t, "slices without a task are cancelled too", func(w *world) {
		h := harvest{days: 2}
		plan := w.plan(h)
		w.exec("DELETE FROM ing_task WHERE id = 2")
		w.exec("UPDATE ing_plan_slice SET status_code = 'PENDING' WHERE id = 2")
		w.cancels(plan.ID, 2, 0, 0)
		if n := w.number("SELECT COUNT(*) FROM ing_plan_slice WHERE status_code = 'CANCELLED'"); n != 2 {
			w.Errorf("%d slices are cancelled, want 2", n)
		}
		w.verified(h)
	})
	s.test(t, "cancelled windows stay owed", func(w *world) {
		h := harvest{days: 5}
		plan := w.plan(h)
		w.work(h, succeeded)
		running := w.begin(h)
		w.cancels(plan.ID, 3, 1, 1)
		events := w.events(h)
		last := events[len(events)-1]
		if len(events) != 3 || last.Kind != coverage.Failed || last.PlanID != plan.ID || !reflect.DeepEqual(last.Windows, []window.Window{march(3, 6)}) || !last.AsOf.Equal(noon) {
			w.Errorf("ledger %+v, want one FAILED for all that was cancelled", events)
		}
		running.finish(cancelled)
		w.cursorAt(h, 2)
		var owed []window.Window
		for _, s := range w.book(h).Segments {
			if !s.Done() {
				owed = append(owed, s.Window)
			}
		}
		if got := window.Union(owed); !reflect.DeepEqual(got, []window.Window{march(2, 6)}) {
			w.Errorf("owed %v", got)
		}
		if open, err := w.store.OpenPlans(w.ctx, h.partition()); err != nil || len(open) != 0 {
			w.Errorf("a cancelled plan would be continued: %v %v", open, err)
		}
		again := harvest{trigger: "again", first: 2, days: 4}
		w.plan(again)
		w.work(again, succeeded, succeeded, succeeded, succeeded)
		w.cursorAt(h, 6)
	})
	s.test(t, "a plan that is being sliced takes no further slice", func(w *world) {
		h := harvest{days: 6}
		plan := w.open(h)
		w.must(w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[:3], false))
		w.cancels(plan.ID, 3, 0, 0)
		w.unchanged("planner that goes on", func() {
			w.refuses(w.store.AddSlices(w.ctx, plan.ID, h.newSlices()[3:], false), fault.ErrInvalid, "slices of a cancelled plan")
			w.must(w.store.AddSlices(w.ctx, plan.ID, nil, true))
		})
	})
	s.test(t, "a plan in parts is cancelled", func(w *world) {
		plan := w.plan(harvest{days: 2})
		w.exec("UPDATE ing_plan SET status_code = 'PARTIAL'")
		w.cancels(plan.ID, 2, 0, 0)
	})
	s.test(t, "a plan that has ended is refused", func(w *world) {
		h := harvest{days: 2}
		plan := w.plan(h)
		w.work(h, succeeded, failed)
		empty := w.open(harvest{trigger: "empty", empty: true})
		w.unchanged("refused cancellations", func() {
			for _, id := range []int64{plan.ID, empty.ID} {
				_, err := w.store.CancelPlan(w.ctx, id, "tester", "")
				w.refuses(err, fault.ErrConflict, "ended plan")
			}
			_, err := w.store.CancelPlan(w.ctx, 4711, "tester", "")
			w.refuses(err, fault.ErrNotFound, "unknown plan")
			_, err = w.store.PlanCancel(w.ctx, 4711)
			w.refuses(err, fault.ErrNotFound, "unknown plan")
		})
	})
	s.test(t, "the audit log names who and why, once", func(w *world) {
		plan := w.plan(harvest{})
		w.cancels(plan.ID, 3, 0, 0)
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d entries, want 1", n)
		}
		if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason, ' ', detail) FROM ing_audit_log"); got != `tester plan.cancel plan/1 because {"status":"READY"}` {
			w.Errorf("entry %q", got)
		}
		other := w.plan(harvest{trigger: "other"})
		_, err := w.store.CancelPlan(w.ctx, other.ID, "", "")
		w.must(err)
		if got := w.text("SELECT actor FROM ing_audit_log WHERE id = 2"); got != "unknown" {
			w.Errorf("actor %q", got)
		}
	})
	s.test(t, "a plan of many slices is cancelled in chunks", func(w *world) {
		h := harvest{days: 1203}
		plan := w.plan(h)
		w.work(h, succeeded)
		w.begin(h)
		w.cancels(plan.ID, 1201, 1, 1)
		if n := len(w.events(h)); n != 5 { // planned, one success, three chunks
			w.Errorf("%d events, want 5", n)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d audit entries, want 1", n)
		}
		w.verified(h)
	})
	s.test(t, "a cancellation that died half-way is finished by repeating it", func(w *world) {
		plan := w.plan(harvest{days: 1203})
		w.wire.loseNext("cancel plan")
		if _, err := w.store.CancelPlan(w.ctx, plan.ID, "tester", "because"); !errors.Is(err, errLost) {
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
		h := harvest{days: 700}
		plan := w.plan(h)
		handles := w.handles(3)
		w.together(4, func(i int) error {
			_, err := handles[i%len(handles)].CancelPlan(w.ctx, plan.ID, "tester", "because")
			return err
		})
		w.cancels(plan.ID, 700, 0, 0)
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d audit entries, want 1", n)
		}
		w.verified(h)
	})
	s.test(t, "one cancels while others claim and finish", func(w *world) {
		h := harvest{days: 120}
		plan := w.plan(h)
		handles := w.handles(4)
		requests := make([]ingest.ClaimRequest, 3*20)
		for i := range requests {
			requests[i] = w.request(h, 2)
		}
		w.together(4, func(i int) error {
			if i == 3 {
				_, err := handles[3].CancelPlan(w.ctx, plan.ID, "tester", "because")
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
		if n := w.number(`SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code <> t.status_code
  OR t.status_code NOT IN ('SUCCEEDED','CANCELLED')`); n != 0 {
			w.Errorf("%d slices are neither done nor cancelled", n)
		}
		w.verified(h)
	})
	s.test(t, "one cancels while the planner adds slices", func(w *world) {
		h := harvest{days: 60}
		plan := w.open(h)
		handles := w.handles(2)
		w.together(2, func(i int) error {
			if i == 1 {
				_, err := handles[1].CancelPlan(w.ctx, plan.ID, "tester", "because")
				return err
			}
			_, err := planWith(w, handles[0], h, 4)
			if errors.Is(err, fault.ErrInvalid) { // the plan takes no further slice
				return nil
			}
			return err
		})
		w.planIs(plan.ID, ingest.PlanCancelled)
		if got := w.taskStatuses(plan.ID); len(got) > 1 || got["CANCELLED"] != int(w.number("SELECT COUNT(*) FROM ing_plan_slice")) {
			w.Errorf("tasks %v, want cancelled ones only", got)
		}
		w.verified(h)
	})
}

// workOn claims and finishes tasks as a worker does: it stops where it is told.
func workOn(w *world, s *store.Store, request ingest.ClaimRequest) error {
	work, err := s.Claim(w.ctx, request)
	if err != nil {
		return err
	}
	for _, one := range work {
		run, err := s.StartRun(w.ctx, one, lease)
		if err != nil {
			return err
		}
		one.Lineage.RunID = run.ID
		end := ingest.Finish{Lease: one.Lease, Lineage: one.Lineage, Outcome: succeeded}
		if run.Cancel {
			end.Outcome = cancelled
		}
		if err := s.FinishRun(w.ctx, end); err != nil {
			return err
		}
	}
	return nil
}

func lossyCancel() []lossy {
	cancel := func(w *world, id int64) func() (answer, error) {
		return func() (answer, error) { return w.store.CancelPlan(w.ctx, id, "tester", "because") }
	}
	return []lossy{
		{"cancel plan", "cancel plan", func(w *world) func() (answer, error) {
			h := harvest{days: 4}
			plan := w.plan(h)
			w.work(h, succeeded)
			w.begin(h)
			return cancel(w, plan.ID)
		}},
		{"cancel plan", "cancel plan without slices", func(w *world) func() (answer, error) {
			return cancel(w, w.open(harvest{}).ID)
		}},
		{"cancel plan", "supersede plan", func(w *world) func() (answer, error) {
			plan := w.plan(harvest{days: 4})
			return func() (answer, error) { return w.store.SupersedePlan(w.ctx, plan.ID, "because") }
		}},
	}
}

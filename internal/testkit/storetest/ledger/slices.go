package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) slices(t *testing.T) {
	s.test(t, "each slice gets one task", func(w *world) {
		h := fixture.Harvest{Days: 5}
		plan := w.Plan(h)
		tasks, err := w.Store.Tasks(w.Ctx, view.Filter{PlanID: plan.ID})
		w.Must(err)
		if len(tasks) != 5 {
			w.Fatalf("%d tasks, want 5", len(tasks))
		}
		for i, in := range h.NewSlices() {
			got := tasks[len(tasks)-1-i]
			if got.Window != in.Window || got.Key != in.TaskKey || got.Priority != 10 || got.Status != string(ingest.TaskQueued) || !got.ScheduledAt.Equal(fixture.Noon) {
				w.Errorf("task of slice %d: %+v", in.No, got)
			}
		}
		w.planIs(plan.ID, ingest.PlanReady)
	})
	s.test(t, "chunks of any size make the same plan", func(w *world) {
		h := fixture.Harvest{Days: 25}
		for size := 1; size <= 13; size += 4 {
			h.Source = fmt.Sprintf("source%d", size)
			plan := w.Open(h)
			all := h.NewSlices()
			for len(all) > 0 {
				n := min(size, len(all))
				w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[:n], n == len(all)))
				all = all[n:]
			}
			w.planIs(plan.ID, ingest.PlanReady)
			w.tiled(plan.ID, h)
		}
	})
	s.test(t, "a chunk may be repeated at any time", func(w *world) {
		h := fixture.Harvest{Days: 6}
		plan, all := w.Open(h), h.NewSlices()
		repeat := func(what string, chunk []ingest.NewSlice, last bool) {
			w.Helper()
			w.Unchanged(what, func() { w.Must(w.Store.AddSlices(w.Ctx, plan.ID, chunk, last)) })
		}
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[:3], false))
		w.planIs(plan.ID, ingest.PlanSlicing)
		repeat("first chunk again", all[:3], false)
		repeat("part of the first chunk", all[:2], false)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[1:5], false)) // overlaps what is there
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all[5:], true))
		repeat("first chunk after the last", all[:3], false)
		repeat("last chunk again", all[5:], true)
		w.tiled(plan.ID, h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		repeat("last chunk of a completed plan", all[5:], true)
		repeat("first chunk of a completed plan", all[:3], false)
	})
	s.test(t, "a gap is refused", func(w *world) {
		h := fixture.Harvest{Days: 6}
		plan, all := w.Open(h), h.NewSlices()
		w.Unchanged("second chunk first", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, all[3:], true), fault.ErrInvalid, "gap")
		})
		holed := append(append([]ingest.NewSlice{}, all[:2]...), all[3:]...)
		w.Unchanged("chunk with a hole", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, holed, true), fault.ErrInvalid, "hole")
		})
	})
	s.test(t, "a closed plan takes no further slice", func(w *world) {
		h := fixture.Harvest{Days: 3}
		plan := w.Plan(h)
		further := fixture.Harvest{Days: 4}.NewSlices()[3:]
		w.Unchanged("slice after the last", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, further, true), fault.ErrInvalid, "READY plan")
		})
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.Unchanged("slice after the end", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, further, true), fault.ErrInvalid, "COMPLETED plan")
		})
	})
	s.test(t, "slices of an unknown plan are refused", func(w *world) {
		w.Refuses(w.Store.AddSlices(w.Ctx, 4711, fixture.Harvest{}.NewSlices(), true), fault.ErrNotFound, "plan")
	})
	s.test(t, "a plan is complete when its last slice ends", func(w *world) {
		h := fixture.Harvest{Days: 5}
		plan := w.Plan(h)
		for _, o := range []ingest.Outcome{fixture.Succeeded, fixture.Failed, fixture.Partial, fixture.Cancelled} {
			w.Work(h, o)
			w.planIs(plan.ID, ingest.PlanReady)
		}
		w.Work(h, fixture.Again)
		w.planIs(plan.ID, ingest.PlanReady)
		w.Work(h, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a plan whose slices end before it is closed completes all the same", func(w *world) {
		h := fixture.Harvest{Days: 2}
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices(), false))
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanSlicing)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, nil, true))
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a task of the future waits outside the queue", func(w *world) {
		w.Plan(fixture.Harvest{Days: 2, Due: fixture.Noon.Add(time.Hour)})
		queues, err := w.Store.Queues(w.Ctx)
		w.Must(err)
		if len(queues) != 0 {
			w.Errorf("queues %+v, want none", queues)
		}
		next, err := w.Store.NextDue(w.Ctx)
		w.Must(err)
		if !next.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("next due %v", next)
		}
	})
}

func (s suite) planRaces(t *testing.T) {
	s.test(t, "planners of the same plan make one", func(w *world) {
		const planners = 6
		h := fixture.Harvest{Days: 30}
		handles := w.Handles(3)
		ids := make([]int64, planners)
		w.Together(planners, func(i int) error {
			plan, err := planWith(w, handles[i%len(handles)], h, 7+i)
			ids[i] = plan.ID
			return err
		})
		for _, id := range ids {
			if id != ids[0] {
				w.Fatalf("plan ids %v, want one", ids)
			}
		}
		w.tiled(ids[0], h)
		w.planIs(ids[0], ingest.PlanReady)
		if events := w.Events(h); len(events) != 1 {
			w.Errorf("%d events, want one PLANNED", len(events))
		}
		w.Verified(h)
	})
	s.test(t, "planners of different plans do not disturb one another", func(w *world) {
		const planners = 6
		handles := w.Handles(3)
		w.Together(planners, func(i int) error {
			_, err := planWith(w, handles[i%len(handles)], fixture.Harvest{Trigger: fmt.Sprint(i), First: 1 + i, Days: 4}, 3)
			return err
		})
		if events := w.Events(fixture.Harvest{}); len(events) != planners {
			w.Errorf("%d events, want %d", len(events), planners)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_cursor"); n != 1 {
			w.Errorf("%d cursors, want 1", n)
		}
		w.Verified(fixture.Harvest{})
	})
}

// planWith plans as a planner process does: in chunks, from the start.
func planWith(w *world, s *store.Store, h fixture.Harvest, size int) (ingest.Plan, error) {
	id, err := s.RecordTrigger(w.Ctx, h.NewTrigger())
	if err != nil {
		return ingest.Plan{}, err
	}
	plan, _, err := s.OpenPlan(w.Ctx, h.NewPlan(id))
	if err != nil {
		return plan, err
	}
	for all := h.NewSlices(); len(all) > 0; {
		n := min(size, len(all))
		if err := s.AddSlices(w.Ctx, plan.ID, all[:n], n == len(all)); err != nil {
			return plan, err
		}
		all = all[n:]
	}
	return plan, nil
}

func (w *world) planIs(id int64, want ingest.PlanStatus) {
	w.Helper()
	if got := w.Text("SELECT status_code FROM ing_plan WHERE id = ?", id); got != string(want) {
		w.Errorf("plan is %s, want %s", got, want)
	}
}

// tiled checks I1: the slices fill the window, each has its one task.
func (w *world) tiled(planID int64, h fixture.Harvest) {
	w.Helper()
	tasks, err := w.Store.Tasks(w.Ctx, view.Filter{PlanID: planID, Limit: 1000})
	w.Must(err)
	at := h.Window().To
	sliceIDs := map[int64]bool{}
	for _, task := range tasks { // newest first
		if !task.Window.To.Equal(at) {
			w.Errorf("a slice ends at %v, the next starts at %v", task.Window.To, at)
		}
		at = task.Window.From
		sliceIDs[task.SliceID] = true
	}
	if !at.Equal(h.Window().From) || len(sliceIDs) != len(tasks) || len(tasks) != len(h.NewSlices()) {
		w.Errorf("%d tasks on %d slices down to %v, want %d down to %v", len(tasks), len(sliceIDs), at, len(h.NewSlices()), h.Window().From)
	}
	if nos := fixture.Column(w.T, w.DB.SQL, "SELECT slice_no FROM ing_plan_slice WHERE plan_id = ? ORDER BY slice_no", planID); !reflect.DeepEqual(nos, counted(len(tasks))) {
		w.Errorf("slice numbers %v", nos)
	}
}

func counted(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i+1))
	}
	return out
}

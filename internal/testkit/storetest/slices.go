package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

func (s suite) slices(t *testing.T) {
	s.test(t, "each slice gets one task", func(w *world) {
		h := harvest{days: 5}
		plan := w.plan(h)
		tasks, err := w.store.Tasks(w.ctx, view.Filter{PlanID: plan.ID})
		w.must(err)
		if len(tasks) != 5 {
			w.Fatalf("%d tasks, want 5", len(tasks))
		}
		for i, in := range h.newSlices() {
			got := tasks[len(tasks)-1-i]
			if got.Window != in.Window || got.Key != in.TaskKey || got.Priority != 10 || got.Status != string(ingest.TaskQueued) || !got.ScheduledAt.Equal(noon) {
				w.Errorf("task of slice %d: %+v", in.No, got)
			}
		}
		w.planIs(plan.ID, ingest.PlanReady)
	})
	s.test(t, "chunks of any size make the same plan", func(w *world) {
		h := harvest{days: 25}
		for size := 1; size <= 13; size += 4 {
			h.source = fmt.Sprintf("source%d", size)
			plan := w.open(h)
			all := h.newSlices()
			for len(all) > 0 {
				n := min(size, len(all))
				w.must(w.store.AddSlices(w.ctx, plan.ID, all[:n], n == len(all)))
				all = all[n:]
			}
			w.planIs(plan.ID, ingest.PlanReady)
			w.tiled(plan.ID, h)
		}
	})
	s.test(t, "a chunk may be repeated at any time", func(w *world) {
		h := harvest{days: 6}
		plan, all := w.open(h), h.newSlices()
		repeat := func(what string, chunk []ingest.NewSlice, last bool) {
			w.Helper()
			w.unchanged(what, func() { w.must(w.store.AddSlices(w.ctx, plan.ID, chunk, last)) })
		}
		w.must(w.store.AddSlices(w.ctx, plan.ID, all[:3], false))
		w.planIs(plan.ID, ingest.PlanSlicing)
		repeat("first chunk again", all[:3], false)
		repeat("part of the first chunk", all[:2], false)
		w.must(w.store.AddSlices(w.ctx, plan.ID, all[1:5], false)) // overlaps what is there
		w.must(w.store.AddSlices(w.ctx, plan.ID, all[5:], true))
		repeat("first chunk after the last", all[:3], false)
		repeat("last chunk again", all[5:], true)
		w.tiled(plan.ID, h)
		w.work(h, succeeded, succeeded, succeeded, succeeded, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		repeat("last chunk of a completed plan", all[5:], true)
		repeat("first chunk of a completed plan", all[:3], false)
	})
	s.test(t, "a gap is refused", func(w *world) {
		h := harvest{days: 6}
		plan, all := w.open(h), h.newSlices()
		w.unchanged("second chunk first", func() {
			w.refuses(w.store.AddSlices(w.ctx, plan.ID, all[3:], true), fault.ErrInvalid, "gap")
		})
		holed := append(append([]ingest.NewSlice{}, all[:2]...), all[3:]...)
		w.unchanged("chunk with a hole", func() {
			w.refuses(w.store.AddSlices(w.ctx, plan.ID, holed, true), fault.ErrInvalid, "hole")
		})
	})
	s.test(t, "a closed plan takes no further slice", func(w *world) {
		h := harvest{days: 3}
		plan := w.plan(h)
		further := harvest{days: 4}.newSlices()[3:]
		w.unchanged("slice after the last", func() {
			w.refuses(w.store.AddSlices(w.ctx, plan.ID, further, true), fault.ErrInvalid, "READY plan")
		})
		w.work(h, succeeded, succeeded, succeeded)
		w.unchanged("slice after the end", func() {
			w.refuses(w.store.AddSlices(w.ctx, plan.ID, further, true), fault.ErrInvalid, "COMPLETED plan")
		})
	})
	s.test(t, "slices of an unknown plan are refused", func(w *world) {
		w.refuses(w.store.AddSlices(w.ctx, 4711, harvest{}.newSlices(), true), fault.ErrNotFound, "plan")
	})
	s.test(t, "a plan is complete when its last slice ends", func(w *world) {
		h := harvest{days: 5}
		plan := w.plan(h)
		for _, o := range []ingest.Outcome{succeeded, failed, partial, cancelled} {
			w.work(h, o)
			w.planIs(plan.ID, ingest.PlanReady)
		}
		w.work(h, again)
		w.planIs(plan.ID, ingest.PlanReady)
		w.work(h, succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a plan whose slices end before it is closed completes all the same", func(w *world) {
		h := harvest{days: 2}
		plan := w.open(h)
		w.must(w.store.AddSlices(w.ctx, plan.ID, h.newSlices(), false))
		w.work(h, succeeded, succeeded)
		w.planIs(plan.ID, ingest.PlanSlicing)
		w.must(w.store.AddSlices(w.ctx, plan.ID, nil, true))
		w.planIs(plan.ID, ingest.PlanCompleted)
	})
	s.test(t, "a task of the future waits outside the queue", func(w *world) {
		w.plan(harvest{days: 2, due: noon.Add(time.Hour)})
		queues, err := w.store.Queues(w.ctx)
		w.must(err)
		if len(queues) != 0 {
			w.Errorf("queues %+v, want none", queues)
		}
		next, err := w.store.NextDue(w.ctx)
		w.must(err)
		if !next.Equal(noon.Add(time.Hour)) {
			w.Errorf("next due %v", next)
		}
	})
}

func (s suite) planRaces(t *testing.T) {
	s.test(t, "planners of the same plan make one", func(w *world) {
		const planners = 6
		h := harvest{days: 30}
		handles := w.handles(3)
		ids := make([]int64, planners)
		w.together(planners, func(i int) error {
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
		if events := w.events(h); len(events) != 1 {
			w.Errorf("%d events, want one PLANNED", len(events))
		}
		w.verified(h)
	})
	s.test(t, "planners of different plans do not disturb one another", func(w *world) {
		const planners = 6
		handles := w.handles(3)
		w.together(planners, func(i int) error {
			_, err := planWith(w, handles[i%len(handles)], harvest{trigger: fmt.Sprint(i), first: 1 + i, days: 4}, 3)
			return err
		})
		if events := w.events(harvest{}); len(events) != planners {
			w.Errorf("%d events, want %d", len(events), planners)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_cursor"); n != 1 {
			w.Errorf("%d cursors, want 1", n)
		}
		w.verified(harvest{})
	})
}

// planWith plans as a planner process does: in chunks, from the start.
func planWith(w *world, s *store.Store, h harvest, size int) (ingest.Plan, error) {
	id, err := s.RecordTrigger(w.ctx, h.newTrigger())
	if err != nil {
		return ingest.Plan{}, err
	}
	plan, _, err := s.OpenPlan(w.ctx, h.newPlan(id))
	if err != nil {
		return plan, err
	}
	for all := h.newSlices(); len(all) > 0; {
		n := min(size, len(all))
		if err := s.AddSlices(w.ctx, plan.ID, all[:n], n == len(all)); err != nil {
			return plan, err
		}
		all = all[n:]
	}
	return plan, nil
}

func (w *world) planIs(id int64, want ingest.PlanStatus) {
	w.Helper()
	if got := w.text("SELECT status_code FROM ing_plan WHERE id = ?", id); got != string(want) {
		w.Errorf("plan is %s, want %s", got, want)
	}
}

// tiled checks I1: the slices fill the window, each has its one task.
func (w *world) tiled(planID int64, h harvest) {
	w.Helper()
	tasks, err := w.store.Tasks(w.ctx, view.Filter{PlanID: planID, Limit: 1000})
	w.must(err)
	at := h.window().To
	sliceIDs := map[int64]bool{}
	for _, task := range tasks { // newest first
		if !task.Window.To.Equal(at) {
			w.Errorf("a slice ends at %v, the next starts at %v", task.Window.To, at)
		}
		at = task.Window.From
		sliceIDs[task.SliceID] = true
	}
	if !at.Equal(h.window().From) || len(sliceIDs) != len(tasks) || len(tasks) != len(h.newSlices()) {
		w.Errorf("%d tasks on %d slices down to %v, want %d down to %v", len(tasks), len(sliceIDs), at, len(h.newSlices()), h.window().From)
	}
	if nos := column(w.T, w.db.SQL, "SELECT slice_no FROM ing_plan_slice WHERE plan_id = ? ORDER BY slice_no", planID); !reflect.DeepEqual(nos, counted(len(tasks))) {
		w.Errorf("slice numbers %v", nos)
	}
}

func counted(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i+1))
	}
	return out
}

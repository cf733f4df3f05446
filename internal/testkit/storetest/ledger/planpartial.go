package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) partialPlans(t *testing.T) {
	h := fixture.Harvest{Days: 6}
	// suspended has two of six slices.
	suspended := func(w *world) ingest.Plan {
		w.Helper()
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:2], false))
		w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{"stock":9000}`)))
		return plan
	}
	s.test(t, "a suspended plan keeps its explanation", func(w *world) {
		plan := suspended(w)
		w.planIs(plan.ID, ingest.PlanPartial)
		if got := w.Text("SELECT record_remarks FROM ing_plan WHERE id = ?", plan.ID); got != `{"suspended":{"stock":9000},"why":"test"}` {
			w.Errorf("remarks %s", got)
		}
		w.Unchanged("suspended again", func() { w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{"stock":9001}`))) })
		w.Unchanged("first slices again", func() { w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:2], false)) })
	})
	s.test(t, "no remark, no change of remarks", func(w *world) {
		plan := w.Open(h)
		w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, nil))
		w.planIs(plan.ID, ingest.PlanPartial)
		if got := w.Text("SELECT record_remarks FROM ing_plan WHERE id = ?", plan.ID); got != `{"why":"test"}` {
			w.Errorf("remarks %s", got)
		}
	})
	s.test(t, "it still owes slices when those it has are done", func(w *world) {
		plan := suspended(w)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanPartial)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[2:4], false))
		w.planIs(plan.ID, ingest.PlanSlicing)
		w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{"stock":1}`)))
		w.Work(h, fixture.Succeeded, fixture.Failed)
		w.planIs(plan.ID, ingest.PlanPartial)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[4:], true))
		w.planIs(plan.ID, ingest.PlanReady)
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		w.planIs(plan.ID, ingest.PlanCompleted)
		w.tiled(plan.ID, h)
		w.Verified(h)
	})
	s.test(t, "it is found among the open plans with what it lacks", func(w *world) {
		plan := suspended(w)
		open, err := w.Store.OpenPlans(w.Ctx, h.Partition())
		w.Must(err)
		if len(open) != 1 || open[0].ID != plan.ID || open[0].Status != ingest.PlanPartial || open[0].NextSliceNo != 3 {
			w.Fatalf("open plans %+v", open)
		}
		planned := w.planned(plan.ID)
		if want := []window.Window{fixture.March(1, 2), fixture.March(2, 3)}; !reflect.DeepEqual(planned, want) {
			w.Errorf("planned %v, want %v", planned, want)
		}
		if rest := window.Subtract(open[0].Owed[0], planned); !reflect.DeepEqual(rest, []window.Window{fixture.March(3, 7)}) {
			w.Errorf("it lacks %v", rest)
		}
	})
	s.test(t, "a plan that has all its slices stays as it is", func(w *world) {
		plan := w.Plan(h)
		w.Unchanged("READY", func() { w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{}`))) })
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.Unchanged("COMPLETED", func() { w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{}`))) })
	})
	s.test(t, "a cancelled or unknown plan is refused", func(w *world) {
		plan := suspended(w)
		w.cancel(plan.ID)
		w.Unchanged("CANCELLED", func() { w.Refuses(w.Store.SuspendPlan(w.Ctx, plan.ID, nil), fault.ErrInvalid, "suspend") })
		w.Refuses(w.Store.SuspendPlan(w.Ctx, 4711, nil), fault.ErrNotFound, "suspend")
	})
	s.test(t, "remarks that are no JSON are refused", func(w *world) {
		plan := w.Open(h)
		w.Unchanged("bad remarks", func() {
			w.Refuses(w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{"stock"`)), fault.ErrInvalid, "suspend")
		})
	})
	s.test(t, "other slices under the same numbers are refused", func(w *world) {
		plan := suspended(w)
		otherwise := halves(h, plan.Key, fixture.March(1, 7))
		for name, chunk := range map[string][]ingest.NewSlice{"all known": otherwise[:2], "some known": otherwise} {
			w.Unchanged(name, func() {
				if err := w.Store.AddSlices(w.Ctx, plan.ID, chunk, len(chunk) > 2); !errors.Is(err, ingest.ErrSlicedOtherwise) {
					w.Errorf("%s: %v", name, err)
				}
			})
		}
	})
	s.test(t, "a plan with a hole is not closed", func(w *world) {
		plan := w.Open(h)
		all := h.NewSlices()
		holed := append(all[:3:3], all[4:]...)
		for i := range holed {
			holed[i].No = i + 1
		}
		w.Unchanged("hole", func() { w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, holed, true), fault.ErrInvalid, "hole") })
		w.Unchanged("no slices", func() { w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, nil, true), fault.ErrInvalid, "no slices") })
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, all, true))
	})
	s.test(t, "settled stretches are no holes", func(w *world) {
		in := h.NewPlan(1)
		in.Owed = []window.Window{fixture.March(1, 3), fixture.March(5, 6)}
		plan, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		all := h.NewSlices()
		chunk := []ingest.NewSlice{all[0], all[1], all[4]}
		chunk[2].No = 3
		w.Unchanged("only the first", func() {
			w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, chunk[:2], true), fault.ErrInvalid, "second stretch")
		})
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, chunk, true))
		w.leavesTile()
	})
	// The same slice under two numbers would be read twice, and ids of slices that
	// are no stretch of time are told apart by their signature alone.
	s.test(t, "a plan has a slice once", func(w *world) {
		plan := w.Open(h)
		for name, of := range map[string]window.Window{"a stretch of time": h.NewSlices()[0].Window, "no stretch of time": {}} {
			twice := h.NewSlices()[:2]
			for i := range twice {
				twice[i].Window, twice[i].Signature = of, fingerprint.Key("slice", of.String())
				twice[i].TaskKey = fingerprint.Key(plan.Key, twice[i].Signature)
			}
			w.Unchanged(name, func() { w.Refuses(w.Store.AddSlices(w.Ctx, plan.ID, twice, false), fault.ErrConflict, "") })
		}
	})
}

// halves cuts a window of whole days into half days, numbered from 1.
func halves(h fixture.Harvest, planKey string, whole window.Window) (out []ingest.NewSlice) {
	for at := whole.From; at.Before(whole.To); at = at.Add(fixture.Day / 2) {
		w := window.Window{From: at, To: at.Add(fixture.Day / 2)}
		one := h.NewSlices()[0]
		one.No, one.Window, one.Signature = len(out)+1, w, fingerprint.Key(h.Filled().Source, w.String())
		one.TaskKey = fingerprint.Key(planKey, one.Signature)
		out = append(out, one)
	}
	return out
}

func (w *world) planned(planID int64) []window.Window {
	w.Helper()
	out, err := w.Store.PlannedWindows(w.Ctx, planID)
	w.Must(err)
	return out[""]
}

// leavesTile checks I1 over the whole database.
func (w *world) leavesTile() {
	w.Helper()
	problems, err := check.Tiling(w.Ctx, w.DB.SQL)
	w.Must(err)
	for _, p := range problems {
		w.Error(p)
	}
}

func (s suite) partialPlanRaces(t *testing.T) {
	// Planners that cut differently, suspend, die and go on: whoever finds that
	// another one was faster reads anew what is left.
	s.test(t, "planners that cut differently leave no hole", func(w *world) {
		const planners = 6
		h := fixture.Harvest{Days: 28}
		plan := w.Open(h)
		handles := w.Handles(3)
		w.Together(planners, func(i int) error {
			for {
				done, err := continuePlan(w, handles[i%len(handles)], h, plan, i)
				if done || err != nil && !errors.Is(err, ingest.ErrSlicedOtherwise) {
					return err
				}
			}
		})
		w.planIs(plan.ID, ingest.PlanReady)
		w.leavesTile()
		if got := window.Union(w.planned(plan.ID)); !reflect.DeepEqual(got, []window.Window{h.Window()}) {
			w.Errorf("planned %v", got)
		}
		w.Verified(h)
	})
	s.test(t, "a plan that is suspended while others slice it is not lost", func(w *world) {
		const planners = 6
		h := fixture.Harvest{Days: 30}
		plan := w.Open(h)
		handles := w.Handles(3)
		w.Together(planners, func(i int) error {
			s := handles[i%len(handles)]
			if i%2 == 0 {
				_, err := planWith(w, s, h, 3)
				return err
			}
			for range 10 {
				if err := s.SuspendPlan(w.Ctx, plan.ID, []byte(`{}`)); err != nil {
					return err
				}
			}
			return nil
		})
		w.planIs(plan.ID, ingest.PlanReady)
		w.tiled(plan.ID, h)
		w.leavesTile()
	})
}

// continuePlan cuts what a plan lacks into days or half days, stores three of
// them and suspends the plan: one turn of a planner with little room.
func continuePlan(w *world, s *store.Store, h fixture.Harvest, plan ingest.Plan, planner int) (done bool, err error) {
	open, err := s.OpenPlans(w.Ctx, h.Partition())
	if err != nil {
		return false, err
	}
	if len(open) != 1 {
		return false, fmt.Errorf("%d open plans", len(open))
	}
	if open[0].Status == ingest.PlanReady {
		return true, nil
	}
	planned, err := s.PlannedWindows(w.Ctx, plan.ID)
	if err != nil {
		return false, err
	}
	var rest []ingest.NewSlice
	for _, gap := range window.Subtract(h.Window(), planned[""]) {
		cut := halves(h, plan.Key, gap)
		if planner%2 == 0 {
			cut = days(h, plan.Key, gap)
		}
		rest = append(rest, cut...)
	}
	for i := range rest {
		rest[i].No = open[0].NextSliceNo + i
	}
	last := len(rest) <= 3
	if err := s.AddSlices(w.Ctx, plan.ID, rest[:min(3, len(rest))], last); err != nil || last {
		return err == nil, err
	}
	return false, s.SuspendPlan(w.Ctx, plan.ID, []byte(`{}`))
}

// days cuts a window into steps of a day from its start.
func days(h fixture.Harvest, planKey string, whole window.Window) (out []ingest.NewSlice) {
	for at := whole.From; at.Before(whole.To); {
		w := window.Window{From: at, To: at.Add(fixture.Day)}.Intersect(whole)
		one := halves(h, planKey, fixture.March(1, 2))[0]
		one.Window, one.Signature = w, fingerprint.Key(h.Filled().Source, w.String())
		one.TaskKey = fingerprint.Key(planKey, one.Signature)
		out, at = append(out, one), w.To
	}
	return out
}

func lossyPartial() []lossy {
	h := fixture.Harvest{Days: 3}
	return []lossy{
		{"suspend plan", "suspend plan", func(w *world) func() (answer, error) {
			plan := w.Open(h)
			w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:1], false))
			return func() (answer, error) { return nil, w.Store.SuspendPlan(w.Ctx, plan.ID, []byte(`{"stock":7}`)) }
		}},
		{"add slices", "go on with a suspended plan", func(w *world) func() (answer, error) {
			plan := w.Open(h)
			w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:1], false))
			w.Must(w.Store.SuspendPlan(w.Ctx, plan.ID, nil))
			return func() (answer, error) { return nil, w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[1:], true) }
		}},
	}
}

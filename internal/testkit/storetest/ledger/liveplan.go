package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// livePlans: what a harvest looks at before it plans the same as another one.
func (s suite) livePlans(t *testing.T) {
	s.test(t, "plans of the same snapshot, newest first, with what they read and when they ended", func(w *world) {
		first, second := fixture.Harvest{Trigger: "a", First: 1, Days: 2}, fixture.Harvest{Trigger: "b", First: 3, Days: 1}
		began := w.Clock.Read()
		one := w.Plan(first)
		w.Clock.Advance(time.Minute)
		two := w.Plan(second)
		w.Work(first, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.Clock.Advance(time.Minute)
		list, err := w.Store.LivePlans(w.Ctx, first.Partition(), first.NewPlan(1).SpecFingerprint)
		w.Must(err)
		if len(list) != 2 || list[0].ID != two.ID || list[1].ID != one.ID {
			w.Fatalf("%+v, want %d and %d", list, two.ID, one.ID)
		}
		for i, h := range []fixture.Harvest{second, first} {
			in := h.NewPlan(1)
			if got := list[i]; len(got.Owed) != 1 || got.Owed[0] != in.Owed[0] || got.Window != in.Window || !got.AsOf.Equal(in.AsOf) || got.CreatedAt.Before(began) {
				w.Errorf("%+v, want %+v", got, in)
			}
			if list[i].Status != ingest.PlanCompleted || !list[i].LiveAt(began, w.Clock.Read()) || list[i].LiveAt(w.Clock.Read(), w.Clock.Read()) {
				w.Errorf("%+v: live when it began, and ended since", list[i])
			}
		}
		other, err := w.Store.LivePlans(w.Ctx, first.Partition(), "another snapshot")
		w.Must(err)
		elsewhere := first.Partition()
		elsewhere.Operation = ingest.Backfill
		more, err := w.Store.LivePlans(w.Ctx, elsewhere, first.NewPlan(1).SpecFingerprint)
		w.Must(err)
		if len(other)+len(more) > 0 {
			w.Errorf("%+v, %+v", other, more)
		}
	})
	s.test(t, "a plan knows whether its watermark was set by hand since, whatever the clock says", func(w *world) {
		first, second := fixture.Harvest{Trigger: "a", First: 1, Days: 2}, fixture.Harvest{Trigger: "b", First: 3, Days: 1}
		is := func(plan ingest.Plan, want bool, when string) {
			w.Helper()
			if since, err := w.Store.SetByHandSince(w.Ctx, plan.ID); err != nil || since != want {
				w.Errorf("plan %d, %s: %t, %v", plan.ID, when, since, err)
			}
		}
		one := w.Plan(first)
		w.Work(first, fixture.Succeeded, fixture.Succeeded)
		is(one, false, "before")
		w.Clock.Advance(-time.Hour)
		_, err := w.Store.SetCursor(w.Ctx, w.CursorID(first), fixture.Midnight(1), w.By)
		w.Must(err)
		is(one, true, "after")
		two := w.Plan(second)
		is(two, false, "planned since")
		is(one, true, "after another plan")
	})
	s.test(t, "a plan is seen from the moment it is stored", func(w *world) {
		h := fixture.Harvest{Trigger: "a", First: 1, Days: 2}
		plan := w.Open(h)
		list, err := w.Store.LivePlans(w.Ctx, h.Partition(), plan.SpecFingerprint)
		w.Must(err)
		if len(list) != 1 || list[0].Status != ingest.PlanSlicing || len(list[0].Owed) != 1 {
			w.Errorf("%+v", list)
		}
	})
}

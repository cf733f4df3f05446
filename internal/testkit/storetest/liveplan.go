package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// livePlans: what a harvest looks at before it plans the same as another one.
func (s suite) livePlans(t *testing.T) {
	s.test(t, "plans of the same snapshot, newest first, with what they read and when they ended", func(w *world) {
		first, second := harvest{trigger: "a", first: 1, days: 2}, harvest{trigger: "b", first: 3, days: 1}
		began := w.clock.read()
		one := w.plan(first)
		w.clock.advance(time.Minute)
		two := w.plan(second)
		w.work(first, succeeded, succeeded, succeeded)
		w.clock.advance(time.Minute)
		list, err := w.store.LivePlans(w.ctx, first.partition(), first.newPlan(1).SpecFingerprint)
		w.must(err)
		if len(list) != 2 || list[0].ID != two.ID || list[1].ID != one.ID {
			w.Fatalf("%+v, want %d and %d", list, two.ID, one.ID)
		}
		for i, h := range []harvest{second, first} {
			in := h.newPlan(1)
			if got := list[i]; len(got.Owed) != 1 || got.Owed[0] != in.Owed[0] || got.Window != in.Window || !got.AsOf.Equal(in.AsOf) || got.CreatedAt.Before(began) {
				w.Errorf("%+v, want %+v", got, in)
			}
			if list[i].Status != ingest.PlanCompleted || !list[i].LiveAt(began) || list[i].LiveAt(w.clock.read()) {
				w.Errorf("%+v: live when it began, and ended since", list[i])
			}
		}
		other, err := w.store.LivePlans(w.ctx, first.partition(), "another snapshot")
		w.must(err)
		elsewhere := first.partition()
		elsewhere.Operation = ingest.Backfill
		more, err := w.store.LivePlans(w.ctx, elsewhere, first.newPlan(1).SpecFingerprint)
		w.must(err)
		if len(other)+len(more) > 0 {
			w.Errorf("%+v, %+v", other, more)
		}
	})
	s.test(t, "a plan is seen from the moment it is stored", func(w *world) {
		h := harvest{trigger: "a", first: 1, days: 2}
		plan := w.open(h)
		list, err := w.store.LivePlans(w.ctx, h.partition(), plan.SpecFingerprint)
		w.must(err)
		if len(list) != 1 || list[0].Status != ingest.PlanSlicing || len(list[0].Owed) != 1 {
			w.Errorf("%+v", list)
		}
	})
}

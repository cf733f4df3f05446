package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// underLimit plans days under a limit and begins them all.
func (w *world) underLimit(days, most int) (limit ingest.RequestLimit, runs []*fixture.Attempt) {
	w.Helper()
	limit, err := w.Store.OpenRequestLimit(w.Ctx, strings.Repeat("a", 64), most)
	w.Must(err)
	h := fixture.Harvest{Days: days}
	plan := w.Plan(h)
	w.Must(w.Store.LimitPlan(w.Ctx, plan.ID, limit.ID))
	for _, work := range w.Claim(h, days) {
		runs = append(runs, w.Start(work))
	}
	return limit, runs
}

func (w *world) take(a *fixture.Attempt, used int, more bool) ingest.RequestGrant {
	w.Helper()
	g, err := w.Store.TakeRequests(w.Ctx, ingest.RequestTake{PlanID: a.Work.Lineage.PlanID, RunID: a.Run.ID, LimitID: a.Work.LimitID, Used: used, More: more})
	w.Must(err)
	return g
}

// holdsAll checks that everybody who looks is told that a plan waits for more requests.
func (w *world) holdsAll(plan ingest.Plan, limit int64) {
	w.Helper()
	held, err := w.Store.HeldPlans(w.Ctx, plan.Partition.Source)
	if w.Must(err); len(held) != 1 || held[0].ID != plan.ID || held[0].Partition != plan.Partition || held[0].Limit.ID != limit || !held[0].Limit.UsedUp() || held[0].Tasks != 3 || held[0].Window.Empty() {
		w.Errorf("held: %+v", held)
	}
	if others, err := w.Store.HeldPlans(w.Ctx, "other"); err != nil || len(others) != 0 {
		w.Errorf("held of another source: %+v %v", others, err)
	}
	tasks, err := w.Store.Tasks(w.Ctx, view.Filter{PlanID: plan.ID, Limit: 9})
	if w.Must(err); len(tasks) != 3 {
		w.Fatalf("%d tasks", len(tasks))
	}
	for _, t := range tasks {
		if t.Waits == nil || t.Waits.Reason != gate.Limit || t.Waits.Held == nil || t.Waits.Held.ID != plan.ID {
			w.Errorf("task %d waits for %+v", t.ID, t.Waits)
		}
	}
}

func (s suite) requestLimits(t *testing.T) {
	s.test(t, "runs together never take more than the limit, whoever dies or asks twice", func(w *world) {
		const most = 70
		r := rand.New(rand.NewPCG(3, 5))
		limit, runs := w.underLimit(4, most)
		used := make([]int, len(runs))
		total := make([]int, len(runs))
		sent := 0
		for range 400 {
			i := r.IntN(len(runs))
			if r.IntN(5) == 0 { // the answer was lost, and it asks again
				w.take(runs[i], used[i], true)
			}
			if r.IntN(9) == 0 {
				total[i] = w.take(runs[i], used[i], false).Total
			}
			if used[i] == total[i] {
				total[i] = w.take(runs[i], used[i], true).Total
			}
			if used[i] < total[i] {
				used[i]++
				sent++
			}
			if sent > most {
				w.Fatalf("%d requests were sent, %d were allowed", sent, most)
			}
		}
		now, err := w.Store.RequestLimit(w.Ctx, limit.ID)
		w.Must(err)
		if !now.UsedUp() || now.Taken > most || sent < most-10*len(runs) {
			w.Errorf("%+v after %d requests", now, sent)
		}
	})
	s.test(t, "tasks of a plan whose requests are used up are not claimed until somebody allows more", func(w *world) {
		h := fixture.Harvest{Days: 3}
		limit, err := w.Store.OpenRequestLimit(w.Ctx, strings.Repeat("b", 64), 1)
		w.Must(err)
		same, err := w.Store.OpenRequestLimit(w.Ctx, strings.Repeat("b", 64), 1)
		if w.Must(err); same != limit {
			w.Errorf("the same trigger has %+v and %+v", limit, same)
		}
		plan := w.Plan(h)
		w.Must(w.Store.LimitPlan(w.Ctx, plan.ID, limit.ID))
		a := w.Begin(h)
		if a.Work.LimitID != limit.ID {
			w.Fatalf("the work is under limit %d", a.Work.LimitID)
		}
		if g := w.take(a, 0, true); g.Total != 1 {
			w.Fatalf("%+v", g)
		}
		if g := w.take(a, 1, true); g.Total != 1 {
			w.Fatalf("%+v", g)
		}
		a.Finish(fixture.Again)
		work, err := w.Store.Claim(w.Ctx, w.Request(h, 3))
		if w.Must(err); len(work) != 0 {
			w.Fatalf("%d tasks of a used up plan were claimed", len(work))
		}
		standing, known, err := w.Store.PlanLimit(w.Ctx, plan.ID)
		if w.Must(err); !known || !standing.UsedUp() || standing.Working != 0 || standing.Waiting != 3 {
			w.Errorf("%+v", standing)
		}
		w.holdsAll(plan, limit.ID)
		w.Must(w.Store.LimitPlan(w.Ctx, plan.ID, 0))
		if held, err := w.Store.HeldPlans(w.Ctx, ""); err != nil || len(held) != 0 {
			w.Errorf("still held: %+v %v", held, err)
		}
		if got := w.Claim(h, 3); got[0].LimitID != 0 {
			w.Errorf("still under limit %d", got[0].LimitID)
		}
	})
	s.test(t, "planning takes one by one", func(w *world) {
		limit, err := w.Store.OpenRequestLimit(w.Ctx, strings.Repeat("c", 64), 2)
		w.Must(err)
		for i, want := range []bool{true, true, false} {
			granted, err := w.Store.SpendRequest(w.Ctx, limit.ID, fmt.Sprint("request ", i))
			if w.Must(err); granted != want {
				w.Errorf("request %d granted: %v", i+1, granted)
			}
		}
	})
}

func lossyRequestLimits() []lossy {
	key := strings.Repeat("a", 64)
	return []lossy{
		{"open request limit", "open a limit", func(w *world) func() (answer, error) {
			return func() (answer, error) { return w.Store.OpenRequestLimit(w.Ctx, key, 7) }
		}},
		{"limit plan", "put a plan under a limit", func(w *world) func() (answer, error) {
			limit, err := w.Store.OpenRequestLimit(w.Ctx, key, 7)
			w.Must(err)
			plan := w.Plan(fixture.Harvest{Days: 2})
			return func() (answer, error) { return nil, w.Store.LimitPlan(w.Ctx, plan.ID, limit.ID) }
		}},
		{"take requests", "take a lot", func(w *world) func() (answer, error) {
			_, runs := w.underLimit(2, 50)
			a := runs[0]
			return func() (answer, error) {
				return w.Store.TakeRequests(w.Ctx, ingest.RequestTake{PlanID: a.Work.Lineage.PlanID, RunID: a.Run.ID, LimitID: a.Work.LimitID, More: true})
			}
		}},
		{"spend a request", "spend a request", func(w *world) func() (answer, error) {
			limit, err := w.Store.OpenRequestLimit(w.Ctx, key, 7)
			w.Must(err)
			return func() (answer, error) { return w.Store.SpendRequest(w.Ctx, limit.ID, "one") }
		}},
	}
}

package daemon

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func (s *station) compile(settings ...string) *spec.Compiled {
	s.Helper()
	var set []registry.Override
	for _, text := range append(settings, "window.earliest=1990-01-01") { // a bubble begins in the year 2000
		one, err := registry.ParseOverride(text)
		if err != nil {
			s.Fatal(err)
		}
		set = append(set, one)
	}
	c, err := s.app.Compile(s.Context(), "crossref", "", ingest.Harvest, set)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// queue stores a plan of the days before now.
func (s *station) queue(days int, settings ...string) ingest.Plan {
	s.Helper()
	now, err := s.app.store.Now(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	to := now.Add(-time.Hour).Truncate(24 * time.Hour)
	from := to.AddDate(0, 0, -days)
	plan, draft, err := s.app.Planner.Plan(s.Context(), s.compile(settings...), NewRequest(now, &from, &to))
	if err != nil || draft.Empty {
		s.Fatal(draft, err)
	}
	return plan
}

// work takes the next task, and ends it as told; it may say something before.
func (s *station) work(outcome ingest.Outcome, before func(ingest.Work)) {
	s.Helper()
	ctx := s.Context()
	queues, err := s.app.store.Queues(ctx)
	if err != nil || len(queues) != 1 {
		s.Fatalf("%d queues, %v", len(queues), err)
	}
	list, err := s.app.store.Claim(ctx, ingest.ClaimRequest{
		PartitionID: queues[0].PartitionID, Owner: "test", Token: fmt.Sprint("claim-", time.Now().UnixNano()), Lease: time.Minute, Max: 1,
	})
	if err != nil || len(list) != 1 {
		s.Fatalf("%d tasks, %v", len(list), err)
	}
	w := list[0]
	run, err := s.app.store.StartRun(ctx, w, time.Minute)
	if err != nil {
		s.Fatal(err)
	}
	w.Lineage.RunID = run.ID
	if before != nil {
		before(w)
	}
	if err := s.app.store.FinishRun(ctx, ingest.Finish{Lease: w.Lease, Lineage: w.Lineage, Outcome: outcome}); err != nil {
		s.Fatal(err)
	}
}

func (s *station) planIs(id int64, status ingest.PlanStatus, slices int) {
	s.Helper()
	p, err := s.app.store.Plan(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	bySector, err := s.app.store.PlannedWindows(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	planned := bySector[""]
	if p.Status != string(status) || len(planned) != slices {
		s.Errorf("plan %d is %s with %d slices, want %s with %d\n%s", id, p.Status, len(planned), status, slices, s.log.String())
	}
	if status != ingest.PlanReady {
		return
	}
	if rest := window.Subtract(*p.Window, planned); len(rest) > 0 {
		s.Errorf("nobody reads %v", rest)
	}
}

// D§5.4: a plan that stopped because enough tasks waited goes on, chunk by chunk,
// as they are worked off. Nothing but a planner that serves is needed.
func TestServeGoesOnWithPartialPlans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.app.Planner.MaxStock = 1000
		plan := s.queue(100, "slicing.step=PT1H", "filter.precision=SECOND") // 2400 hours
		s.planIs(plan.ID, ingest.PlanPartial, 1000)
		s.serve()
		s.pass(time.Minute)
		s.planIs(plan.ID, ingest.PlanPartial, 1000) // nothing was worked off
		done := ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
		s.work(done, nil)
		s.pass(time.Minute)
		s.planIs(plan.ID, ingest.PlanPartial, 2000)
		for range 1000 {
			s.work(done, nil)
		}
		s.pass(time.Minute)
		s.planIs(plan.ID, ingest.PlanReady, 2400)
		s.close()
	})
}

// S§5.6, I1: what an executor could not get through is replaced by smaller
// slices, under the same plan.
func TestServeCutsAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		plan := s.queue(14, "slicing.step=P7D")
		s.planIs(plan.ID, ingest.PlanReady, 2)
		s.serve()
		var parent ingest.Work
		s.work(ingest.Outcome{Task: ingest.TaskPartial, Run: ingest.RunPartial}, func(w ingest.Work) {
			parent = w
			if err := s.app.store.RequestReslice(t.Context(), ingest.ResliceRequest{Lease: w.Lease, Extend: time.Minute, Reason: "PAGES", Remaining: w.Window}); err != nil {
				t.Fatal(err)
			}
		})
		s.pass(time.Minute)
		s.planIs(plan.ID, ingest.PlanReady, 3)
		slices, err := s.app.store.Slices(t.Context(), view.Filter{PlanID: plan.ID, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		children := 0
		for _, one := range slices {
			if one.ParentID == parent.Lineage.SliceID {
				children++
			}
		}
		if len(slices) != 4 || children != 2 {
			t.Errorf("%d children in %+v", children, slices)
		}
		if pending, err := s.app.store.PendingReslices(t.Context(), 10); err != nil || len(pending) != 0 {
			t.Errorf("%d requests are left, %v", len(pending), err)
		}
		for range 3 {
			s.work(ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}, nil)
		}
		if p, err := s.app.store.Plan(t.Context(), plan.ID); err != nil || p.Status != string(ingest.PlanCompleted) {
			t.Errorf("%+v, %v", p.Status, err)
		}
		s.close()
	})
}

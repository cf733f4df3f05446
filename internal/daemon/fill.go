package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Fill plans exactly these ranges for HARVEST and nothing beside them; rehearsed,
// it only draws the plan. A plan is worked on by whoever serves.
func (a *App) Fill(ctx context.Context, c *spec.Compiled, only []window.Window, now time.Time, by ingest.Act) (planID int64, d *PlanDraft, err error) {
	return a.fill(ctx, c, fillRequest(only, now, by))
}

// fillRequest asks for exactly these ranges.
func fillRequest(only []window.Window, now time.Time, by ingest.Act) PlanRequest {
	r := NewRequest(now, &only[0].From, &only[len(only)-1].To)
	r.Only, r.By = only, by
	return r
}

func (a *App) fill(ctx context.Context, c *spec.Compiled, r PlanRequest) (planID int64, d *PlanDraft, err error) {
	if r.By.Rehearsal {
		d, err = a.Planner.Draft(ctx, c, r)
		return 0, d, err
	}
	if err := a.MayRun(ctx, c.Snapshot); err != nil {
		return 0, nil, err
	}
	plan, d, err := a.Planner.Plan(ctx, c, r)
	return plan.ID, d, err
}

// CountUpstream asks the upstream how many items a window holds, through the gate.
// What it does not tell exactly is unknown. It only looks, so it ends no stop.
func (a *App) CountUpstream(ctx context.Context, c *spec.Compiled, w window.Window) (items int64, known bool, err error) {
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
	if err := cmp.Or(a.notPaused(ctx, of), a.Trusted(ctx, c.Snapshot)); err != nil {
		return 0, false, err
	}
	found, err := a.Planner.Estimator.Estimate(ctx, c, []window.Window{w}, false)
	if err != nil {
		return 0, false, err
	}
	e, ok := found[w]
	return e.Count, ok && e.Exact, nil
}

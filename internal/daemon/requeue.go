package daemon

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// QueueRejects is asked for by HTTP. It puts rejected items of one endpoint back and stores the plan that reads
// them again under the source file of today; whoever serves works on it. Rehearsed, it
// only counts. Where an earlier update of the endpoint is open, nothing is put back: it
// reads under the settings of its time and must not take these items (I10).
func (a *App) QueueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (out view.Requeued, err error) {
	if pick.Dataset.Source == "" || pick.Dataset.Endpoint == "" {
		return out, fmt.Errorf("%w: name the source and the endpoint whose items are put back", fault.ErrInvalid)
	}
	of := ingest.Partition{Dataset: pick.Dataset, Operation: ingest.Update}
	open, err := a.store.OpenPlans(ctx, of)
	if err != nil {
		return out, err
	}
	if len(open) > 0 {
		return out, fmt.Errorf("%w: plan %d reads items of %s/%s again and has not ended: wait for it, or cancel it", fault.ErrConflict, open[0].ID, of.Source, of.Endpoint)
	}
	compiled, err := a.Compile(ctx, of.Source, of.Endpoint, ingest.Update, nil)
	if err != nil {
		return out, err
	}
	if err := a.MayRun(ctx, compiled.Snapshot); err != nil {
		return out, err
	}
	if out.RejectsDone, err = a.Quarantine.Requeue(ctx, pick, by); err != nil || by.Rehearsal || out.Changed == 0 {
		return out, err
	}
	now, err := a.Now(ctx)
	if err != nil {
		return out, err
	}
	r := askedByAPI(NewRequest(now, nil, nil))
	r.By, r.Refresh = by, planner.Refresh{Spec: refresh.Spec{Policy: refresh.ByQuarantine}}
	plan, _, err := a.Planner.Plan(ctx, compiled, r)
	if out.PlanID = plan.ID; err != nil {
		return out, fmt.Errorf("%d items were put back, and the plan that reads them was not stored; `patra quarantine requeue %s --all` reads them: %w", out.Changed, of.Source, err)
	}
	return out, nil
}

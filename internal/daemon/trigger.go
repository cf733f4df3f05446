package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// Trigger queues the plan that somebody asks for, for whoever serves to work on; a
// rehearsal only draws it. The same request again is answered with the plan it has (I8),
// and one that is refused is kept with its reason (§5.3.2).
func (a *App) Trigger(ctx context.Context, w view.TriggerWish) (done view.TriggerDone, err error) {
	ctx, triggered := a.BeginTrigger(ctx)
	defer func() { triggered(err) }()
	of, err := a.PartitionOf(ctx, w.Source, w.Endpoint, w.Operation)
	if err != nil {
		return done, err
	}
	now, err := a.Now(ctx)
	if err != nil {
		return done, err
	}
	asked := requestOf(w, of, now)
	done = view.TriggerDone{Source: of.Source, Endpoint: of.Endpoint, Operation: of.Operation, RequestID: w.RequestID, DryRun: w.By.Rehearsal}
	if w.RequestID != "" && !w.By.Rehearsal {
		before, known, err := a.FindRequested(ctx, of, asked)
		if err != nil {
			return done, err
		}
		if known {
			done.PlanID, done.Status, done.Repeated = before.PlanID, before.PlanStatus, true
			return done, nil
		}
	}
	if err = a.planWish(ctx, w, asked, &done); err != nil && !w.By.Rehearsal && IsRefusal(err) {
		if e := a.NoteRefused(ctx, of, asked, err); e != nil {
			a.config.Log.Warn("a refused trigger could not be kept", "error", e)
		}
	}
	return done, err
}

// requestOf returns the trigger that a wish makes.
func requestOf(w view.TriggerWish, of ingest.Partition, now time.Time) planner.Request {
	r := NewRequest(now, w.From, w.To)
	r.Typed, r.JobID, r.LogID, r.Offline, r.By = w.Typed, w.JobID, w.LogID, w.Offline, w.By
	r.Forecast = w.By.Rehearsal
	if w.Scheduler != "" {
		r.Scheduler = w.Scheduler
	}
	if w.Retry {
		r.RetryBefore = now
	}
	for _, o := range w.Overrides {
		r.Overrides = append(r.Overrides, o.Kept())
	}
	if w.RequestID != "" {
		r = NameRequest(r, of, w.RequestID)
	}
	return r
}

// planWish draws the plan of a wish and stores it, unless it is a rehearsal.
func (a *App) planWish(ctx context.Context, w view.TriggerWish, asked planner.Request, done *view.TriggerDone) error {
	c, err := a.Compile(ctx, w.Source, w.Endpoint, w.Operation, w.Overrides)
	if err != nil {
		return err
	}
	done.Endpoint = c.Snapshot.Endpoint
	if w.Operation == ingest.Harvest && (w.From != nil || w.To != nil) {
		held, err := HoldAsked(ctx, a, c, w.From, w.To)
		if err != nil {
			return err
		}
		if held.Refused != nil {
			return fmt.Errorf("%w: %w", fault.ErrInvalid, held.Refused)
		}
	}
	if w.By.Rehearsal {
		if err := a.Trusted(ctx, c.Snapshot); err != nil {
			return err
		}
		draft, err := a.Planner.Draft(ctx, c, asked)
		if err == nil {
			showDraft(done, draft)
			done.Forecast, done.Quotas = draft.Forecast, draft.Quotas
		}
		return err
	}
	plan, draft, err := a.StorePlan(ctx, c, asked)
	if err != nil {
		return err
	}
	done.PlanID, done.Status = plan.ID, string(plan.Status)
	showDraft(done, draft)
	return nil
}

// StorePlan stores a plan for an executor to work on, if its source may run here.
func (a *App) StorePlan(ctx context.Context, c *spec.Compiled, r PlanRequest) (ingest.Plan, *PlanDraft, error) {
	if err := a.MayRun(ctx, c.Snapshot); err != nil {
		return ingest.Plan{}, nil, err
	}
	return a.PlanLimited(ctx, c, r)
}

// showDraft tells what a plan is.
func showDraft(done *view.TriggerDone, d *PlanDraft) {
	done.Summary, done.Window, done.Slices = d.Summary(), d.Window, len(d.Slices)
	done.Skipped, done.Waiting, done.Explain, done.Warnings = d.Skipped, d.Waiting, d.Explain, d.Warnings
}

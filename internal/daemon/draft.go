package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/estimate"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// PlanDraft is a plan before it is stored.
type PlanDraft = planner.Draft

// DraftSlice is one slice of it.
type DraftSlice = planner.DraftSlice

// PlanRequest is what a plan is asked for.
type PlanRequest = planner.Request

// Draft draws a plan and writes nothing; without an app, as for an empty database.
func Draft(ctx context.Context, in Installed, a *App, c *spec.Compiled, r PlanRequest) (*PlanDraft, error) {
	d, err := drawDraft(ctx, in, a, c, r)
	if d != nil {
		d.MaxRequests = r.MaxRequests
	}
	if err == nil && a != nil {
		err = a.forecastDisk(ctx, d)
	}
	return d, err
}

func drawDraft(ctx context.Context, in Installed, a *App, c *spec.Compiled, r PlanRequest) (*PlanDraft, error) {
	if a == nil {
		return planner.Rehearse(ctx, c, r, newEstimator(in.Guard().requestChain(rategate.New()), nil))
	}
	return a.Planner.Draft(ctx, c, r)
}

func newEstimator(chain transport.Doer, history estimate.History) *estimate.Estimator {
	return &estimate.Estimator{Chain: chain, History: history, Now: time.Now}
}

// IsMissing reports that a database does not exist yet.
func IsMissing(err error) bool { return errors.Is(err, fault.ErrNotFound) }

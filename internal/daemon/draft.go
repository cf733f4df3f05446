package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// PlanDraft is a plan before it is stored.
type PlanDraft = planner.Draft

// PlanRequest is what a plan is asked for.
type PlanRequest = planner.Request

// Draft draws a plan and writes nothing; without an app, as for an empty database.
func Draft(ctx context.Context, a *App, c *spec.Compiled, r PlanRequest) (*PlanDraft, error) {
	if a == nil {
		return planner.Draw(c, planner.Books{}, r)
	}
	return a.Planner.Draft(ctx, c, r)
}

// IsMissing reports that a database does not exist yet.
func IsMissing(err error) bool { return errors.Is(err, fault.ErrNotFound) }

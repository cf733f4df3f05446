package inspect

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Trees reads what came of plans.
type Trees interface {
	PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error)
}

// PlanLineage tells what came of a plan, from its slices down to batches, in the order of
// slices from after a number on (§14.7). One page of slices is read, whatever the plan
// has.
func (i *Inspector) PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error) {
	return i.from.Trees.PlanLineage(ctx, planID, after, limit)
}

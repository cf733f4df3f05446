package store

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/slicing"
)

// PlanUse is what a plan has used so far, and how many slices it had at first.
func (s *Store) PlanUse(ctx context.Context, planID int64) (use slicing.PlanUse, err error) {
	stats, err := s.planStats(ctx, planID)
	if err != nil {
		return use, wrap("plan use", err)
	}
	use.Requests, use.Records, use.Bytes = int64(stats.Requests), int64(stats.Seen), stats.BytesIn
	err = s.queryRow(ctx, "SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id = ? AND parent_slice_id IS NULL", planID).Scan(&use.Slices)
	return use, wrap("plan use", s.translate(err))
}

package look

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// PlanUse returns what a plan has used so far, and how many slices it had at
// first.
func (s *Look) PlanUse(ctx context.Context, planID int64) (use slicing.PlanUse, err error) {
	stats, err := s.PlanStats(ctx, planID)
	if err != nil {
		return use, kernel.Wrap("plan use", err)
	}
	use.Requests, use.Records, use.Bytes = int64(stats.Requests), int64(stats.Seen), stats.BytesIn
	err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id = ? AND parent_slice_id IS NULL", planID).Scan(&use.Slices)
	return use, kernel.Wrap("plan use", s.db.Translate(err))
}

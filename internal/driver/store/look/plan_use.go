package look

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
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

// harvestStarts are when harvests of an endpoint were planned, by the key of its source.
const harvestStarts = `SELECT p.created_at FROM ing_plan p WHERE p.provenance_code = ? AND p.operation_code = 'HARVEST' AND p.endpoint_name = ? ORDER BY p.created_at DESC LIMIT ?`

// HarvestStarts returns when the last harvests of an endpoint were planned, the newest first.
func (s *Look) HarvestStarts(ctx context.Context, d ingest.Dataset, limit int) (out []time.Time, err error) {
	rows, err := s.db.Query(ctx, harvestStarts, d.Source, d.Endpoint, limit)
	if err != nil {
		return nil, kernel.Wrap("list harvests", s.db.Translate(err))
	}
	return out, kernel.Wrap("list harvests", kernel.Each(rows, func() error {
		var at sql.NullInt64
		err := rows.Scan(&at)
		out = append(out, kernel.Instant(at))
		return err
	}))
}

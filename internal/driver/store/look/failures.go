package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Failures tells why slices of a plan are not covered: each reason with how many tasks
// ended or wait for it, and what one of them met.
func (s *Look) Failures(ctx context.Context, planID int64) (out []view.Failure, err error) {
	rows, err := s.db.Query(ctx, `SELECT status_code, last_error_code, COUNT(*), MIN(id) FROM ing_task
  WHERE plan_id = ? AND status_code IN (?,?,?,?) AND last_error_code IS NOT NULL GROUP BY status_code, last_error_code ORDER BY 3 DESC, 4`,
		planID, string(ingest.TaskFailed), string(ingest.TaskScheduled), string(ingest.TaskQueued), string(ingest.TaskCancelled))
	if err != nil {
		return nil, kernel.Wrap("list failures", s.db.Translate(err))
	}
	if err := kernel.Each(rows, func() error {
		var f view.Failure
		err := rows.Scan(&f.Status, &f.Code, &f.Slices, &f.TaskID)
		out = append(out, f)
		return err
	}); err != nil {
		return nil, kernel.Wrap("list failures", s.db.Translate(err))
	}
	for i := range out {
		var text sql.NullString
		if err := s.db.QueryRow(ctx, "SELECT last_error_msg FROM ing_task WHERE id = ?", out[i].TaskID).Scan(&text); err != nil {
			return nil, kernel.Wrap("list failures", kernel.OrNotFound(s.db.Translate(err)))
		}
		out[i].Error = text.String
	}
	return out, nil
}

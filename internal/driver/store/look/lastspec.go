package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// LastSpec returns the snapshot of the newest plan of a partition; false if there is
// none.
func (s *Look) LastSpec(ctx context.Context, of ingest.Partition) (last view.LastSpec, known bool, err error) {
	var created sql.NullInt64
	var text string
	known, err = kernel.Found(s.db.QueryRow(ctx, `SELECT p.id, p.created_at, d.snapshot FROM ing_plan p JOIN ing_spec_snapshot d ON d.spec_fingerprint = p.spec_fingerprint
  WHERE p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ? ORDER BY p.id DESC LIMIT 1`, of.Source, of.Endpoint, string(of.Operation)).
		Scan(&last.PlanID, &created, &text))
	last.CreatedAt, last.Snapshot = kernel.Instant(created), []byte(text)
	return last, known, kernel.Wrap("read the last settings", s.db.Translate(err))
}

package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// BytesPerItem returns what an item of a dataset took on the wire in slices that
// were read to their end, a thousand of them at most; zero if there are none.
func (s *Ledger) BytesPerItem(ctx context.Context, d ingest.Dataset) (int64, error) {
	var bytes, items int64
	err := s.db.QueryRow(ctx, `SELECT COALESCE(SUM(bytes), 0), COALESCE(SUM(actual), 0) FROM (
  SELECT h.bytes, h.actual FROM ing_window_history h JOIN ing_dataset d ON d.id = h.dataset_id
  WHERE d.provenance_code = ? AND d.endpoint_name = ? AND h.actual > 0
  ORDER BY h.dataset_id DESC, h.expr_id DESC, h.span_log2 DESC, h.window_from DESC, h.window_to DESC LIMIT 1000) newest`, d.Source, d.Endpoint).Scan(&bytes, &items)
	if err != nil || items == 0 {
		return 0, kernel.Wrap("read bytes per item", s.db.Translate(err))
	}
	return (bytes + items - 1) / items, nil
}

// LastDue returns when the last scheduled task of a partition becomes due; zero
// if none is scheduled.
func (s *Ledger) LastDue(ctx context.Context, p ingest.Partition) (time.Time, error) {
	var at sql.NullInt64
	err := s.db.QueryRow(ctx, `SELECT MAX(t.scheduled_at) FROM ing_task t JOIN ing_partition p ON p.id = t.partition_id
  WHERE t.status_code = 'SCHEDULED' AND p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ?`, p.Source, p.Endpoint, string(p.Operation)).Scan(&at)
	return kernel.Instant(at), kernel.Wrap("last due task", s.db.Translate(err))
}

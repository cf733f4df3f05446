package ledger

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// stockSQL counts the tasks of a partition in one state, up to a limit. The
// claim index holds all it needs.
const stockSQL = "SELECT COUNT(*) FROM (SELECT 1 FROM ing_task WHERE status_code = ? AND partition_id = ? LIMIT ?) counted"

// givenUpSQL counts the tasks of a partition that ended in one state and were planned after an
// instant, up to a limit.
const givenUpSQL = `SELECT COUNT(*) FROM (SELECT 1 FROM ing_task t WHERE t.partition_id = (SELECT id FROM ing_partition WHERE ` + ofPartition + `)
  AND t.status_code = ? AND t.created_at > ? LIMIT ?) counted`

// everyTask is a limit no partition reaches.
const everyTask = 1 << 40

// Stock returns how many tasks of a partition wait to be worked on: those due
// and those of the future (D§5.3). Its cost grows with the answer; StockAtLeast
// is for thresholds.
func (s *Ledger) Stock(ctx context.Context, p ingest.Partition) (int, error) {
	n, err := s.countStock(ctx, p, everyTask)
	return n, kernel.Wrap("count stock", err)
}

// StockAtLeast reports whether at least n tasks of a partition wait. It counts
// no further, so its cost does not depend on how many there are.
func (s *Ledger) StockAtLeast(ctx context.Context, p ingest.Partition, n int) (bool, error) {
	if n <= 0 {
		return true, nil
	}
	counted, err := s.countStock(ctx, p, n)
	return counted >= n, kernel.Wrap("count stock", err)
}

// GivenUpAtLeast reports whether at least n tasks of a partition that were planned after an
// instant are given up. One that was put back into the queue no longer is.
func (s *Ledger) GivenUpAtLeast(ctx context.Context, p ingest.Partition, planned time.Time, n int) (bool, error) {
	var counted int
	err := s.db.QueryRow(ctx, givenUpSQL, append(keyOf(p), string(ingest.TaskFailed), kernel.Micros(planned), n)...).Scan(&counted)
	return counted >= n, kernel.Wrap("count tasks given up", s.db.Translate(err))
}

func (s *Ledger) countStock(ctx context.Context, p ingest.Partition, most int) (total int, err error) {
	var partition int64
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id FROM ing_partition WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?",
		p.Source, p.Endpoint, string(p.Operation)).Scan(&partition))
	if err != nil || !known {
		return 0, s.db.Translate(err)
	}
	// A task that is promoted between the two counts must not be missed by both:
	// it moves from SCHEDULED to QUEUED, so that is the order.
	for _, status := range []ingest.TaskStatus{ingest.TaskScheduled, ingest.TaskQueued} {
		var n int
		if err := s.db.QueryRow(ctx, stockSQL, string(status), partition, most-total).Scan(&n); err != nil {
			return 0, s.db.Translate(err)
		}
		if total += n; total >= most {
			break
		}
	}
	return total, nil
}

package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// settleEvery is how often it is looked whether transactions have ended.
const settleEvery = 5 * time.Millisecond

// ExportMark finds a batch up to which everything has come: no version of a smaller
// or equal batch id can appear later. That is not the largest one to be seen: on a
// server a transaction that took its id earlier may commit later, and an export
// that went on behind the largest would never have its records.
//
// Whoever writes versions first locks the row of its task, which was leased before,
// then takes the id of its batch, and lets go of both when it ends (see CommitBatch).
// So who took an id below one that was seen held its task's row before it was seen.
// When every task that was leased then has been found free once, all of them have
// ended, one way or the other, and what was seen is the mark. No clock has a part
// in this.
//
// patience is how long to wait for transactions that are open; after it the answer
// is fault.ErrBusy.
func (s *Outbox) ExportMark(ctx context.Context, source, endpoint string, patience time.Duration) (m export.Mark, err error) {
	if m.DatasetID, err = s.ExportDataset(ctx, source, endpoint); err != nil {
		return m, err
	}
	if m.At, err = s.db.Now(ctx); err != nil {
		return m, kernel.Wrap("find export mark", s.db.Translate(err))
	}
	var seen sql.NullInt64
	if err := s.db.QueryRow(ctx, "SELECT MAX(body_id) FROM ing_record_body").Scan(&seen); err != nil {
		return m, kernel.Wrap("find export mark", s.db.Translate(err))
	}
	if !seen.Valid {
		return m, nil
	}
	m.Batch = seen.Int64 >> bodies.Bits
	if !s.db.Dialect.OneWriter { // one writer commits in the order of ids
		if err := s.awaitWriters(ctx, patience); err != nil {
			return m, kernel.Wrap("find export mark", s.db.Translate(err))
		}
	}
	err = s.db.QueryRow(ctx, "SELECT body_id, fetch_at FROM ing_record_body WHERE body_id <= ? ORDER BY body_id DESC LIMIT 1", bodies.ID(m.Batch+1, 0)-1).Scan(&m.Body, &m.FetchedAt)
	if err == nil {
		m.SettledAt, err = s.db.Now(ctx)
	}
	return m, kernel.Wrap("find export mark", s.db.Translate(err))
}

// awaitWriters waits until every transaction that wrote for a leased task when it was
// called has ended.
func (s *Outbox) awaitWriters(ctx context.Context, patience time.Duration) error {
	open, err := s.db.IDs(ctx, "SELECT id FROM ing_task WHERE status_code IN ('DISPATCHED','EXECUTING') ORDER BY id")
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for {
		if open, err = s.stillOpen(ctx, open); err != nil || len(open) == 0 {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w: a transaction of task %d has been open for %s, so it is not known what it will add: try again, and look at `patra task show %d`",
				fault.ErrBusy, open[0], patience, open[0])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleEvery):
		}
	}
}

// stillOpen keeps the tasks whose rows another transaction holds. One statement locks
// the others and lets them go at once.
func (s *Outbox) stillOpen(ctx context.Context, tasks []int64) (open []int64, err error) {
	for chunk := range slices.Chunk(tasks, kernel.IDsPerStatement) {
		list := make([]any, len(chunk))
		for i, id := range chunk {
			list[i] = id
		}
		marks := "(" + strings.TrimSuffix(strings.Repeat("?,", len(list)), ",") + ")"
		free, err := s.db.IDs(ctx, "SELECT id FROM ing_task WHERE id IN "+marks+s.db.Dialect.SkipLocked, list...)
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if !slices.Contains(free, id) {
				open = append(open, id)
			}
		}
	}
	return open, nil
}

// CheckCursor refuses a cursor that does not fit the database: one of another
// database, or of the time before a copy was restored.
func (s *Outbox) CheckCursor(ctx context.Context, c export.Cursor, m export.Mark) error {
	const foreign = "the cursor is %s: it is of another database, or of one that a copy was restored over. Export everything again, without --since"
	if c.Batch > m.Batch {
		return export.Conflict(foreign, "ahead of this database")
	}
	if c.Body == 0 {
		return nil
	}
	var fetched int64
	there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT fetch_at FROM ing_record_body WHERE body_id = ?", c.Body).Scan(&fetched))
	if err != nil {
		return kernel.Wrap("check cursor", s.db.Translate(err))
	}
	if there && fetched != c.FetchedAt {
		return export.Conflict(foreign, "not of this history")
	}
	if there {
		return nil
	}
	var pruned int64 // a version may have been removed, if any ever was
	if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_upkeep_mark WHERE name LIKE 'versions/%'").Scan(&pruned); err != nil {
		return kernel.Wrap("check cursor", s.db.Translate(err))
	}
	if pruned == 0 {
		return export.Conflict(foreign, "about a version that this database never had")
	}
	var stored int64
	there, err = kernel.Found(s.db.QueryRow(ctx, "SELECT created_at FROM ing_task_run_batch WHERE id <= ? ORDER BY id DESC LIMIT 1", c.Batch).Scan(&stored))
	if err != nil {
		return kernel.Wrap("check cursor", s.db.Translate(err))
	}
	if there && c.At != 0 && stored > c.At {
		return export.Conflict(foreign, "older than batches that it says it has seen")
	}
	return nil
}

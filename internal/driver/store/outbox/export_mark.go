package outbox

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ExportMark finds a batch up to which everything has come: no version of a smaller
// or equal batch id can appear later. That is not the largest one to be seen: on a
// server a transaction that took its id earlier may commit later, and an export
// that went on behind the largest would never have its records.
//
// A writer locks the row of its leased task first, then takes a batch id, and releases
// both when its transaction ends (see CommitBatch). So a writer with an id below the largest
// one seen here was already holding the lock of its task. Once each task that was leased at
// that moment has been found unlocked, all those writers have ended, and the id seen is the
// mark. This does not depend on any clock.
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
	_, seen, err := bodies.Bounds(s.db.Ask(ctx))
	if err != nil || seen == 0 {
		return m, kernel.Wrap("find export mark", s.db.Translate(err))
	}
	m.Batch = seen >> bodies.Bits
	if err := s.look.AwaitWriters(ctx, patience); err != nil {
		return m, kernel.Wrap("find export mark", s.db.Translate(err))
	}
	newest, _, err := bodies.LastUpto(s.db.Ask(ctx), bodies.ID(m.Batch+1, 0)-1)
	if m.Body, m.FetchedAt = newest.ID, newest.Fetched; err == nil {
		m.SettledAt, err = s.db.Now(ctx)
	}
	return m, kernel.Wrap("find export mark", s.db.Translate(err))
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
	b, there, err := bodies.Find(s.db.Ask(ctx), c.Body, bodies.KeyPart)
	if err != nil {
		return kernel.Wrap("check cursor", s.db.Translate(err))
	}
	if there && b.Fetched != c.FetchedAt {
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

package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/operate"
)

// Cursors tells how watermarks stand, beside what operators do to them.
type Cursors struct {
	*operate.Cursors
	db *store.Store
}

// List lists watermarks, of one source if named.
func (c *Cursors) List(ctx context.Context, source string) ([]view.Cursor, error) {
	return c.db.Cursors(ctx, source)
}

// Show reads one watermark.
func (c *Cursors) Show(ctx context.Context, id int64) (view.Cursor, error) {
	return c.db.Cursor(ctx, id)
}

// ListFiles lists files of a source whose records lie in files, owed ones first.
func (c *Cursors) ListFiles(ctx context.Context, id int64, limit int) ([]view.RecordFile, error) {
	return c.db.Files(ctx, id, limit)
}

// ListReadings lists the readings of a list that is read whole, the newest first, from before an
// id on; zero is from the newest on.
func (c *Cursors) ListReadings(ctx context.Context, id, before int64, limit int) ([]view.WholeReading, error) {
	return c.db.Readings(ctx, id, before, limit)
}

// ListEvents reads a watermark's ledger, oldest first, from after an id on.
func (c *Cursors) ListEvents(ctx context.Context, id, after int64, limit int) ([]view.CursorEvent, error) {
	return c.db.CursorEvents(ctx, id, after, limit)
}

// ListTimeline reads the part of a watermark's ledger that was written between two instants.
func (c *Cursors) ListTimeline(ctx context.Context, of view.Cursor, from, to time.Time, after int64, limit int) ([]view.CursorEvent, error) {
	return c.db.CursorTimeline(ctx, of, from, to, after, limit)
}

// ListNewestEvents does so from the newest on, before an event; zero is before none.
func (c *Cursors) ListNewestEvents(ctx context.Context, of view.Cursor, from, to time.Time, before int64, limit int) ([]view.CursorEvent, error) {
	return c.db.NewestCursorEvents(ctx, of, from, to, before, limit)
}

// ListSegments lists what one watermark has covered.
func (c *Cursors) ListSegments(ctx context.Context, id int64) ([]coverage.Segment, error) {
	return c.db.Segments(ctx, id)
}

// FindCoverage finds the coverage that a planner starts from; an unknown namespace has none.
func (c *Cursors) FindCoverage(ctx context.Context, n ingest.Namespace) (state coverage.State, known bool, err error) {
	return c.db.CoverageState(ctx, n)
}

// VerifyBetween holds the events of a watermark between two instants against its ledger.
func (c *Cursors) VerifyBetween(ctx context.Context, id int64, within window.Window) (view.Verdict, error) {
	return c.db.VerifyBetween(ctx, id, within)
}

// NoteCounts keeps how counts of an upstream compared with what was read.
func (c *Cursors) NoteCounts(ctx context.Context, checks []view.CountCheck) error {
	if len(checks) == 0 {
		return nil
	}
	return c.db.NoteCounts(ctx, checks)
}

// Verify holds a watermark and its coverage against its ledger (C§4).
func (c *Cursors) Verify(ctx context.Context, id int64) (view.Verdict, error) {
	return c.db.Verify(ctx, id)
}

package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Records lists and counts what was stored, and what was named to be read again. It
// only reads.
type Records struct{ db *store.Store }

// List lists some records without their content, in key order, behind an id.
func (r *Records) List(ctx context.Context, d view.Dataset, after string, limit int) ([]view.Record, error) {
	return r.db.Listed(ctx, d, after, limit)
}

// ListChanges lists versions in the order in which they were stored. next is where to go on;
// 0: there is nothing more. A page may be short, or empty, and have a next one.
func (r *Records) ListChanges(ctx context.Context, d view.Dataset, q view.Changes) (rows []view.Change, next int64, err error) {
	return r.db.Changes(ctx, d, q)
}

// Count counts the records of an endpoint by state.
func (r *Records) Count(ctx context.Context, d view.Dataset) (active, gone int64, err error) {
	return r.db.CountRecords(ctx, d)
}

// CountTotals counts what a source has brought in all.
func (r *Records) CountTotals(ctx context.Context, source string) (view.Counts, error) {
	return r.db.Counts(ctx, source)
}

// CountMissing counts the records that are missing, by endpoint; no source: of all.
func (r *Records) CountMissing(ctx context.Context, source string) ([]view.MissingRecords, error) {
	return r.db.Missing(ctx, source)
}

// ListSignals lists signals, newest first; f.Status is one of theirs.
func (r *Records) ListSignals(ctx context.Context, f view.Filter) ([]view.Signal, error) {
	return r.db.Signals(ctx, f)
}

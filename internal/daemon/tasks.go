package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Tasks tells what is worked on and what was done: tasks, their runs and the pages of
// these. It only reads.
type Tasks struct{ db *store.Store }

// List lists tasks, newest first.
func (t *Tasks) List(ctx context.Context, f view.Filter) ([]view.Task, error) {
	return t.db.Tasks(ctx, f)
}

// ListRuns lists attempts, newest first.
func (t *Tasks) ListRuns(ctx context.Context, f view.Filter) ([]view.Run, error) {
	return t.db.Runs(ctx, f)
}

// ListBatches lists pages, newest first.
func (t *Tasks) ListBatches(ctx context.Context, f view.Filter) ([]view.Batch, error) {
	batches, err := t.db.Batches(ctx, f)
	view.SteadyAnswers(batches)
	return batches, err
}

// ListExchanges lists pages with what was asked and what came back, newest first.
// Evidence is wide, so lists that do not show it use ListBatches.
func (t *Tasks) ListExchanges(ctx context.Context, f view.Filter) ([]view.Batch, error) {
	batches, err := t.db.Exchanges(ctx, f)
	view.SteadyAnswers(batches)
	return batches, err
}

// ShowBatch reads one page with its evidence.
func (t *Tasks) ShowBatch(ctx context.Context, id int64) (view.Batch, error) {
	return t.db.Batch(ctx, id)
}

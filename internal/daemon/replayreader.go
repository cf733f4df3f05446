package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// replayReader is what a replay reads: the database, and the archives for batches that
// left it with their plan.
type replayReader struct {
	*store.Store
	app *App

	mu    sync.Mutex
	known retention.BatchContext // the last one that was looked up
}

// Batch reads a batch, archived or not.
func (l *replayReader) Batch(ctx context.Context, id int64) (view.Batch, error) {
	b, err := l.Store.Batch(ctx, id)
	if IsMissing(err) {
		var in retention.BatchContext
		if in, err = l.archivedContext(ctx, id); err == nil {
			return in.Batch, nil
		}
	}
	return b, err
}

// Box opens the black box of a batch, archived or not.
func (l *replayReader) Box(ctx context.Context, id int64) (*blackbox.Box, error) {
	b, err := l.Store.Box(ctx, id)
	if IsMissing(err) {
		var in retention.BatchContext
		if in, err = l.archivedContext(ctx, id); err == nil {
			return l.ArchivedBox(ctx, in)
		}
	}
	return b, err
}

// BatchOf finds a batch by its run and its number, archived or not.
func (l *replayReader) BatchOf(ctx context.Context, run int64, no int) (int64, error) {
	id, err := l.Store.BatchOf(ctx, run, no)
	if IsMissing(err) {
		service, e := l.app.Maintenance()
		if e != nil {
			return 0, e
		}
		return service.BatchOf(ctx, run, no)
	}
	return id, err
}

func (l *replayReader) archivedContext(ctx context.Context, id int64) (out retention.BatchContext, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.Batch.ID == id {
		return l.known, nil
	}
	service, err := l.app.Maintenance()
	if err != nil {
		return out, err
	}
	if out, err = service.Context(ctx, id); err == nil {
		l.known = out
	}
	return out, err
}

// archivedRun says which of some runs left the database; nil if none did.
func (a *App) archivedRun(ctx context.Context, runs ...int64) error {
	service, err := a.Maintenance()
	if err != nil {
		return nil // nobody archives here
	}
	for _, run := range runs {
		if found, _ := service.Find(ctx, retention.Link{Level: retention.AtRun, ID: run}); len(found) > 0 {
			return fmt.Errorf("run %d: %w: it is archived, in %s, and only runs in the database are compared; `patra db archive show run/%d` has its batches, and `patra batch replay` does each again",
				run, fault.ErrNotFound, found[0].Archive.Name, run)
		}
	}
	return nil
}

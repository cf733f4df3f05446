package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
)

// NotPaused refuses to plan or work on what is paused. What the program stopped
// automatically is tried again once its cause was changed: the secret or the
// source file.
func (a *App) NotPaused(ctx context.Context, s spec.Snapshot) error {
	if err := a.noteSecrets(ctx, s); err != nil {
		return err
	}
	of := ingest.Partition{Dataset: s.Dataset(), Operation: s.Operation}
	for {
		pause, paused, err := a.store.Paused(ctx, of)
		if err != nil || !paused {
			return err
		}
		lifted, err := a.liftStop(ctx, pause, of)
		if err == nil && !lifted {
			err = ingest.PausedError{Pause: pause}
		}
		if err != nil {
			return err
		}
	}
}

func (a *App) notPaused(ctx context.Context, of ingest.Partition) error {
	pause, paused, err := a.store.Paused(ctx, of)
	if err == nil && paused {
		err = ingest.PausedError{Pause: pause}
	}
	return err
}

// orPaused ends the wait for something that a pause has stopped: without it a
// harvest would wait in silence until somebody resumes the source.
func (a *App) orPaused(of ingest.Partition, done func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		if ended, err := done(ctx); ended || err != nil {
			return ended, err
		}
		return false, a.notPaused(ctx, of)
	}
}

// partitionOf returns what a stored plan works on.
func (a *App) partitionOf(ctx context.Context, planID int64) (ingest.Partition, error) {
	plans, err := a.store.Plans(ctx, view.Filter{PlanID: planID, Limit: 1})
	if err != nil {
		return ingest.Partition{}, err
	}
	if len(plans) == 0 {
		return ingest.Partition{}, fault.ErrNotFound
	}
	p := plans[0]
	return ingest.Partition{Dataset: ingest.Dataset{Source: p.Source, Endpoint: p.Endpoint}, Operation: ingest.Operation(p.Operation)}, nil
}

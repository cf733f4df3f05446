package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Migrate brings the schema up to date; a rehearsal only tells what would be done.
// The app must have been opened with SkipSchema.
func (a *App) Migrate(ctx context.Context, dry bool) (done view.Migrated, err error) {
	status, err := a.store.Schema(ctx)
	if err != nil {
		return done, err
	}
	steps := status.Pending
	if !dry {
		if steps, err = a.store.Migrate(ctx); err != nil {
			return done, err
		}
		a.created = status.Empty && a.single
	}
	return view.Migrated{Latest: status.Latest, Empty: status.Empty, Steps: listMigrations(steps)}, nil
}

// listMigrations tells the steps of the schema's history without their statements.
func listMigrations(steps []store.Migration) (out []view.Migration) {
	for _, m := range steps {
		out = append(out, view.Migration{Version: m.Version, Name: m.Name})
	}
	return out
}

package admin

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// openUpkeep opens a database that is there for a command that makes it smaller, or
// would: a rehearsal only looks.
func openUpkeep(ctx context.Context, e *term.Env, dry bool, do func(*daemon.App, *daemon.Upkeep) error) error {
	app, err := e.OpenToRead(ctx)
	if daemon.IsMissing(err) {
		return fmt.Errorf("%w: `patra harvest SRC` creates it, --db names another one", err)
	}
	if err == nil && !dry {
		if err = app.Close(); err == nil {
			app, err = e.Open(ctx, nil)
		}
	}
	if err != nil {
		return err
	}
	defer app.Close()
	service, err := app.Maintenance()
	if err != nil {
		return err
	}
	return do(app, service)
}

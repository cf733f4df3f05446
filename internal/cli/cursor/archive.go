package cursor

import (
	"context"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// verifyArchived adds to a verdict what the files say of the events that left the
// database.
func verifyArchived(ctx context.Context, e *term.Env, app *daemon.App, v *view.Verdict) error {
	if e.ArchiveDir == "" {
		return nil
	}
	service, err := app.Maintenance()
	if err != nil {
		return err
	}
	events, problems, err := service.VerifyArchivedEvents(ctx, v.Cursor)
	v.Events += events
	v.Problems = append(v.Problems, problems...)
	return err
}

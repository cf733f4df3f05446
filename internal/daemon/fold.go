package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/engine/maintenance"
)

// worthFolding is how many versions must wait in rows before a process that works moves
// them into frames in the background. `patra db compact` moves whatever there is.
const worthFolding = 20_000

// foldBodies moves versions that an older program stored, or many small batches, into
// frames while this process works. It is stopped with the work, and the next process
// goes on.
func (a *App) foldBodies(ctx context.Context) {
	n, err := a.store.FoldWaiting(ctx, worthFolding)
	if err == nil && n == worthFolding {
		var s *maintenance.Service
		if s, err = a.Maintenance(); err == nil {
			_, err = s.Fold(ctx, nil)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, maintenance.ErrBusy) && !errors.Is(err, fault.ErrBusy) {
		a.config.Log.Warn("older versions were not moved into frames; the next process tries again, patra db compact does it now", "error", err)
	}
}

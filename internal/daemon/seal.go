package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/engine/maintenance"
)

// sealBodies gives versions from before there were checksums theirs while this process
// works. It is stopped with the work, and the next process goes on. Where nothing is
// left to do, it costs two small questions.
func (a *App) sealBodies(ctx context.Context) {
	left, err := a.store.UnsealedLeft(ctx)
	if err == nil && left {
		var s *maintenance.Service
		if s, err = a.Maintenance(); err == nil {
			_, err = s.Seal(ctx)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, maintenance.ErrBusy) {
		a.config.Log.Warn("older versions did not get their checksums; the next process tries again", "error", err)
	}
}

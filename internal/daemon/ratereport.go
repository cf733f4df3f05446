package daemon

import (
	"context"
	"reflect"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// reportEvery is how often others are told of our rates where they have changed.
const reportEvery = 2 * time.Second

// reportRates writes the state of our keys into the store, for commands that look
// from another process. Nothing depends on it: a report that fails is made again.
func (a *App) reportRates(ctx context.Context) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	var told []gate.Snapshot
	releases := releaseWatch{app: a}
	releases.followReleases(ctx)
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		releases.followReleases(ctx)
		now, err := a.rateSnapshots(ctx)
		if err == nil && len(now) > 0 && !reflect.DeepEqual(now, told) {
			if err = a.store.ReportRates(ctx, a.identity.ID, now); err == nil {
				told = now
			}
		}
		if err != nil && !failed && ctx.Err() == nil {
			a.config.Log.Warn("the state of the rate gate could not be stored; patra rate shows an older one", "error", err)
		}
		failed = err != nil
	}
}

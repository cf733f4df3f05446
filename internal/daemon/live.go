package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/surface/live"
)

// NewLive makes what tells viewers of changes, until ends is closed. Recheck is the
// entrance's: it tells whether who opened a stream may still look. Changed is called before
// viewers are told.
func (a *App) NewLive(recheck func(context.Context) error, changed func(), ends <-chan struct{}) *live.Hub {
	return live.New(live.Settings{Reader: liveReader{a.Inspect, a}, Recheck: recheck, Changed: changed, Ends: ends, Log: a.config.Log, Every: a.config.Entrance.LookEvery})
}

// liveReader tells viewers what goes on, by the limits of the installation.
type liveReader struct {
	*inspect.Inspector
	*App
}

// RunningRuns lists the runs that are at work, up to a number.
func (r liveReader) RunningRuns(ctx context.Context, limit int) ([]view.Run, error) {
	return r.Tasks.ListRuns(ctx, view.Filter{Status: string(ingest.RunRunning), Limit: limit})
}

// Findings tells what a person should look at.
func (r liveReader) Findings(ctx context.Context) ([]view.Finding, error) {
	s, err := r.Inspector.Status(ctx, r.UsualQuery(""))
	return s.Findings, err
}

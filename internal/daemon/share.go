package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// probing makes a process known to the others while its planner asks upstreams
// for counts. Without it a planner would use the whole rate beside executors
// that do so too (I11). An idle planner takes nothing from anybody.
type probing struct {
	planner.Estimator
	app *App
}

// Estimate asks with our share of the limits. Where that leaves no place at all,
// the plan goes on without counts: waiting for a place could take for ever.
func (p probing) Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (planner.Estimates, error) {
	if offline || len(windows) == 0 {
		return p.Estimator.Estimate(ctx, c, windows, true)
	}
	leave, err := p.app.attendance.joinToAsk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := c.Snapshot
	key := s.Rate.Key(s.Source)
	if len(s.Pool) > 0 {
		key = gate.MemberKey(key, s.Pool[0].Name) // all members are divided alike
	}
	if p.app.requestPlaces(key, s.Rate) == 0 {
		p.app.config.Log.Info("planning without counts: executors use all the requests this source takes at once", worklog.Source, s.Source, worklog.Endpoint, s.Endpoint, worklog.Operation, string(s.Operation))
		offline = true
	}
	return p.Estimator.Estimate(ctx, c, windows, offline)
}

package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// loadFilesFirst reads the files that hold what a list has (window.bootstrap), before its first
// harvest. What became of them counts with the harvest.
func (a *App) loadFilesFirst(ctx context.Context, c *spec.Compiled, r planner.Request, w Watch, h *Harvested) error {
	if c.Snapshot.Bootstrap == nil {
		return nil
	}
	own, err := c.Namespace()
	if err != nil {
		return err
	}
	if state, known, err := a.store.CoverageState(ctx, own); err != nil || known && !state.Cursor.IsZero() {
		return err
	}
	first, err := c.Snapshot.Bootstrap.Compiled()
	if err != nil {
		return err
	}
	r.From, r.To, r.Only = nil, nil, nil
	r.TriggerKey += " files"
	loaded, err := a.Harvest(ctx, first, r, w)
	for _, p := range loaded.Continued {
		h.noteContinued(p, loaded.Before[p.PlanID])
	}
	if loaded.Plan.PlanID != 0 {
		h.noteContinued(loaded.Plan, loaded.Before[loaded.Plan.PlanID])
	}
	return err
}

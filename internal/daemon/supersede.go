package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// GivenUp is a plan that was given up because its source was changed since it was made.
type GivenUp struct {
	PlanID  int64
	Changed time.Time // since when the source is another
	Slices  int       // that are planned anew, at once or when their worker has stopped
}

// giveUpOld gives up open plans that were made before the source was changed and get
// nowhere: their slices keep the source as it was (I10), so the change would never reach
// them. Their windows stay owed and do not wait, so the next plan asks for them with the
// source as it is now. Plans that read on are left alone, and so are those that nobody
// tried yet. A cursor narrows it to one campaign; zero is the whole partition.
func (a *App) giveUpOld(ctx context.Context, c *spec.Compiled, cursor int64) (given []GivenUp, err error) {
	old, err := a.store.OutlivedPlans(ctx, compiledPartition(c), cursor, c.Fingerprint)
	if err != nil {
		return nil, err
	}
	for _, p := range old {
		if !p.IsStuck() {
			continue
		}
		did, err := a.store.SupersedePlan(ctx, p.ID, fmt.Sprintf("cancelled by patra: %s was changed at %s, after this plan was made, and its requests failed with the old settings; the next plan reads what it left",
			c.Snapshot.Source, window.Text(p.Changed)))
		if errors.Is(err, fault.ErrConflict) { // it has ended meanwhile, or somebody else did the same
			continue
		}
		if err != nil {
			return given, err
		}
		given = append(given, GivenUp{PlanID: p.ID, Changed: p.Changed, Slices: did.Cancelled + did.Stopping})
		a.config.Log.Info("a plan is cancelled and what it left is planned again: its source was changed, and its requests failed with the old settings", worklog.Source, c.Snapshot.Source, worklog.Plan, p.ID, "changed", p.Changed)
	}
	return given, nil
}

// giveUpScheduled does what giveUpOld does for a job that is due. Planning reports what
// is wrong with the source.
func (s schedules) giveUpScheduled(ctx context.Context, of ingest.Partition) (some bool, err error) {
	compiled, err := s.app.Compile(ctx, of.Source, of.Endpoint, of.Operation, nil)
	if err != nil {
		return false, ctx.Err()
	}
	given, err := s.app.giveUpOld(ctx, compiled, 0)
	return len(given) > 0, err
}

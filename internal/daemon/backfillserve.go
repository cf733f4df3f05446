package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// advanceCampaigns continues every campaign; the active planner calls it. A campaign that
// cannot continue does not hold up the others, and its note says why.
func (s schedules) advanceCampaigns(ctx context.Context) (failures error) {
	active, err := s.app.store.Campaigns(ctx, "", ingest.CampaignActive)
	if err != nil {
		return err
	}
	for _, c := range active {
		paused, err := s.isPaused(ctx, c.Partition())
		if err == nil && !paused {
			err = s.advanceCampaign(ctx, c)
		}
		failures = errors.Join(failures, err)
	}
	return failures
}

func (s schedules) advanceCampaign(ctx context.Context, c ingest.Campaign) error {
	now, err := s.app.store.Now(ctx)
	if err != nil {
		return err
	}
	compiled, err := s.app.CompileCampaign(ctx, c)
	if err == nil {
		err = s.app.Trusted(ctx, compiled.Snapshot)
	}
	if err == nil {
		_, err = s.app.giveUpOld(ctx, compiled, c.CursorID)
	}
	if err == nil {
		var stand CampaignStand
		stand, err = s.app.parts.Advance(ctx, compiled, c, now)
		for _, id := range stand.Planned {
			s.app.config.Log.Info("a part of a campaign is planned", "campaign", c.Name, worklog.Plan, id)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var stopped ingest.CampaignStopped
	why := ""
	switch {
	case err == nil || errors.As(err, &stopped):
	case errors.Is(err, fault.ErrInvalid), errors.Is(err, fault.ErrNotFound), errors.Is(err, fault.ErrConflict), isConfig(err), IsUntrusted(err):
		why = err.Error()  // trying again is useless until a person acts
		if why != c.Note { // it is looked at again and again
			s.app.config.Log.Warn("a campaign cannot go on", "campaign", c.Name, "error", why)
		}
	default:
		return err
	}
	if why == c.Note {
		return nil
	}
	return s.app.store.NoteCampaign(ctx, c.ID, why)
}

func isConfig(err error) bool {
	var problems registry.Problems
	return errors.As(err, &problems)
}

package operate

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CampaignStore is what operating on campaigns needs of the store.
type CampaignStore interface {
	MoveCampaign(ctx context.Context, name string, to ingest.CampaignState, by ingest.Act) (c ingest.Campaign, changed bool, err error)
	CampaignTasks(ctx context.Context, cursorID int64) (running, waiting int, err error)
	CampaignPlans(ctx context.Context, cursorID int64) (ever int, open []ingest.OpenPlan, err error)
	PlanCancel(ctx context.Context, id int64) (view.PlanCancel, error)
	CancelPlan(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error)
	WaiveCampaign(ctx context.Context, name string, within window.Window, by ingest.Act) (view.CampaignWaived, error)
}

// Campaigns acts on backfill campaigns for people.
type Campaigns struct{ store CampaignStore }

// NewCampaigns makes one.
func NewCampaigns(s CampaignStore) *Campaigns { return &Campaigns{s} }

// Pause stops a campaign: nothing of it is planned or claimed, and workers stop
// after the page they read. Other campaigns of the source go on.
func (k *Campaigns) Pause(ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
	_, done, err := k.moveTo(ctx, name, ingest.CampaignPaused, by)
	return done, err
}

// Resume goes on with a campaign that was paused or cancelled.
func (k *Campaigns) Resume(ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
	_, done, err := k.moveTo(ctx, name, ingest.CampaignActive, by)
	return done, err
}

// Cancel gives a campaign up: it takes no further plan, and those it has are
// cancelled. What was not read stays owed (D§5.7). A call that died half-way is
// finished by repeating it.
func (k *Campaigns) Cancel(ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
	c, done, err := k.moveTo(ctx, name, ingest.CampaignCancelled, by)
	if err != nil {
		return done, err
	}
	_, open, err := k.store.CampaignPlans(ctx, c.CursorID)
	if err != nil {
		return done, err
	}
	for _, plan := range open {
		var one view.PlanCancel
		if by.Rehearsal {
			one, err = k.store.PlanCancel(ctx, plan.ID)
		} else {
			one, err = k.store.CancelPlan(ctx, plan.ID, done.Actor, "campaign "+name+" is cancelled: "+by.Reason)
		}
		switch {
		case errors.Is(err, fault.ErrConflict):
			continue // it ended in the meantime
		case err != nil:
			return done, err
		}
		done.Plans = append(done.Plans, one)
	}
	return done, nil
}

// Waive accepts that what a campaign has not read of a window stays unread (D§5.7).
func (k *Campaigns) Waive(ctx context.Context, name string, within window.Window, by ingest.Act) (view.CampaignWaived, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.CampaignWaived{}, err
	}
	return k.store.WaiveCampaign(ctx, name, within, by)
}

func (k *Campaigns) moveTo(ctx context.Context, name string, to ingest.CampaignState, by ingest.Act) (c ingest.Campaign, done view.CampaignDone, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return c, done, err
	}
	c, changed, err := k.store.MoveCampaign(ctx, name, to, by)
	if err != nil {
		return c, done, err
	}
	done = view.CampaignDone{Name: c.Name, State: c.State, Changed: changed, Actor: c.Actor, Reason: c.Reason, Since: c.Since, DryRun: by.Rehearsal}
	done.Running, done.Waiting, err = k.store.CampaignTasks(ctx, c.CursorID)
	return c, done, err
}

package ledger

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// WaiveCampaign accepts that what a campaign has not read of a window stays
// unread, by a WAIVED event in its own ledger (D§5.7). An ACTIVE one of which
// nothing is owed then is COMPLETED. Repeating it changes nothing.
func (s *Ledger) WaiveCampaign(ctx context.Context, name string, within window.Window, by ingest.Act) (done view.CampaignWaived, err error) {
	err = s.step(ctx, "waive campaign", kernel.Urgent, func(t *tx) error {
		c, known, err := t.campaignBy("g.name = ?", name)
		switch {
		case err != nil:
			return err
		case !known:
			return kernel.Refuse(fault.ErrNotFound, "there is no campaign "+name)
		case within.Intersect(c.Range).Empty():
			return kernel.Refuse(fault.ErrInvalid, fmt.Sprintf("%s lies outside the range of campaign %s, which is %s", within, name, c.Range))
		}
		if done, err = t.waiveCampaign(c, within.Intersect(c.Range), by); err == nil && by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return err
	})
	done.DryRun = by.Rehearsal
	return done, kernel.Performed(err)
}

// waiveCampaign holds the lock of the campaign, then takes that of its cursor, as
// whoever stores a plan of it does.
func (t *tx) waiveCampaign(c ingest.Campaign, within window.Window, by ingest.Act) (done view.CampaignWaived, err error) {
	done = view.CampaignWaived{Name: c.Name, State: c.State}
	if done.Waived, err = t.waiveRange(c.CursorID, within, by); err != nil {
		return done, err
	}
	owed, err := t.owedOf(c)
	if err != nil {
		return done, err
	}
	for _, w := range owed {
		done.Owed += w.Duration()
	}
	if c.State == ingest.CampaignActive && len(owed) == 0 {
		if err := t.endCampaign(c.ID); err != nil {
			return done, err
		}
		done.State = ingest.CampaignCompleted
	}
	if by.Rehearsal || len(done.Waived.Waived) == 0 {
		return done, nil
	}
	return done, t.auditCampaign("campaign.waive", c.Name, by, map[string]any{"waived": done.Waived.Waived})
}

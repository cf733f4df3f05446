package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/operate"
)

// Campaigns tells how backfill campaigns stand, beside what operators do to them.
type Campaigns struct {
	*operate.Campaigns
	db *store.Store
}

// List lists campaigns, those of one source or state if named, oldest first.
func (c *Campaigns) List(ctx context.Context, source string, state ingest.CampaignState) ([]ingest.Campaign, error) {
	return c.db.Campaigns(ctx, source, state)
}

// Find finds a campaign by its name.
func (c *Campaigns) Find(ctx context.Context, name string) (found ingest.Campaign, known bool, err error) {
	return c.db.Campaign(ctx, name)
}

// Show reads all that is known of a campaign.
func (c *Campaigns) Show(ctx context.Context, campaign ingest.Campaign) (view.Campaign, error) {
	return c.db.ShowCampaign(ctx, campaign)
}

// MeasureProgress tells how far a campaign has come, by its coverage.
func (c *Campaigns) MeasureProgress(ctx context.Context, campaign ingest.Campaign) (view.CampaignProgress, error) {
	return c.db.CampaignProgress(ctx, campaign)
}

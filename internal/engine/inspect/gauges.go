package inspect

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Gauges computes what metrics show of stored rows, of one source or of all. What can be
// computed is returned also where a part of it fails: one source that cannot be read
// must not make all metrics vanish.
func (i *Inspector) Gauges(ctx context.Context, q StatusQuery) (g view.Gauges, err error) {
	if g.Status, err = i.Status(ctx, q); err != nil {
		return g, err
	}
	g.At = g.Status.Now
	if g.Work, err = i.from.Work.Workload(ctx, q.Source); err != nil {
		return g, err
	}
	if g.Breakers, err = i.from.Rates.BreakerRows(ctx); err != nil {
		return g, err
	}
	if g.Backfill, err = i.campaignLags(ctx, q.Source); err != nil {
		return g, err
	}
	keys, failed := i.RateKeys(ctx)
	g.Rates = keys
	return g, failed
}

// campaignLags returns the worst active campaign of each dataset. One campaign may be
// behind for months on purpose, and there may be thousands: a line for each would be
// read by nobody.
func (i *Inspector) campaignLags(ctx context.Context, source string) ([]view.CampaignLag, error) {
	campaigns, err := i.from.Backfills.Campaigns(ctx, source, ingest.CampaignActive)
	if err != nil || len(campaigns) == 0 {
		return nil, err
	}
	cursors, err := i.from.Coverage.Cursors(ctx, source)
	if err != nil {
		return nil, err
	}
	reached := map[int64]time.Time{}
	for _, c := range cursors {
		reached[c.ID] = c.Instant
	}
	var out []view.CampaignLag
	place := map[ingest.Dataset]int{}
	for _, c := range campaigns {
		from := c.Range.From
		if at := reached[c.CursorID]; at.After(from) {
			from = at
		}
		one := view.CampaignLag{Source: c.Dataset.Source, Endpoint: c.Dataset.Endpoint, Name: c.Name, Ahead: max(c.Range.To.Sub(from), 0)}
		n, known := place[c.Dataset]
		switch {
		case !known:
			place[c.Dataset], out = len(out), append(out, one)
		case one.Ahead > out[n].Ahead:
			out[n] = one
		}
	}
	return out, nil
}

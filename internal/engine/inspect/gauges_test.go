package inspect

import (
	"context"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// campaigning are campaigns and where their watermarks stand.
type campaigning struct {
	Coverage
	Backfills
	list    []ingest.Campaign
	cursors []view.Cursor
}

func (c campaigning) Campaigns(context.Context, string, ingest.CampaignState) ([]ingest.Campaign, error) {
	return c.list, nil
}

func (c campaigning) Cursors(context.Context, string) ([]view.Cursor, error) { return c.cursors, nil }

// Ten thousand campaigns of a source are one line: the one that is furthest from its end.
func TestCampaignsAreToldByTheirWorst(t *testing.T) {
	day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	var c campaigning
	for n := range 10_000 {
		one := ingest.Campaign{CursorID: int64(n + 1)}
		one.Name, one.Dataset.Source, one.Dataset.Endpoint = "years", "crossref", "works"
		one.Range = window.Window{From: day, To: day.AddDate(0, 0, 100)}
		c.list = append(c.list, one)
		c.cursors = append(c.cursors, view.Cursor{ID: int64(n + 1), Instant: day.AddDate(0, 0, 90)})
	}
	c.cursors[77].Instant = day.AddDate(0, 0, 40)
	c.cursors[78].Instant = day.AddDate(0, 0, -40) // before its range
	c.list[78].Range.To = day.AddDate(0, 0, 5)
	other := c.list[0]
	other.Dataset.Endpoint, other.CursorID = "members", 0 // it has no watermark yet
	c.list = append(c.list, other)
	got, err := New(Readers{Coverage: c, Backfills: c}, threshold.Default()).campaignLags(t.Context(), "")
	if err != nil || len(got) != 2 || got[0].Ahead != 60*24*time.Hour || got[1].Ahead != 100*24*time.Hour || got[1].Endpoint != "members" {
		t.Errorf("%+v, %v", got, err)
	}
}

package cli

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// beside looks at the books of backfills and updates: what failed there is a gap of
// no harvest, and a glance would not show it. Books of ids are left out: the tables
// say what of them is open, not the book.
func (l *looker) beside(ctx context.Context, source string, cursors []view.Cursor) error {
	campaigns, err := l.app.Store.Campaigns(ctx, source, "")
	if err != nil {
		return err
	}
	of := map[int64]ingest.Campaign{}
	for _, c := range campaigns {
		of[c.CursorID] = c
		switch {
		case c.State != ingest.CampaignActive:
		case c.Note != "":
			l.find("campaign "+c.Name, "does not go on: %s", c.Note)
		case l.report.Processes == 0:
			l.find("campaign "+c.Name, "is not complete, and no process works: `patra backfill %s --name %s` goes on", c.Dataset.Source, c.Name)
		}
	}
	for _, c := range cursors {
		if c.Operation == string(ingest.Harvest) || c.Line() != ingest.CursorTime || of[c.ID].State == ingest.CampaignCancelled {
			continue
		}
		failed, err := l.givenUp(ctx, c)
		if err != nil {
			return err
		}
		if len(failed) == 0 {
			continue
		}
		about := fmt.Sprintf("%s/%s %s", c.Source, c.Endpoint, c.Operation)
		next := fmt.Sprintf("`patra coverage show %s` draws it; if it can never be read, `patra coverage waive --cursor %d --from … --to … --reason …` accepts that", c.Source, c.ID)
		if campaign, named := of[c.ID]; named {
			about, next = "campaign "+campaign.Name, fmt.Sprintf("`patra backfill show %s` tells more", campaign.Name)
		}
		l.find(about, "%s failed and still owed by cursor %d, such as %s; %s", stretchesText(len(failed)), c.ID, brief(failed[0]), next)
	}
	return nil
}

// givenUp is what failed in a book and nobody works on.
func (l *looker) givenUp(ctx context.Context, c view.Cursor) (out []window.Window, err error) {
	segments, err := l.app.Store.Segments(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		if !s.Done() && s.Fails > 0 {
			out = append(out, s.Window)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	open, err := l.app.Store.OpenWindows(ctx, ingest.Partition{
		Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Operation(c.Operation),
	}, c.ID)
	var idle []window.Window
	for _, w := range out {
		idle = append(idle, window.Subtract(w, open)...)
	}
	return idle, err
}

func stretchesText(n int) string {
	if n == 1 {
		return "1 stretch"
	}
	return fmt.Sprintf("%d stretches", n)
}

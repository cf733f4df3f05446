package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// claim is a stretch that somebody is to read, and who.
type claim struct {
	windows []window.Window
	by      string
}

// markPlanned tells those parts of gaps apart that are planned already, by a fill, a
// harvest or a campaign: whoever planned them must see that.
func (e *env) markPlanned(ctx context.Context, app *daemon.App, b book, gaps []gap) ([]gap, error) {
	if len(gaps) == 0 {
		return nil, nil
	}
	open, err := app.OpenWindows(ctx, b.compiled, b.cursor.ID)
	if err != nil {
		return nil, err
	}
	claims := []claim{{open, "planned, and waits for a worker or is worked on"}}
	campaigns, err := app.Store.Campaigns(ctx, b.source, ingest.CampaignActive)
	if err != nil {
		return nil, err
	}
	hash, err := b.compiled.Prototype.Hash()
	if err != nil {
		return nil, err
	}
	for _, c := range campaigns {
		if c.Dataset == b.compiled.Snapshot.Dataset() && c.ExprProtoHash == hash {
			claims = append(claims, claim{[]window.Window{c.Range}, fmt.Sprintf("campaign %s is to read it", short(c.Name, 40))})
		}
	}
	for _, c := range claims {
		gaps = c.mark(gaps)
	}
	slices.SortStableFunc(gaps, func(x, y gap) int { return x.Window.From.Compare(y.Window.From) })
	return gaps, nil
}

// mark cuts gaps at what is claimed.
func (c claim) mark(gaps []gap) (out []gap) {
	for _, g := range gaps {
		if g.Planned != "" {
			out = append(out, g)
			continue
		}
		for _, w := range window.Within(g.Window, c.windows) {
			part := g
			part.Window, part.Planned = w, c.by
			out = append(out, part)
		}
		for _, w := range window.Subtract(g.Window, c.windows) {
			part := g
			part.Window = w
			out = append(out, part)
		}
	}
	return out
}

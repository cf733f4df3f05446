package cli

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// mostCounts bounds how much history of sizes is read for one picture: ten years
// by the hour are 87,600.
const mostCounts = 200_000

// survey finds out what happened to the time of a cursor.
func (e *env) survey(ctx context.Context, app *daemon.App, c view.Cursor, segments []coverage.Segment, within window.Window) (p picture, err error) {
	of := ingest.Partition{Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Operation(c.Operation)}
	var campaigns []coverage.Segment
	if hash, known := e.questionOf(ctx, app, c); known && of.Operation != ingest.Update {
		if of.Operation == ingest.Harvest {
			if campaigns, err = app.Store.CampaignBooks(ctx, of.Dataset, c.Key, hash); err != nil {
				return p, err
			}
		}
		history, err := app.Store.WindowHistory(ctx, of.Dataset, hash, around(within), mostCounts)
		if err != nil {
			return p, err
		}
		p.thin = thinDays(ingest.NewCounts(history), within)
	}
	if p.stretches = coverage.Fates(segments, campaigns); of.Operation == ingest.Backfill {
		p.stretches = backfilled(p.stretches)
	}
	failed, err := app.Store.FailedWindows(ctx, of)
	if err != nil {
		return p, err
	}
	for _, m := range failed {
		if m.Code == string(fault.Capped) {
			p.capped = append(p.capped, m.Window)
		}
	}
	p.rejected, err = app.Store.QuarantinedWindows(ctx, of.Dataset)
	return p, err
}

// backfilled calls what a campaign read by its name.
func backfilled(own []coverage.Stretch) []coverage.Stretch {
	for i, s := range own {
		if s.Fate == coverage.Harvested {
			own[i].Fate = coverage.Backfilled
		}
	}
	return own
}

// around is a window with the neighbours its days are compared with.
func around(w window.Window) window.Window {
	const weeks = 22 * 24 * time.Hour
	return window.Window{From: w.From.Add(-weeks), To: w.To.Add(weeks)}
}

// thinDays looks at whole days only: a part of one has fewer items by itself.
func thinDays(counts ingest.Counts, within window.Window) (thin []coverage.Counted) {
	var days []coverage.Counted
	wide := around(within)
	for at := byDay.floor(wide.From); at.Before(wide.To); at = byDay.next(at) {
		day := window.Window{From: at, To: byDay.next(at)}
		if items, covered := counts.Estimate(day); covered > wholly {
			days = append(days, coverage.Counted{Window: day, Items: items})
		}
	}
	for _, d := range coverage.Thin(days) {
		if d.Window.Overlaps(within) {
			thin = append(thin, d)
		}
	}
	return thin
}

// wholly is the share from which a window counts as read; the rest is rounding.
const wholly = 0.999999

// questionOf is the hash of what a cursor asks for: of its last plan, or of the
// source as it is now if the cursor follows that.
func (e *env) questionOf(ctx context.Context, app *daemon.App, c view.Cursor) (hash string, known bool) {
	if c.PlanID != 0 {
		if plan, err := app.Store.Plan(ctx, c.PlanID); err == nil {
			return plan.ExprProtoHash, true
		} else if !errors.Is(err, fault.ErrNotFound) {
			return "", false
		}
	}
	compiled, err := app.Compile(ctx, c.Source, c.Endpoint, ingest.Harvest, nil)
	if err != nil {
		return "", false
	}
	now, err := compiled.Namespace()
	if err != nil || !c.IsAt(now) {
		return "", false
	}
	hash, err = compiled.Prototype.Hash()
	return hash, err == nil
}

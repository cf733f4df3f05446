package inspect

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Missing is what has to be planned so that gaps are filled.
type Missing struct {
	Owed    []window.Window // by the harvest
	History []window.Window // before the start of the watermark: only a backfill reads it
	Open    int             // windows of the harvest that are worked on, and left out
}

// Missing divides gaps into what the harvest owes and what lies before its start,
// without what is on its way.
func (i *Inspector) Missing(ctx context.Context, b EndpointCoverage, gaps []view.Gap) (out Missing, err error) {
	open, err := i.Open(ctx, b)
	if err != nil {
		return out, err
	}
	for _, g := range gaps {
		for _, w := range window.Subtract(g.Window, open) {
			if b.Cursor.Origin.IsZero() {
				out.Owed = append(out.Owed, w)
				continue
			}
			before, after := w.Split(b.Cursor.Origin)
			out.History, out.Owed = append(out.History, before), append(out.Owed, after)
		}
	}
	return Missing{window.Union(out.Owed), window.Union(out.History), len(open)}, nil
}

// Covered returns what of a window was read or waived already, by the harvest or by
// campaigns that asked the same.
func (i *Inspector) Covered(ctx context.Context, c *spec.Compiled, within window.Window) ([]window.Window, error) {
	at, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	harvested, _, err := i.from.Coverage.CoverageState(ctx, at)
	if err != nil {
		return nil, err
	}
	hash, err := c.Prototype.Hash()
	if err != nil {
		return nil, err
	}
	campaigns, err := i.from.Backfills.CampaignCoverage(ctx, c.Snapshot.Dataset(), c.Snapshot.Filter.Field, hash)
	if err != nil {
		return nil, err
	}
	gaps := coverage.Gaps(coverage.Overlay(harvested.Segments, campaigns), within)
	return window.Subtract(within, gaps), nil
}

// FrontierAfter returns where the watermark stands once some windows are read.
func (b EndpointCoverage) FrontierAfter(read []window.Window) time.Time {
	latest := coverage.State{Segments: b.Segments}.LatestAsOf()
	return coverage.Frontier(b.Cursor.Origin, coverage.Overlay(b.Segments, succeeded(read, latest)))
}

// succeeded are segments that were read as of an instant.
func succeeded(windows []window.Window, asOf time.Time) (out []coverage.Segment) {
	for _, w := range windows {
		out = append(out, coverage.Segment{Window: w, Want: asOf, Have: asOf})
	}
	return out
}

package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Gaps returns what is not done in a range. Unless a range was named it leaves out
// what nobody asked for: below the start of the watermark only what was left behind
// when it was set by hand counts, and what an earlier question had reached.
func (b EndpointCoverage) Gaps(within window.Window, onlyAsked bool) (out []view.Gap) {
	if within.Empty() {
		return nil
	}
	if !onlyAsked || b.Cursor.Origin.IsZero() && len(b.Cursor.Left) == 0 {
		return b.gapsIn(within)
	}
	meant := slices.Clone(b.Cursor.Left)
	for _, from := range []time.Time{b.Cursor.Origin, b.Earlier.Origin} {
		if !from.IsZero() {
			meant = append(meant, window.Window{From: from, To: within.To})
		}
	}
	for _, w := range window.Within(within, meant) {
		out = append(out, b.gapsIn(w)...)
	}
	return out
}

// gapsIn cuts each gap at the segments under it: their histories differ, and so do
// the reasons.
func (b EndpointCoverage) gapsIn(within window.Window) []view.Gap {
	var out []view.Gap
	for _, hole := range coverage.Gaps(coverage.Overlay(b.Segments, b.Campaigns), within) {
		var known []window.Window
		for _, s := range b.Segments {
			if part := s.Window.Intersect(hole); !part.Empty() {
				known = append(known, part)
				out = append(out, b.cutGap(part, s)...)
			}
		}
		for _, part := range window.Subtract(hole, known) {
			out = append(out, b.gap(part, coverage.Segment{}))
		}
	}
	slices.SortFunc(out, func(x, y view.Gap) int { return x.Window.From.Compare(y.Window.From) })
	return out
}

// cutGap cuts a gap where other parts of the list are missing.
func (b EndpointCoverage) cutGap(w window.Window, s coverage.Segment) (out []view.Gap) {
	var known []window.Window
	for _, p := range sector.Pieces([]window.Window{w}, b.Lags) {
		if len(p.Missing) == 0 {
			continue
		}
		g := b.gap(p.Window, s)
		g.Partitions = p.Missing
		b.addRefused(&g)
		out, known = append(out, g), append(known, p.Window)
	}
	for _, part := range window.Subtract(w, known) {
		out = append(out, b.gap(part, s))
	}
	return out
}

// addRefused tells of a gap which of the parts that are missing are refused. Where all of them are, that is why it is one.
func (b EndpointCoverage) addRefused(g *view.Gap) {
	for _, r := range b.Refused {
		if slices.Contains(g.Partitions, r.Sector) {
			g.Refused = append(g.Refused, r)
		}
	}
	if len(g.Refused) == len(g.Partitions) && g.Reason != view.GapPaused {
		g.Reason, g.Waits = view.GapRefused, false
		g.State = g.Reason.State()
	}
}

// FailedGaps returns what failed and is still owed, wherever it lies.
func (b EndpointCoverage) FailedGaps() (out []view.Gap) {
	for _, s := range b.Segments {
		if s.Fails > 0 && !s.Done() {
			out = append(out, b.cutGap(s.Window, s)...)
		}
	}
	return out
}

// gap returns one gap with its reason and the facts of the segment under it.
func (b EndpointCoverage) gap(w window.Window, s coverage.Segment) view.Gap {
	g := view.Gap{CursorID: b.Cursor.ID, Source: b.Source, Endpoint: b.Endpoint, Field: b.Field, Window: w, Fails: s.Fails, RetryAfter: s.RetryAfter,
		WantedAt: s.Want, ReadAt: s.Have, BeforeStart: b.Known() && !w.To.After(b.Cursor.Origin)}
	g.Reason = b.reasonOf(w, s)
	g.State = g.Reason.State()
	switch g.Reason {
	case view.GapFailed:
		g.Waits = s.FailedAt().After(b.CauseChanged)
	case view.GapOtherQuestion:
		g.AskedBy = b.Earlier.CursorID
	}
	return g
}

// reasonOf decides why a range is not done. A new reason is one more case here, a
// constant in core/view, and its sentence in the command line.
func (b EndpointCoverage) reasonOf(w window.Window, s coverage.Segment) view.GapReason {
	switch {
	case s.Fails > 0 && window.AllWithin([]window.Window{w}, b.Capped):
		return view.GapCapped
	case s.Fails > 0 && b.Paused:
		return view.GapPaused
	case s.Fails > 0:
		return view.GapFailed
	case s.Want.IsZero() && slices.ContainsFunc(b.Cursor.Left, w.Overlaps):
		return view.GapLeft
	case s.Want.IsZero() && !b.Earlier.Origin.IsZero() && !w.From.Before(b.Earlier.Origin):
		return view.GapOtherQuestion
	case s.Want.IsZero():
		return view.GapNeverAsked
	case s.Have.IsZero():
		return view.GapOwed
	}
	return view.GapReopened
}

// MarkPlanned tells those parts of gaps apart that are planned already, by a fill, a
// harvest or a campaign: whoever planned them must see that.
func (i *Inspector) MarkPlanned(ctx context.Context, b EndpointCoverage, gaps []view.Gap) ([]view.Gap, error) {
	if len(gaps) == 0 {
		return nil, nil
	}
	open, err := i.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	campaigns, err := i.from.Backfills.Campaigns(ctx, b.Source, ingest.CampaignActive)
	if err != nil {
		return nil, err
	}
	return i.markPlanned(ctx, b, gaps, open, campaigns)
}

// markPlanned does what MarkPlanned does, with the open windows of the endpoint and the
// campaigns of its source that go on.
func (i *Inspector) markPlanned(ctx context.Context, b EndpointCoverage, gaps []view.Gap, open []window.Window, campaigns []ingest.Campaign) ([]view.Gap, error) {
	if len(gaps) == 0 {
		return nil, nil
	}
	held, err := i.from.Ended.HeldPlans(ctx, b.Source)
	if err != nil {
		return nil, err
	}
	for _, p := range held {
		if p.CursorID == b.Cursor.ID {
			gaps = markClaimed(gaps, window.Within(p.Window, open), view.GapPlan{Held: &p})
		}
	}
	gaps = markClaimed(gaps, open, view.GapPlan{})
	for _, c := range campaigns {
		if c.Dataset == b.dataset() && c.ExprProtoHash == b.Asks.Question {
			gaps = markClaimed(gaps, []window.Window{c.Range}, view.GapPlan{Campaign: c.Name})
		}
	}
	slices.SortStableFunc(gaps, func(x, y view.Gap) int { return x.Window.From.Compare(y.Window.From) })
	return gaps, nil
}

// markClaimed cuts gaps at what somebody is to read. What is planned already stays so.
func markClaimed(gaps []view.Gap, claimed []window.Window, by view.GapPlan) (out []view.Gap) {
	for _, g := range gaps {
		if g.Planned != nil {
			out = append(out, g)
			continue
		}
		for _, w := range window.Within(g.Window, claimed) {
			part := g
			part.Window, part.Planned = w, &by
			out = append(out, part)
		}
		for _, w := range window.Subtract(g.Window, claimed) {
			part := g
			part.Window = w
			out = append(out, part)
		}
	}
	return out
}

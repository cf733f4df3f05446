package inspect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// mostCounts bounds how much history of sizes is read for one survey: ten years
// by the hour are 87,600.
const mostCounts = 200_000

// Survey is what is known about a range of time.
type Survey struct {
	Stretches []coverage.FateRange
	Thin      []coverage.Counted
	Rejected  []view.Marked
	Capped    []window.Window
}

// Survey finds out what happened to the time of a cursor.
func (i *Inspector) Survey(ctx context.Context, c view.Cursor, segments []coverage.Segment, within window.Window) (s Survey, err error) {
	of := ingest.Partition{Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Operation(c.Operation)}
	var campaigns []coverage.Segment
	if hash, known := i.questionOf(ctx, c); known && of.Operation != ingest.Update {
		if of.Operation == ingest.Harvest {
			if campaigns, err = i.from.Backfills.CampaignCoverage(ctx, of.Dataset, c.Key, hash); err != nil {
				return s, err
			}
		}
		history, err := i.from.Readings.WindowItems(ctx, of.Dataset, hash, withNeighbours(within), mostCounts)
		if err != nil {
			return s, err
		}
		s.Thin = thinDays(ingest.NewCounts(history), within)
	}
	if s.Stretches = coverage.Fates(segments, campaigns); of.Operation == ingest.Backfill {
		s.Stretches = asBackfilled(s.Stretches)
	}
	failed, err := i.from.Failed.FailedWindows(ctx, of)
	if err != nil {
		return s, err
	}
	for _, m := range failed {
		if m.Code == string(fault.Capped) {
			s.Capped = append(s.Capped, m.Window)
		}
	}
	s.Rejected, err = i.from.Readings.QuarantinedWindows(ctx, of.Dataset)
	return s, err
}

// asBackfilled calls what a campaign read by its name.
func asBackfilled(own []coverage.FateRange) []coverage.FateRange {
	for n, s := range own {
		if s.Fate == coverage.Harvested {
			own[n].Fate = coverage.Backfilled
		}
	}
	return own
}

// withNeighbours returns a window with the weeks its days are compared with.
func withNeighbours(w window.Window) window.Window {
	const weeks = 22 * 24 * time.Hour
	return window.Window{From: w.From.Add(-weeks), To: w.To.Add(weeks)}
}

// thinDays looks at whole days only: a part of one has fewer items by itself.
func thinDays(counts ingest.Counts, within window.Window) (thin []coverage.Counted) {
	var days []coverage.Counted
	wide := withNeighbours(within)
	for at := Day.floor(wide.From); at.Before(wide.To); at = Day.next(at) {
		day := window.Window{From: at, To: Day.next(at)}
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

// questionOf returns the hash of what a cursor asks for: of its last plan, or of the
// source as it is now if the cursor follows that.
func (i *Inspector) questionOf(ctx context.Context, c view.Cursor) (hash string, known bool) {
	if c.PlanID != 0 {
		if plan, err := i.from.Readings.Plan(ctx, c.PlanID); err == nil {
			return plan.ExprProtoHash, true
		} else if !errors.Is(err, fault.ErrNotFound) {
			return "", false
		}
	}
	compiled, err := i.from.Sources.Compile(ctx, c.Source, c.Endpoint, ingest.Harvest, nil)
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

// StateOf returns what is worst in a cell: it is done only if every instant of it is,
// so no hole is too small to be seen.
func (s Survey) StateOf(cell window.Window) view.CellState {
	a := coverage.Measure(cell, s.Stretches)
	switch total := a.Total(); {
	case a[coverage.GivenUp] > 0 && slices.ContainsFunc(s.Capped, cell.Overlaps):
		return view.CellCapped
	case a[coverage.GivenUp] > 0:
		return view.CellFailed
	case a.Done() < total && a.Done() > 0:
		return view.CellPartly
	case a.Done() < total && a[coverage.Owed] > 0:
		return view.CellOwed
	case a.Done() < total:
		return view.CellNothing
	case slices.ContainsFunc(s.Thin, func(d coverage.Counted) bool { return d.Window.Overlaps(cell) }):
		return view.CellThin
	case slices.ContainsFunc(s.Rejected, func(m view.Marked) bool { return m.Window.Overlaps(cell) }):
		return view.CellRejects
	case a[coverage.Waiving] > 0:
		return view.CellWaived
	case a[coverage.Backfilled] > 0:
		return view.CellBackfilled
	}
	return view.CellDone
}

// Quarantined counts the rejected items in a range, and the windows they lie in.
func (s Survey) Quarantined(within window.Window) (items int64, windows int) {
	for _, m := range s.Rejected {
		if m.Window.Overlaps(within) {
			items, windows = items+m.Count, windows+1
		}
	}
	return items, windows
}

// View returns a survey of a range with its cells.
func (s Survey) View(c view.Cursor, segments []coverage.Segment, within window.Window, cells []window.Window) view.Coverage {
	v := view.Coverage{Cursor: c, Window: within, Segments: []coverage.Segment{}, Stretches: []coverage.FateRange{}, Cells: []view.CoverageCell{}, Thin: s.Thin, Quarantined: s.Rejected, Capped: s.Capped}
	for _, segment := range segments {
		if segment.Window.Overlaps(within) {
			v.Segments = append(v.Segments, segment)
		}
	}
	for _, part := range s.Stretches {
		if part.Window.Overlaps(within) {
			v.Stretches = append(v.Stretches, part)
		}
	}
	for _, cell := range cells {
		a := coverage.Measure(cell, s.Stretches)
		state := s.StateOf(cell)
		v.Cells = append(v.Cells, view.CoverageCell{Window: cell, State: state, Done: state.Done(), DoneShare: float64(a.Done()) / float64(a.Total())})
	}
	return v
}

// StripRange returns the range a cursor is surveyed over: from the first instant that
// was ever planned or left behind to what is safe to read now. Ids have a line of their
// own, which is always shown whole.
func (i *Inspector) StripRange(ctx context.Context, c view.Cursor, segments []coverage.Segment, q RangeQuery, now time.Time) window.Window {
	if c.Line() == ingest.CursorID {
		return ingest.IDSpan(0, ingest.IDEnd)
	}
	from := c.Origin
	if len(c.Left) > 0 && c.Left[0].From.Before(from) || from.IsZero() && len(c.Left) > 0 {
		from = c.Left[0].From
	}
	return q.within(from, window.Later(i.safeEnd(ctx, c, now), askedTo(from, segments)))
}

// safeEnd returns where a harvest that starts now would end. Coverage of a source
// that is no longer known can still be shown: up to now, then.
func (i *Inspector) safeEnd(ctx context.Context, c view.Cursor, now time.Time) time.Time {
	compiled, err := i.from.Sources.Compile(ctx, c.Source, c.Endpoint, ingest.Harvest, nil)
	if err != nil {
		return window.Instant(now)
	}
	return HarvestEnd(compiled.Snapshot.Window, now)
}

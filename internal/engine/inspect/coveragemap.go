package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// longestCounted is the longest range whose sizes are read for a map: a year with the weeks
// that its days are compared with.
const longestCounted = 400 * 24 * time.Hour

// CoverageMap tells what became of a range of time, for one source or all that were ever
// harvested. It reads segments and windows, never cells: how many cells there are costs
// nothing at the store.
func (i *Inspector) CoverageMap(ctx context.Context, q view.MapQuery) (out view.CoverageMap, err error) {
	out = view.CoverageMap{Window: q.Within, Unit: q.Unit, Lines: []view.CoverageLine{}}
	cells, err := cutMap(q)
	if err != nil {
		return out, err
	}
	codes := []string{q.Source}
	if q.Source == "" {
		if ctx, err = i.from.Sources.Hold(ctx); err != nil {
			return out, err
		}
		if codes, err = i.readSources(ctx); err != nil {
			return out, err
		}
	}
	for _, code := range codes {
		lines, err := i.mapSource(ctx, code, q, cells)
		if err != nil {
			if ctx.Err() != nil || q.Source != "" {
				return out, err
			}
			// One source that cannot be computed never hides the others.
			lines = []view.CoverageLine{{Source: code, Error: err.Error()}}
		}
		out.Lines = append(out.Lines, lines...)
	}
	return out, nil
}

func cutMap(q view.MapQuery) (cells []window.Window, err error) {
	switch q.Unit {
	case view.MapMonths:
		return Month.Cells(q.Within)
	case view.MapDays:
		return Day.Cells(q.Within)
	}
	for at := q.Within.From; at.Before(q.Within.To) && len(cells) <= MostCells; at = at.Add(time.Hour) {
		cells = append(cells, window.Window{From: at, To: at.Add(time.Hour)})
	}
	return cells, nil
}

// readSources lists the sources that a harvest or a backfill was asked to read.
func (i *Inspector) readSources(ctx context.Context) (codes []string, err error) {
	cursors, err := i.from.Coverage.Cursors(ctx, "")
	for _, c := range cursors {
		if c.Operation == string(ingest.Harvest) || c.Operation == string(ingest.Backfill) {
			codes = append(codes, c.Source)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes), err
}

func (i *Inspector) mapSource(ctx context.Context, code string, q view.MapQuery, cells []window.Window) (out []view.CoverageLine, err error) {
	grounds, err := i.readGrounds(ctx, code)
	if err != nil {
		return nil, err
	}
	for _, g := range grounds {
		line, err := i.drawLine(ctx, g, q, cells)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// mapGround is what every map of an endpoint is drawn on, whichever range it shows.
type mapGround struct {
	EndpointCoverage
	open      []window.Window                   // what a worker is to read
	rejected  []window.Window                   // where items wait in quarantine
	campaigns []ingest.Campaign                 // of the source, that go on
	backfills map[coverage.Fate][]window.Window // what backfills owe or failed to read
}

// readGrounds reads the endpoints of a source that a map shows.
func (i *Inspector) readGrounds(ctx context.Context, code string) (out []mapGround, err error) {
	src, _, err := i.from.Sources.Source(ctx, code)
	if err != nil {
		return nil, err
	}
	covered, err := i.CoverageOf(ctx, src)
	if err != nil {
		return nil, err
	}
	counts := func(b EndpointCoverage) bool { return b.Expected() || len(b.Campaigns) > 0 }
	some := slices.ContainsFunc(covered.All, counts)
	for _, b := range covered.All {
		if some && !counts(b) {
			continue
		}
		g, err := i.readGround(ctx, b)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func (i *Inspector) readGround(ctx context.Context, b EndpointCoverage) (g mapGround, err error) {
	g.EndpointCoverage = b
	if g.open, err = i.Open(ctx, b); err != nil {
		return g, err
	}
	rejected, err := i.from.Readings.QuarantinedWindows(ctx, b.dataset())
	if err != nil {
		return g, err
	}
	g.rejected = windowsOf(rejected)
	if g.campaigns, err = i.from.Backfills.Campaigns(ctx, b.Source, ingest.CampaignActive); err != nil {
		return g, err
	}
	g.backfills, err = i.backfillFates(ctx, b)
	return g, err
}

// drawLine draws a range of one endpoint.
func (i *Inspector) drawLine(ctx context.Context, g mapGround, q view.MapQuery, cells []window.Window) (line view.CoverageLine, err error) {
	line = view.CoverageLine{Source: g.Source, Endpoint: g.Endpoint, Field: g.Field, CursorID: g.Cursor.ID, FreshTo: g.Cursor.Instant, Origin: g.Cursor.Origin, Earliest: g.Earliest,
		ByDay: g.Asks.Precision == query.Day, Cells: []view.MapCell{}}
	sizes := sizesOf{}
	if q.Counts && q.Within.Duration() <= longestCounted {
		if sizes, err = i.readSizes(ctx, g.EndpointCoverage, q.Within); err != nil {
			return line, err
		}
	}
	m := g.mosaic(q.Within).
		Paint(g.backfills[coverage.GivenUp], view.CellFailed, view.CellNothing).
		Paint(append(g.wantedByCampaigns(), g.backfills[coverage.Owed]...), view.CellOwed, view.CellNothing).
		Paint(g.open, view.CellReading, view.CellOwed, view.CellFailed, view.CellNothing).
		Paint(g.rejected, view.CellRejects, view.CellDone, view.CellBackfilled).
		Paint(windowsOfCounted(sizes.thin), view.CellThin, view.CellDone, view.CellBackfilled, view.CellRejects).
		Paint(windowsOfChecks(sizes.short), view.CellShort, view.CellDone, view.CellBackfilled, view.CellRejects)
	line.Amounts = m.Amounts()
	for _, w := range cells {
		cell := m.Cell(w)
		cell.Items, cell.Told = sizes.itemsOf(w)
		line.Cells = append(line.Cells, cell)
	}
	if q.Troubles {
		line.Troubles, err = i.troublesOf(ctx, g, m, sizes, q.Within)
	}
	return line, err
}

// mosaic tiles a window with what the ledger says. Time after what is safe to read has no
// state: it is no gap.
func (b EndpointCoverage) mosaic(within window.Window) (m view.Mosaic) {
	limit := window.Later(b.Safe, askedTo(b.Cursor.Origin, b.Segments))
	known := within
	if known.To.After(limit) {
		known.To = window.Later(limit, known.From)
	}
	if !known.Empty() {
		m = view.Mosaic{{Window: known, State: view.CellNothing}}
	}
	if rest := (window.Window{From: known.To, To: within.To}); !rest.Empty() {
		m = append(m, view.Tile{Window: rest})
	}
	by := map[coverage.Fate][]window.Window{}
	for _, s := range coverage.Fates(b.Segments, b.Campaigns) {
		if s.Window.Overlaps(within) {
			by[s.Fate] = append(by[s.Fate], s.Window)
		}
	}
	for fate, state := range map[coverage.Fate]view.CellState{
		coverage.Owed: view.CellOwed, coverage.GivenUp: view.CellFailed, coverage.Waiving: view.CellWaived, coverage.Backfilled: view.CellBackfilled, coverage.Harvested: view.CellDone,
	} {
		m = m.Paint(by[fate], state, view.CellNothing)
	}
	return m.Paint(b.Cursor.Left, view.CellLeft, view.CellNothing).Paint(b.Capped, view.CellCapped, view.CellFailed)
}

// backfillFates returns what backfills owe of an endpoint or failed to read, also those without
// a campaign: somebody asked for it, and it is not read.
func (i *Inspector) backfillFates(ctx context.Context, b EndpointCoverage) (map[coverage.Fate][]window.Window, error) {
	books, err := i.from.Backfills.BackfillBooks(ctx, b.dataset(), b.Field, b.Asks.Question)
	out := map[coverage.Fate][]window.Window{}
	for _, book := range books {
		for _, s := range coverage.Fates(book, nil) {
			out[s.Fate] = append(out[s.Fate], s.Window)
		}
	}
	return out, err
}

// wantedByCampaigns returns what campaigns that go on are to read of an endpoint.
func (g mapGround) wantedByCampaigns() (out []window.Window) {
	for _, c := range g.campaigns {
		if c.Dataset == g.dataset() && c.ExprProtoHash == g.Asks.Question {
			out = append(out, c.Range)
		}
	}
	return out
}

// sizesOf are how many items windows had when they were read last, and where the upstream
// counted more.
type sizesOf struct {
	history []ingest.WindowCount
	counts  ingest.Counts
	thin    []coverage.Counted
	short   []view.CountCheck
}

func (i *Inspector) readSizes(ctx context.Context, b EndpointCoverage, within window.Window) (s sizesOf, err error) {
	s.history, err = i.from.Readings.WindowItems(ctx, b.dataset(), b.Asks.Question, withNeighbours(within), mostCounts)
	if err != nil {
		return s, err
	}
	s.counts = ingest.NewCounts(s.history)
	s.thin = thinDays(s.counts, within)
	checks, err := i.from.Counted.CountChecks(ctx, b.dataset(), within, mostShort)
	if err != nil {
		return s, err
	}
	s.short, err = i.stillShort(ctx, b, checks)
	return s, err
}

// itemsOf returns the items of a window, where its readings add up to it, and what the
// upstream counted in it, where it was asked and has more. What was expected of a slice is no
// count of the upstream: it is a share of one of a longer window.
func (s sizesOf) itemsOf(w window.Window) (items, told *int64) {
	if len(s.history) == 0 {
		return nil, nil
	}
	n, whole := s.counts.Whole(w)
	if !whole {
		return nil, nil
	}
	for _, c := range s.short {
		if c.Window == w {
			return &n, c.Upstream
		}
	}
	return &n, nil
}

func windowsOfChecks(checks []view.CountCheck) (out []window.Window) {
	for _, c := range checks {
		out = append(out, c.Window)
	}
	return out
}

func windowsOf(marked []view.Marked) (out []window.Window) {
	for _, m := range marked {
		out = append(out, m.Window)
	}
	return out
}

func windowsOfCounted(days []coverage.Counted) (out []window.Window) {
	for _, d := range days {
		out = append(out, d.Window)
	}
	return out
}

// mostTroubles bounds how many stretches are told one by one.
const mostTroubles = 200

// troublesOf lists what is not as it should be: gaps with their reasons, and what was read or
// accepted with a remark.
func (i *Inspector) troublesOf(ctx context.Context, g mapGround, m view.Mosaic, sizes sizesOf, within window.Window) (out []view.Stretch, err error) {
	gaps, err := i.markPlanned(ctx, g.EndpointCoverage, g.askedGaps(within), g.open, g.campaigns)
	if err != nil {
		return nil, err
	}
	failed, err := i.from.Failed.FailedWindows(ctx, ingest.Partition{Dataset: g.dataset(), Operation: ingest.Harvest})
	if err != nil {
		return nil, err
	}
	for _, gap := range gaps {
		cell := m.Cell(gap.Window)
		if cell.Worst == "" || cell.Worst == view.CellNothing {
			continue // never asked for is no fault
		}
		one := view.Stretch{Window: gap.Window, State: cell.Worst, Gap: &gap}
		if at := slices.IndexFunc(failed, func(f view.Marked) bool { return gap.Fails > 0 && f.Window.Overlaps(gap.Window) }); at >= 0 {
			one.Code, one.TaskID = failed[at].Code, failed[at].TaskID
		}
		out = append(out, one)
	}
	for _, t := range m {
		switch t.State {
		case view.CellThin, view.CellShort, view.CellWaived, view.CellRejects:
			one := view.Stretch{Window: t.Window, State: t.State}
			one.Items, one.Told = sizes.itemsOf(t.Window)
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(x, y view.Stretch) int {
		return cmp.Or(cmp.Compare(x.State.Rank(), y.State.Rank()), x.Window.From.Compare(y.Window.From))
	})
	return out[:min(len(out), mostTroubles)], nil
}

// askedGaps returns the gaps in a range; nothing of it needs to have been asked for.
func (b EndpointCoverage) askedGaps(within window.Window) []view.Gap {
	limit := window.Later(b.Safe, askedTo(b.Cursor.Origin, b.Segments))
	if within.To.After(limit) {
		within.To = limit
	}
	return b.Gaps(within, false)
}

// mostReadings bounds how many slices of a stretch are told.
const mostReadings = 400

// Readings lists the slices of a stretch of one endpoint: what was read of it, what failed,
// what is on its way.
func (i *Inspector) Readings(ctx context.Context, source, endpoint string, within window.Window) (out []view.Reading, err error) {
	if within.Duration() > longestCounted {
		return nil, fmt.Errorf("%w: slices are listed for at most %d days: name a shorter range", fault.ErrInvalid, longestCounted/(24*time.Hour))
	}
	b, err := i.CoverageOfEndpoint(ctx, source, endpoint)
	if err != nil {
		return nil, err
	}
	sizes, err := i.readSizes(ctx, b, within)
	if err != nil {
		return nil, err
	}
	failed, err := i.from.Failed.FailedWindows(ctx, ingest.Partition{Dataset: b.dataset(), Operation: ingest.Harvest})
	if err != nil {
		return nil, err
	}
	open, err := i.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, h := range sizes.history {
		if h.Window.Overlaps(within) {
			one := view.Reading{Window: h.Window, State: view.CellDone, Items: &h.Actual, AsOf: h.AsOf, RunID: h.RunID}
			if slices.ContainsFunc(sizes.short, func(c view.CountCheck) bool { return c.Window.Overlaps(h.Window) }) {
				one.State = view.CellShort
			}
			out = append(out, one)
		}
	}
	gaps := b.failedWindows()
	for _, f := range failed {
		if f.Window.Overlaps(within) && slices.ContainsFunc(gaps, f.Window.Overlaps) {
			state := view.CellFailed
			if f.Code == string(fault.Capped) {
				state = view.CellCapped
			}
			out = append(out, view.Reading{Window: f.Window, State: state, Code: f.Code, TaskID: f.TaskID})
		}
	}
	for _, w := range open {
		if w.Overlaps(within) {
			out = append(out, view.Reading{Window: w, State: view.CellReading})
		}
	}
	slices.SortStableFunc(out, func(x, y view.Reading) int { return x.Window.From.Compare(y.Window.From) })
	return out[:min(len(out), mostReadings)], nil
}

// CoverageOfEndpoint finds what is covered of one endpoint; an empty name is the only one
// that was harvested.
func (i *Inspector) CoverageOfEndpoint(ctx context.Context, source, endpoint string) (EndpointCoverage, error) {
	src, _, err := i.from.Sources.Source(ctx, source)
	if err != nil {
		return EndpointCoverage{}, err
	}
	covered, err := i.CoverageOf(ctx, src)
	if err != nil {
		return EndpointCoverage{}, err
	}
	for _, b := range covered.All {
		if b.Endpoint == endpoint || endpoint == "" && (b.Expected() || !slices.ContainsFunc(covered.All, EndpointCoverage.Expected)) {
			return b, nil
		}
	}
	return EndpointCoverage{}, notHarvested(source, endpoint)
}

func notHarvested(source, endpoint string) error {
	return fmt.Errorf("%s/%s was never harvested here: %w", source, endpoint, fault.ErrNotFound)
}

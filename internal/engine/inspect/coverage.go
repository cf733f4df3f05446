package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// EndpointCoverage is the coverage of one endpoint as the source is configured now.
type EndpointCoverage struct {
	Source, Endpoint, Field string
	At                      ingest.Namespace
	Asks                    outline.Endpoint // as the source defines it now
	Cursor                  view.Cursor      // zero if never harvested
	Segments                []coverage.Segment
	Lags                    []sector.Lag       // parts of the list that owe what others have read
	Refused                 []sector.Refusal   // parts of the list that the upstream refuses
	Campaigns               []coverage.Segment // what backfills read that asked the same
	Earlier                 Earlier
	Paused                  bool            // nothing of it is tried before somebody resumes it
	CauseChanged            time.Time       // when what may have made it fail was changed last
	Capped                  []window.Window // of what failed: more than the upstream serves
	LastFailed              int64           // the task that failed last at what is still owed; 0: it is not known any more
	Earliest                time.Time       // zero if not declared
	Safe                    time.Time       // where a harvest that starts now would end
}

// dataset names the endpoint.
func (b EndpointCoverage) dataset() ingest.Dataset {
	return ingest.Dataset{Source: b.Source, Endpoint: b.Endpoint}
}

// Known reports whether the endpoint was ever harvested as the source asks now.
func (b EndpointCoverage) Known() bool { return b.Cursor.ID != 0 }

// Expected reports whether somebody counts on the endpoint: it was harvested, now or
// while the source asked for something else.
func (b EndpointCoverage) Expected() bool { return b.Known() || !b.Earlier.Origin.IsZero() }

// Earlier is what was harvested while the source asked for something else. It
// counts for nothing now, so the time it reaches back to is a gap until the
// present question has been put to it too (D§5.7).
type Earlier struct {
	CursorID int64
	Origin   time.Time // zero if the source always asked the same
}

// SourceCoverage is the coverage of a source by endpoint, and the cursors that count for
// none of them.
type SourceCoverage struct {
	All     []EndpointCoverage
	Ignored []Ignored
}

// Ignored is a cursor that says nothing about what the source asks for now.
type Ignored struct {
	Cursor     view.Cursor
	OtherField bool // it follows another date field; else it asked for something else
}

// CoverageOf finds what is covered for each endpoint that can be harvested. Only the
// namespace of what the source asks for today counts: a changed date field or
// expression shows as a gap (D§5.7). What was found is returned also beside an error.
func (i *Inspector) CoverageOf(ctx context.Context, src *registry.Source) (out SourceCoverage, err error) {
	cursors, err := i.from.Coverage.Cursors(ctx, src.Code)
	if err != nil {
		return out, err
	}
	now, err := i.from.Clock.Now(ctx)
	if err != nil {
		return out, err
	}
	all, wrong := i.from.Outlines.OutlineSource(src)
	return i.coverageAt(ctx, definedSource{src.Code, all, wrong}, cursors, now)
}

// definedSource is a source as its definition has it.
type definedSource struct {
	code      string
	endpoints []outline.Endpoint // that can be harvested
	wrong     error              // why it cannot be planned, or only those endpoints
}

// coverageAt does what CoverageOf does, with the cursors of the source and an instant.
func (i *Inspector) coverageAt(ctx context.Context, src definedSource, cursors []view.Cursor, now time.Time) (out SourceCoverage, err error) {
	for _, e := range src.endpoints {
		blank, err := blankCoverage(src.code, e, now)
		if err != nil {
			return out, unplannable{err}
		}
		if err := i.readCampaigns(ctx, &blank, cursors); err != nil {
			return out, err
		}
		if err := i.addCoverage(ctx, blank, cursors, &out); err != nil {
			return out, err
		}
	}
	if src.wrong != nil {
		return out, unplannable{src.wrong}
	}
	return out, nil
}

// unplannable is why a source cannot be planned as it is defined: other errors of coverageAt are
// about what could not be read.
type unplannable struct{ error }

func (u unplannable) Unwrap() error { return u.error }

// blankCoverage returns the coverage of an endpoint without its cursor, as the source defines it.
func blankCoverage(source string, e outline.Endpoint, now time.Time) (b EndpointCoverage, err error) {
	b = EndpointCoverage{Source: source, Endpoint: e.Name, Field: e.Field, At: e.At, Asks: e, Safe: HarvestEnd(e.Window, now)}
	if text := e.Window.Earliest; text != "" {
		b.Earliest, err = window.ParseInstant(text)
	}
	return b, err
}

// readCampaigns reads what backfills read of the same question. It asks only where one of the
// source's cursors is of a backfill over the same date.
func (i *Inspector) readCampaigns(ctx context.Context, b *EndpointCoverage, cursors []view.Cursor) error {
	if !slices.ContainsFunc(cursors, func(c view.Cursor) bool { return c.Operation == string(ingest.Backfill) && c.Key == b.Field }) {
		return nil
	}
	var err error
	b.Campaigns, err = i.from.Backfills.CampaignCoverage(ctx, b.dataset(), b.Field, b.Asks.Question)
	return err
}

// addCoverage adds the coverage of each cursor that follows what the endpoint asks for now,
// or the blank one if none does.
func (i *Inspector) addCoverage(ctx context.Context, blank EndpointCoverage, cursors []view.Cursor, to *SourceCoverage) error {
	var found []EndpointCoverage
	var others []view.Cursor
	for _, c := range cursors {
		if c.Endpoint != blank.Endpoint || c.Operation != string(ingest.Harvest) {
			continue
		}
		if !c.IsAt(blank.At) {
			to.Ignored = append(to.Ignored, Ignored{c, c.Key != blank.Field})
			others = append(others, c)
			continue
		}
		segments, err := i.from.Coverage.Segments(ctx, c.ID)
		if err != nil {
			return err
		}
		b := blank
		b.Cursor, b.Segments = c, segments
		if slices.ContainsFunc(segments, func(s coverage.Segment) bool { return !s.Done() }) {
			if b.Lags, err = i.from.Coverage.LagsOf(ctx, c.ID); err != nil {
				return err
			}
			if b.Refused, err = i.from.Coverage.RefusalsOf(ctx, c.ID); err != nil {
				return err
			}
		}
		if err := i.findCauses(ctx, &b); err != nil {
			return err
		}
		found = append(found, b)
	}
	if len(found) == 0 {
		found = []EndpointCoverage{blank}
	}
	for n := range found {
		found[n].Earlier = found[n].furthestOf(others)
	}
	to.All = append(to.All, found...)
	return nil
}

// furthestOf returns the cursor that reaches back furthest, of former cursors that
// the source itself asked with. A cursor without OwnSince that is newer than ours came
// from a run with overrides, which the source does not answer for.
func (b EndpointCoverage) furthestOf(others []view.Cursor) (out Earlier) {
	for _, c := range others {
		own := !b.Known() || !c.OwnSince.IsZero() || c.ID < b.Cursor.ID
		if own && !c.Origin.IsZero() && (out.Origin.IsZero() || c.Origin.Before(out.Origin)) {
			out = Earlier{c.ID, c.Origin}
		}
	}
	return out
}

// findCauses looks up what decides when failed ranges are tried again, if there are any.
func (i *Inspector) findCauses(ctx context.Context, b *EndpointCoverage) (err error) {
	failed := b.failedWindows()
	if len(failed) == 0 {
		return nil
	}
	of := ingest.Partition{Dataset: b.dataset(), Operation: ingest.Harvest}
	if b.CauseChanged, err = i.from.Failed.CauseChanged(ctx, of); err != nil {
		return err
	}
	if _, b.Paused, err = i.from.Failed.Paused(ctx, of); err != nil {
		return err
	}
	marks, err := i.failedAmong(ctx, of, failed)
	for _, m := range marks {
		b.LastFailed = max(b.LastFailed, m.TaskID)
	}
	b.Capped = cappedOf(marks)
	return err
}

func (b EndpointCoverage) failedWindows() (out []window.Window) {
	for _, s := range b.Segments {
		if s.Fails > 0 && !s.Done() {
			out = append(out, s.Window)
		}
	}
	return out
}

// Open returns the windows of the harvest whose tasks wait or are worked on: what is
// owed there is on its way, and is not planned twice.
func (i *Inspector) Open(ctx context.Context, b EndpointCoverage) ([]window.Window, error) {
	return i.from.Coverage.OpenWindows(ctx, ingest.Partition{Dataset: b.dataset(), Operation: ingest.Harvest}, b.Cursor.ID)
}

// HarvestEnd returns where a harvest that starts now would end.
func HarvestEnd(c window.Config, now time.Time) time.Time {
	total, err := window.Harvest(c, window.Inputs{Now: now})
	if err != nil {
		return window.Instant(now)
	}
	return total.Window.To
}

// askedTo returns the end of what any plan ever asked for.
func askedTo(origin time.Time, segments []coverage.Segment) time.Time {
	if n := len(segments); n > 0 {
		return window.Later(origin, segments[n-1].Window.To)
	}
	return origin
}

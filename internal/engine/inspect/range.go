package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// RangeQuery says which time is looked at. Without an end that was named it is what
// was ever asked for.
type RangeQuery struct {
	From, To *time.Time
	All      bool // from the declared earliest instant of the source to now
}

// OnlyAsked reports whether nobody named a start, so that only what was ever asked
// for counts.
func (q RangeQuery) OnlyAsked() bool { return q.From == nil && !q.All }

// within fills the ends that were not named. The result may be empty.
func (q RangeQuery) within(from, to time.Time) window.Window {
	w := window.Window{From: from, To: to}
	if q.From != nil {
		w.From = *q.From
	}
	if q.To != nil {
		w.To = *q.To
	}
	return w
}

// Range is the time of a coverage that is looked at. It is empty where nothing was asked
// for: a watermark that was set back by hand begins its coverage anew.
type Range struct {
	Window window.Window
	// Cut is set where the range was longer: what lies after it is not safe to read yet.
	Cut *window.Window
	// Before: history before the range was never asked for, and is left out.
	Before bool
	// SafeTo is how far a harvest would read now, if that is after the range; else zero.
	SafeTo time.Time
}

// Skips reports whether a look at all endpoints leaves one out that nobody asked for:
// it was never harvested, while others were.
func (q RangeQuery) Skips(b EndpointCoverage, all []EndpointCoverage) bool {
	return q.OnlyAsked() && !b.Expected() && slices.ContainsFunc(all, EndpointCoverage.Known)
}

// Range returns where to look for gaps of an endpoint, and what that leaves out.
func (b EndpointCoverage) Range(q RangeQuery) (out Range, err error) {
	from, to := b.askedRange(q.All)
	if from.IsZero() && q.From == nil && b.Known() { // its value was taken away, and nothing was asked for since
		return Range{Window: window.Window{From: b.Safe, To: b.Safe}}, nil
	}
	if from.IsZero() && q.From == nil {
		return out, fmt.Errorf("%s %s was never harvested here: %w: run `patra harvest %s` first, or name a start with --from", b.Source, b.Endpoint, fault.ErrNotFound, b.Source)
	}
	w := q.within(from, to)
	out.Window = w
	if w.Empty() {
		return out, nil
	}
	if limit := window.Later(b.Safe, askedTo(b.Cursor.Origin, b.Segments)); w.To.After(limit) { // the time to come is no gap
		out.Cut, out.Window.To = &w, limit
	}
	if !out.Window.Empty() {
		b.noteOutside(&out, q)
	}
	return out, nil
}

// askedRange returns what was ever asked for, or all the source has.
func (b EndpointCoverage) askedRange(all bool) (from, to time.Time) {
	from, to = b.Cursor.Origin, askedTo(b.Cursor.Origin, b.Segments)
	if at := b.Earlier.Origin; !at.IsZero() && (from.IsZero() || at.Before(from)) {
		from = at
	}
	if left := b.Cursor.Left; len(left) > 0 && (from.IsZero() || left[0].From.Before(from)) {
		from, to = left[0].From, window.Later(to, left[len(left)-1].To)
	}
	if all {
		to = window.Later(to, b.Safe)
		if !b.Earliest.IsZero() {
			from = b.Earliest
		}
	}
	if to.IsZero() {
		to = b.Safe
	}
	return from, to
}

// noteOutside notes what a range leaves out that nobody named, so that "no gaps" is
// not taken for more than it says.
func (b EndpointCoverage) noteOutside(r *Range, q RangeQuery) {
	r.Before = q.OnlyAsked() && (b.Earliest.IsZero() || b.Earliest.Before(r.Window.From))
	if q.To == nil && !q.All && b.Safe.After(r.Window.To) {
		r.SafeTo = b.Safe
	}
}

package query

import (
	"math/big"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// checkShape checks what is wrong with a range at any upstream.
func (c *checking) checkShape(a Atom, path string) bool {
	r, value := a.Range, joinPath(path, "value")
	if r.From == "" && r.To == "" {
		c.addFinding("E-RANGE-OPEN", value, a.Field, "the range on field %s has no bound at all", a.Field)
		return false
	}
	if r.From != "" && r.To != "" {
		order := compareValues(r.Type, r.From, r.To)
		if order > 0 || order == 0 && (r.FromBoundary == Open || r.ToBoundary == Open) {
			c.addFinding("E-RANGE-EMPTY", value, a.Field, "the range on field %s from %s to %s holds nothing", a.Field, r.From, r.To)
			return false
		}
	}
	return true
}

func (c *checking) checkInterval(f limits, a Atom, path string) {
	r, value := a.Range, joinPath(path, "value")
	if !c.checkShape(a, path) {
		return
	}
	if r.From == "" && !*f.OpenStart {
		c.addFinding("E-RANGE-OPEN-START", joinPath(value, "from"), a.Field, "a range on field %s needs its lower bound", a.Field)
	}
	if r.To == "" && !*f.OpenEnd {
		c.addFinding("E-RANGE-OPEN-END", joinPath(value, "to"), a.Field, "a range on field %s needs its upper bound", a.Field)
	}
	if closedAtInfinity(r) && !f.ClosedAtInfinity {
		c.addFinding("E-RANGE-CLOSED-INFINITY", value, a.Field, "the range on field %s is closed where it has no bound: write OPEN there", a.Field)
	}
	if c.isWindow(a) && f.Range == RangeDate && r.Type == RangeDateTime {
		r = c.window.localDays(r) // the date filter turns instants into dates
	}
	if r.Type != f.Range {
		c.addFinding("E-RANGE-KIND", joinPath(value, "rangeType"), a.Field, "field %s takes ranges of kind %s, not %s", a.Field, f.Range, r.Type)
		return
	}
	c.checkExtremes(f, a.Field, r, value)
}

func closedAtInfinity(r Interval) bool {
	return r.From == "" && r.FromBoundary == Closed || r.To == "" && r.ToBoundary == Closed
}

// checkExtremes compares the lowest and the highest value that belongs to the range.
func (c *checking) checkExtremes(f limits, field string, r Interval, value string) {
	lowest, highest := r.outermostValues()
	if f.Min != "" && lowest != "" && compareValues(r.Type, lowest, f.Min) < 0 {
		c.addFinding("E-"+string(r.Type)+"-MIN", joinPath(value, "from"), field, "%s on field %s lies below %s", lowest, field, f.Min)
	}
	if f.Max != "" && highest != "" && compareValues(r.Type, highest, f.Max) > 0 {
		c.addFinding("E-"+string(r.Type)+"-MAX", joinPath(value, "to"), field, "%s on field %s lies above %s", highest, field, f.Max)
	}
}

// outermostValues returns the outermost values of a range. A number next to an open end
// has no neighbour, so the end itself stands for it.
func (r Interval) outermostValues() (lowest, highest string) {
	lowest, highest = r.From, r.To
	if r.FromBoundary == Open {
		lowest = stepValue(r.Type, lowest, 1)
	}
	if r.ToBoundary == Open {
		highest = stepValue(r.Type, highest, -1)
	}
	return lowest, highest
}

// stepValue returns the next or previous date or instant.
func stepValue(t RangeType, text string, by int) string {
	switch t {
	case RangeDate:
		if d, ok := parseDate(text); ok {
			return d.AddDate(0, 0, by).Format(time.DateOnly)
		}
	case RangeDateTime:
		if at, ok := parseInstant(text); ok {
			return instantText(at.Add(time.Duration(by) * tick))
		}
	}
	return text
}

// compareValues orders two values of one type. Both were found valid.
func compareValues(t RangeType, a, b string) int {
	switch t {
	case RangeDateTime:
		x, _ := parseInstant(a)
		y, _ := parseInstant(b)
		return x.Compare(y)
	case RangeNumber:
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if okX && okY {
			return x.Cmp(y)
		}
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// localDays returns the local days that a range of instants touches.
func (c Calendar) localDays(r Interval) Interval {
	w, _ := r.instantWindow()
	days := Calendar{DateFilter{Precision: Day, From: Inclusive, To: Inclusive}, c.zone}
	from, to := days.Bounds(w)
	out := Interval{Type: RangeDate, FromBoundary: Open, ToBoundary: Open}
	if r.From != "" {
		out.From, out.FromBoundary = from.Format(time.DateOnly), Closed
	}
	if r.To != "" {
		out.To, out.ToBoundary = to.Format(time.DateOnly), Closed
	}
	return out
}

// Ends of a range that has no bound there; nothing we store lies beyond.
var (
	dawn = time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)
	dusk = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// instantWindow returns a range of dates or instants as a half-open window. Dates are
// taken as days of the calendar, without a zone.
func (r Interval) instantWindow() (w window.Window, dated bool) {
	read, unit := parseInstant, func(t time.Time) time.Time { return t.Add(tick) }
	if dated = r.Type == RangeDate; dated {
		read, unit = parseDate, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	}
	w = window.Window{From: dawn, To: dusk}
	if at, ok := read(r.From); ok {
		if w.From = at; r.FromBoundary == Open {
			w.From = unit(at)
		}
	}
	if at, ok := read(r.To); ok {
		if w.To = at; r.ToBoundary == Closed {
			w.To = unit(at)
		}
	}
	return w, dated
}

package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Precision is the finest instant a date filter can name.
type Precision string

// Precisions.
const (
	Second Precision = "SECOND"
	Minute Precision = "MINUTE"
	Day    Precision = "DAY"
	Month  Precision = "MONTH"
)

// Bound says whether a filter's end is part of what it selects.
type Bound string

// Bounds.
const (
	Inclusive Bound = "INCLUSIVE"
	Exclusive Bound = "EXCLUSIVE"
)

// DateFilter is the `filter` section of an endpoint: how the upstream selects
// by date. What it cannot express exactly it selects too widely, never too
// narrowly; the executor drops what lies outside.
type DateFilter struct {
	Field     string    `json:"field" required:"true" doc:"the date that is followed; names the cursor, for example indexed"`
	Precision Precision `json:"precision,omitempty" enum:"SECOND,MINUTE,DAY,MONTH" doc:"finest instant the filter can name (default DAY)"`
	From      Bound     `json:"from,omitempty" enum:"INCLUSIVE,EXCLUSIVE" doc:"is the lower bound selected (default INCLUSIVE)"`
	To        Bound     `json:"to,omitempty" enum:"INCLUSIVE,EXCLUSIVE" doc:"is the upper bound selected (default INCLUSIVE)"`
	Format    string    `json:"format,omitempty" doc:"how a bound is written: yyyy MM dd HH mm ss and literal characters (default by precision)"`
}

// WithDefaults fills what the source left open.
func (f DateFilter) WithDefaults() DateFilter {
	if f.Precision == "" {
		f.Precision = Day
	}
	if f.From == "" {
		f.From = Inclusive
	}
	if f.To == "" {
		f.To = Inclusive
	}
	if f.Format == "" {
		f.Format = map[Precision]string{
			Second: "yyyy-MM-ddTHH:mm:ssZ", Minute: "yyyy-MM-ddTHH:mmZ", Day: "yyyy-MM-dd", Month: "yyyy-MM",
		}[f.Precision]
	}
	return f
}

// Validate names the field that is wrong.
func (f DateFilter) Validate() error {
	if f.Field == "" {
		return fmt.Errorf("filter.field is missing: name the date that is followed")
	}
	return nil
}

// Bounds gives the two values to send for a window, as instants on the grid of
// the filter's precision.
func (f DateFilter) Bounds(w window.Window) (from, to time.Time) {
	from = f.floor(w.From)
	if f.From == Exclusive {
		from = f.floor(from.Add(-time.Microsecond))
	}
	last := w.To.Add(-time.Microsecond) // the last instant that belongs to [from,to)
	to = f.floor(last)
	if f.To == Exclusive {
		to = f.next(to)
	}
	return from, to
}

// Selected is the window of instants the upstream selects for w: never less than w.
func (f DateFilter) Selected(w window.Window) window.Window {
	from, to := f.Bounds(w)
	if f.From == Exclusive {
		from = f.next(from)
	}
	if f.To == Inclusive {
		to = f.next(to)
	}
	return window.Window{From: from, To: to}
}

// Text writes a bound in the filter's format.
func (f DateFilter) Text(t time.Time) string {
	return t.UTC().Format(layout.Replace(f.Format))
}

var layout = strings.NewReplacer("yyyy", "2006", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05")

// Cut moves an instant down to the filter's grid, so that slices do not make
// the upstream serve the same day twice (S§5.4).
func (f DateFilter) Cut(t time.Time) time.Time { return f.floor(t) }

func (f DateFilter) floor(t time.Time) time.Time {
	t = t.UTC()
	switch f.Precision {
	case Second:
		return t.Truncate(time.Second)
	case Minute:
		return t.Truncate(time.Minute)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
}

func (f DateFilter) next(t time.Time) time.Time {
	switch f.Precision {
	case Second:
		return t.Add(time.Second)
	case Minute:
		return t.Add(time.Minute)
	case Month:
		return t.AddDate(0, 1, 0)
	default:
		return t.AddDate(0, 0, 1)
	}
}

package query

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Unit returns the length of the shortest range the precision can name.
func (p Precision) Unit() time.Duration {
	switch p {
	case Second:
		return time.Second
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Month:
		return 28 * 24 * time.Hour
	case Year:
		return 365 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// WithinUnit reports whether one value of the filter names everything in a
// window: it lies within one second, minute, hour, day, month or year of the upstream.
func (f DateFilter) WithinUnit(w window.Window) bool {
	whole, first := f.Selected(w), f.Selected(window.Window{From: w.From, To: w.From.Add(tick)})
	return whole.From.Equal(first.From) && whole.To.Equal(first.To)
}

// UnitName writes the unit of the filter that a window begins in, always in the same way,
// whatever the format of the filter: 2025, 2025-03, 2025-03-04 or 2025-03-04T05.
func (f DateFilter) UnitName(w window.Window) string {
	layout := time.DateOnly
	switch f.Precision {
	case Year:
		layout = "2006"
	case Month:
		layout = "2006-01"
	case Hour:
		layout = "2006-01-02T15"
	}
	return f.Unit(w).Format(layout)
}

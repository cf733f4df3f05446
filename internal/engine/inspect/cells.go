package inspect

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Unit is a unit of the calendar in UTC, by which time is cut into cells.
type Unit string

// The units.
const (
	Day   Unit = "day"
	Week  Unit = "week"
	Month Unit = "month"
	Year  Unit = "year"
)

// floor returns the start of the unit an instant lies in.
func (u Unit) floor(at time.Time) time.Time {
	switch u {
	case Week:
		return window.FloorAlign(at, window.Week)
	case Month:
		return window.FloorAlign(at, window.Month)
	case Year:
		return time.Date(at.UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return window.FloorAlign(at, window.Day)
}

// next returns the start of the unit after the one an instant lies in.
func (u Unit) next(at time.Time) time.Time {
	switch start := u.floor(at); u {
	case Week:
		return start.AddDate(0, 0, 7)
	case Month:
		return start.AddDate(0, 1, 0)
	case Year:
		return start.AddDate(1, 0, 0)
	default:
		return start.AddDate(0, 0, 1)
	}
}

// MostCells keeps a typing error from drawing ten thousand years by day.
const MostCells = 40_000

// TooManyCellsError says that a unit is too short for a range.
type TooManyCellsError struct {
	Unit   Unit
	Window window.Window
}

func (e TooManyCellsError) Error() string {
	return fmt.Sprintf("%s by %s is more than %d cells", e.Window, e.Unit, MostCells)
}

// Unwrap makes it an error of whoever asked.
func (e TooManyCellsError) Unwrap() error { return fault.ErrInvalid }

// Cells cuts a window at the calendar; the first and the last may be parts.
func (u Unit) Cells(w window.Window) (out []window.Window, err error) {
	for at := w.From; at.Before(w.To); {
		next := u.next(at)
		if next.After(w.To) {
			next = w.To
		}
		out = append(out, window.Window{From: at, To: next})
		if at = next; len(out) > MostCells {
			return nil, TooManyCellsError{u, w}
		}
	}
	return out, nil
}

// EqualCells cuts a window into cells that tile it; fewer when it is shorter than
// one microsecond a cell.
func EqualCells(w window.Window, width int) []window.Window {
	from := w.From.UnixMicro()
	length := w.To.UnixMicro() - from
	n := min(int64(width), length)
	var out []window.Window
	for i := range max(n, 0) {
		out = append(out, window.Window{From: time.UnixMicro(from + edge(length, i, n)).UTC(), To: time.UnixMicro(from + edge(length, i+1, n)).UTC()})
	}
	return out
}

// edge returns length*i/n without leaving 64 bits.
func edge(length, i, n int64) int64 { return length/n*i + length%n*i/n }

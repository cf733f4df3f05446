package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// zoom is how fine a strip is drawn: cells of one calendar unit in UTC, a row for
// each unit above it.
type zoom string

const (
	byDay   zoom = "day"
	byWeek  zoom = "week"
	byMonth zoom = "month"
	byYear  zoom = "year"
)

const zooms = "day, week, month or year"

func parseZoom(text string) (zoom, error) {
	switch z := zoom(strings.ToLower(text)); z {
	case "", byDay, byWeek, byMonth, byYear:
		return z, nil
	}
	return "", usagef("--by %s: expected %s", text, zooms)
}

// floor is the start of the unit an instant lies in.
func (z zoom) floor(at time.Time) time.Time {
	switch z {
	case byWeek:
		return window.FloorAlign(at, window.Week)
	case byMonth:
		return window.FloorAlign(at, window.Month)
	case byYear:
		return time.Date(at.UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return window.FloorAlign(at, window.Day)
}

func (z zoom) next(at time.Time) time.Time {
	switch start := z.floor(at); z {
	case byWeek:
		return start.AddDate(0, 0, 7)
	case byMonth:
		return start.AddDate(0, 1, 0)
	case byYear:
		return start.AddDate(1, 0, 0)
	default:
		return start.AddDate(0, 0, 1)
	}
}

// row is the line a cell stands in, and its place there.
func (z zoom) row(at time.Time) (label string, column int) {
	switch z {
	case byWeek:
		year, week := at.ISOWeek()
		return fmt.Sprintf("%04d", year), week - 1
	case byMonth:
		return at.Format("2006"), int(at.Month()) - 1
	case byYear:
		return fmt.Sprintf("%04d", at.Year()/10*10), at.Year() % 10
	default:
		return at.Format("2006-01"), at.Day() - 1
	}
}

// mostCells keeps a typing error from drawing ten thousand years by day.
const mostCells = 40_000

// cells cuts a window at the calendar; the first and the last may be parts.
func (z zoom) cells(w window.Window) (out []window.Window, err error) {
	for at := w.From; at.Before(w.To); {
		next := z.next(at)
		if next.After(w.To) {
			next = w.To
		}
		out = append(out, window.Window{From: at, To: next})
		if at = next; len(out) > mostCells {
			return nil, usagef("--by %s cuts %s into more than %d cells: choose a shorter range or a longer unit", z, brief(w), mostCells)
		}
	}
	return out, nil
}

// rows draws the cells, a line for each unit above.
func (z zoom) rows(cells []window.Window, sign func(window.Window) rune) []string {
	var out []string
	last := ""
	for _, cell := range cells {
		label, column := z.row(cell.From)
		if label != last || len(out) == 0 {
			out, last = append(out, fmt.Sprintf("%-7s  %s", label, strings.Repeat(" ", column))), label
		}
		out[len(out)-1] += string(sign(cell))
	}
	return out
}

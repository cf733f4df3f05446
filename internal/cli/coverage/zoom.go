package coverage

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// zoom is how fine a strip is drawn: cells of one calendar unit in UTC, a row for
// each unit above it.
type zoom inspect.Unit

const zooms = "day, week, month or year"

func parseZoom(text string) (zoom, error) {
	switch z := zoom(strings.ToLower(text)); z {
	case "", zoom(inspect.Day), zoom(inspect.Week), zoom(inspect.Month), zoom(inspect.Year):
		return z, nil
	}
	return "", term.Usagef("--by %s: expected %s", text, zooms)
}

// rowOf is the line a cell stands in, and its place there.
func (z zoom) rowOf(at time.Time) (label string, column int) {
	switch inspect.Unit(z) {
	case inspect.Week:
		year, week := at.ISOWeek()
		return fmt.Sprintf("%04d", year), week - 1
	case inspect.Month:
		return at.Format("2006"), int(at.Month()) - 1
	case inspect.Year:
		return fmt.Sprintf("%04d", at.Year()/10*10), at.Year() % 10
	default:
		return at.Format("2006-01"), at.Day() - 1
	}
}

// cutCalendar cuts a window at the calendar; the first and the last may be parts.
func (z zoom) cutCalendar(w window.Window) ([]window.Window, error) {
	out, err := inspect.Unit(z).Cells(w)
	return out, orTooFine(err)
}

// orTooFine says which flags to change where a range has too many cells.
func orTooFine(err error) error {
	var tooMany inspect.TooManyCellsError
	if errors.As(err, &tooMany) {
		return term.Usagef("--by %s cuts %s into more than %d cells: choose a shorter range or a longer unit", tooMany.Unit, wording.WindowText(tooMany.Window), inspect.MostCells)
	}
	return err
}

// drawRows draws the cells, a line for each unit above.
func (z zoom) drawRows(cells []window.Window, sign func(window.Window) rune) []string {
	var out []string
	last := ""
	for _, cell := range cells {
		label, column := z.rowOf(cell.From)
		if label != last || len(out) == 0 {
			out, last = append(out, fmt.Sprintf("%-7s  %s", label, strings.Repeat(" ", column))), label
		}
		out[len(out)-1] += string(sign(cell))
	}
	return out
}

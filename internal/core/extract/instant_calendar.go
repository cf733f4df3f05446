package extract

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// unit is how exact a date is.
type unit int

const (
	instant unit = iota // a second or finer
	minute
	hour
	day
	month
	year
)

// calendar is a date in parts. Zero parts are not given.
type calendar struct {
	year, month, day     int
	hour, minute, second int
	unit                 unit
	// until is the last year a date may lie in that is only roughly known, such
	// as a season or a span of months; zero for a date that is exact in its unit.
	until int
}

// readCalendar turns parts into a reading. A part that does not exist, such as 30
// February, is an error: the library would move it to March.
func (d *Dates) readCalendar(c calendar) (reading, error) {
	m, first := max(c.month, 1), max(c.day, 1)
	if m > 12 || first > 31 || c.hour > 23 || c.minute > 59 || c.second > 59 || min(c.year, c.month, c.day, c.hour, c.minute, c.second) < 0 {
		return reading{}, fmt.Errorf("there is no %s", c)
	}
	if plain := time.Date(c.year, time.Month(m), first, 0, 0, 0, 0, time.UTC); plain.Day() != first {
		return reading{}, fmt.Errorf("there is no %s", c)
	}
	return d.readSpan(d.localInstant(c.year, m, first, c.hour, c.minute, c.second), c.unit, c.until)
}

// readSpan adds the span a date of this unit names.
func (d *Dates) readSpan(at time.Time, u unit, until int) (reading, error) {
	r, err := exactReading(at)
	if err != nil {
		return r, err
	}
	y, m, dd := at.In(d.zone).Date()
	switch {
	case until > 0:
		r.within = window.Window{From: d.localInstant(y, 1, 1, 0, 0, 0).UTC(), To: d.localInstant(max(y, until)+1, 1, 1, 0, 0, 0).UTC()}
	case u == year:
		r.within.To = d.localInstant(y+1, 1, 1, 0, 0, 0).UTC()
	case u == month:
		r.within.To = d.localInstant(y, int(m)+1, 1, 0, 0, 0).UTC()
	case u == day:
		r.within.To = d.localInstant(y, int(m), dd+1, 0, 0, 0).UTC()
	case u == hour:
		r.within.To = r.at.Add(time.Hour)
	case u == minute:
		r.within.To = r.at.Add(time.Minute)
	}
	return r, nil
}

// localInstant returns the instant of a wall clock. Where the clocks jump over
// midnight the library may answer with an instant of the day before; the day begins at
// the jump.
func (d *Dates) localInstant(y, m, dd, hh, mm, ss int) time.Time {
	at := time.Date(y, time.Month(m), dd, hh, mm, ss, 0, d.zone)
	if wall := time.Date(y, time.Month(m), dd, 0, 0, 0, 0, time.UTC); at.Day() != wall.Day() {
		if _, jump := at.ZoneBounds(); !jump.IsZero() {
			return jump
		}
	}
	return at
}

func (c calendar) String() string {
	text := fmt.Sprintf("%04d", c.year)
	if c.month > 0 {
		text += fmt.Sprintf("-%02d", c.month)
	}
	if c.day > 0 {
		text += fmt.Sprintf("-%02d", c.day)
	}
	if c.unit < day {
		text += fmt.Sprintf(" %02d:%02d:%02d", c.hour, c.minute, c.second)
	}
	return text
}

package window

import (
	"fmt"
	"time"
)

// Unit is a calendar step in UTC (D§5.6).
type Unit string

const (
	Minute Unit = "MINUTE"
	Hour   Unit = "HOUR"
	Day    Unit = "DAY"
	Week   Unit = "WEEK" // starts on Monday
	Month  Unit = "MONTH"
)

// ParseUnit reads a unit code.
func ParseUnit(code string) (Unit, error) {
	switch u := Unit(code); u {
	case Minute, Hour, Day, Week, Month:
		return u, nil
	}
	return "", fmt.Errorf("unit %q: expected MINUTE, HOUR, DAY, WEEK or MONTH", code)
}

// shortestLength returns the least length of one unit: the bound for a window that must hold a whole
// one.
func (u Unit) shortestLength() time.Duration {
	const day = 24 * time.Hour
	switch u {
	case Month:
		return 28 * day
	case Week:
		return 7 * day
	case Day:
		return day
	case Hour:
		return time.Hour
	default:
		return time.Minute
	}
}

// FloorAlign returns the last boundary of the unit at or before t. An unknown unit aligns to
// nothing.
func FloorAlign(t time.Time, u Unit) time.Time {
	t = Instant(t)
	year, month, day := t.Date()
	switch u {
	case Minute:
		return t.Truncate(time.Minute)
	case Hour:
		return t.Truncate(time.Hour)
	case Day:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	case Week:
		sinceMonday := (int(t.Weekday()) + 6) % 7
		return time.Date(year, month, day-sinceMonday, 0, 0, 0, 0, time.UTC)
	case Month:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	default:
		return t
	}
}

// NextAlign returns the first boundary of the unit after t.
func NextAlign(t time.Time, u Unit) time.Time {
	floor := FloorAlign(t, u)
	switch u {
	case Week:
		return floor.AddDate(0, 0, 7)
	case Month:
		return floor.AddDate(0, 1, 0)
	case Minute, Hour, Day:
		return floor.Add(u.shortestLength())
	default:
		return floor
	}
}

// wholeUnits shrinks each window to the calendar units it holds completely.
func wholeUnits(ws []Window, u Unit) []Window {
	var whole []Window
	for _, w := range ws {
		from := FloorAlign(w.From, u)
		if from.Before(w.From) {
			from = NextAlign(w.From, u)
		}
		if unit := (Window{From: from, To: FloorAlign(w.To, u)}); !unit.Empty() {
			whole = append(whole, unit)
		}
	}
	return whole
}

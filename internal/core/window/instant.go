package window

import (
	"fmt"
	"time"
)

// Every column must hold these years on every database (D§5.21).
const (
	minYear = 1000
	maxYear = 9999
)

// Instant returns t as the whole system stores it: UTC, cut to the microsecond. Databases round or cut on their own
// otherwise, and a stamp rounded up can fall into the next day (D§5.21).
func Instant(t time.Time) time.Time {
	t = t.UTC().Round(0) // without the monotonic clock
	if rest := t.Nanosecond() % int(time.Microsecond); rest != 0 {
		return t.Add(-time.Duration(rest))
	}
	return t
}

// The seconds of the first year that is allowed, and of the first one that is not.
var (
	firstSecond = time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastSecond  = time.Date(maxYear+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1
)

// CheckInstant refuses a time outside the years 1000 to 9999.
func CheckInstant(t time.Time) error {
	if s := t.Unix(); s < firstSecond || s > lastSecond {
		return fmt.Errorf("instant %s: the year must be between %d and %d", Text(t), minYear, maxYear)
	}
	return nil
}

// clockSlack is how far the clock of the database may be behind what it said before: the
// clocks of servers are corrected by less all the time.
const clockSlack = 2 * time.Second

// LiesAhead reports whether an instant that a clock gave has not come by that clock: it was
// ahead then, or is behind now.
func LiesAhead(at, clock time.Time) bool { return at.After(clock.Add(clockSlack)) }

// ParseInstant reads RFC 3339 or a date, which is the start of that day in UTC.
func ParseInstant(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("instant %q: expected RFC 3339 such as 2025-03-01T00:00:00Z or a date such as 2025-03-01", text)
	}
	t = Instant(t)
	if err := CheckInstant(t); err != nil {
		return time.Time{}, err
	}
	return t, nil
}

// CanonicalText returns the one spelling of an instant, so that another way to write it changes no fingerprint: a date
// where a day begins in UTC, as files write it, else RFC 3339 in UTC. What is no instant stays as it is.
func CanonicalText(text string) string {
	t, err := ParseInstant(text)
	switch {
	case err != nil:
		return text
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format(time.DateOnly)
	}
	return Text(t)
}

// Text returns RFC 3339 in UTC with only as many fraction digits as needed, six at most.
func Text(t time.Time) string { return Instant(t).Format(time.RFC3339Nano) }

// Earlier returns the earlier of two instants.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two instants; the zero instant is before all.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

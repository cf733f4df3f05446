package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/zone"
)

// Hours are the hours of the week in which requests may leave, by the clock of a
// place. The zero value is always open.
type Hours struct {
	spans []span24
	zone  *time.Location
}

// span24 is a part of the day, on some days of the week. One that passes midnight
// belongs to the day it begins on.
type span24 struct {
	from, to time.Duration // since midnight
	days     [7]bool       // by time.Weekday
}

// Open reports whether requests may leave.
func (h Hours) Open(now time.Time) bool {
	if h.zone == nil {
		return true
	}
	local := now.In(h.zone)
	since := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	today := local.Weekday()
	return slices.ContainsFunc(h.spans, func(s span24) bool { return s.isOpen(today, since) })
}

func (s span24) isOpen(today time.Weekday, since time.Duration) bool {
	if s.from < s.to {
		return s.days[today] && since >= s.from && since < s.to
	}
	return s.days[today] && since >= s.from || s.days[(today+6)%7] && since < s.to
}

// NextOpen returns the first full minute from now on at which they are open, or
// now. Minutes are tried, not computed: where clocks are changed, an hour is
// missing or comes twice.
func (h Hours) NextOpen(now time.Time) time.Time {
	if h.Open(now) {
		return now
	}
	at := now.Truncate(time.Minute)
	for range longestClosed {
		if at = at.Add(time.Minute); h.Open(at) {
			return at
		}
	}
	return at
}

// longestClosed is how many minutes they can be closed: a week, and one more for
// the hour that is left out when clocks are changed.
const longestClosed = 2 * 7 * 24 * 60

// openDuring returns how much of a span of time is open.
func (h Hours) openDuring(from, to time.Time) time.Duration {
	if h.zone == nil {
		return max(to.Sub(from), 0)
	}
	var open time.Duration
	for at := from; at.Before(to); at = at.Add(openStep) {
		if h.Open(at) {
			open += min(openStep, to.Sub(at))
		}
	}
	return open
}

const openStep = 5 * time.Minute

// ParseHours reads 21:00-05:00 America/New_York, or several spans with days of
// the week: 21:00-05:00, Sat-Sun America/New_York is every night and the whole
// weekend. Days without hours are whole days, hours without days are of all days.
// Without a zone, UTC.
func ParseHours(text string) (Hours, error) {
	if text == "" {
		return Hours{}, nil
	}
	parts := strings.Split(text, ",")
	h := Hours{zone: time.UTC}
	for i, part := range parts {
		words := strings.Fields(part)
		if last := len(words) - 1; i == len(parts)-1 && last > 0 && !isDays(words[last]) && !isClock(words[last]) {
			place, err := parseLocation(words[last])
			if err != nil {
				return Hours{}, err
			}
			h.zone, words = place, words[:last]
		}
		s, err := parseSpan(words, strings.TrimSpace(part))
		if err != nil {
			return Hours{}, err
		}
		h.spans = append(h.spans, s)
	}
	return h, nil
}

func parseLocation(place string) (*time.Location, error) {
	parsed, err := zone.Parse(place)
	if err != nil {
		return nil, err
	}
	return parsed.Location()
}

// parseSpan reads Mon-Fri 21:00-05:00, or one half of it.
func parseSpan(words []string, part string) (s span24, err error) {
	s = span24{from: 0, to: 24 * time.Hour, days: everyDay}
	if len(words) > 0 && isDays(words[0]) {
		s.days, words = daysOf(words[0]), words[1:]
		if len(words) == 0 {
			return s, nil
		}
	}
	if len(words) != 1 {
		return s, fmt.Errorf("%q is no span of hours such as 21:00-05:00, Sat-Sun or Mon-Fri 21:00-05:00", part)
	}
	first, last, two := strings.Cut(words[0], "-")
	var wrong error
	s.from, err = parseClock(first)
	s.to, wrong = parseClock(last)
	switch {
	case !two || err != nil || wrong != nil:
		return s, fmt.Errorf("%q is no span of hours such as 21:00-05:00, Sat-Sun or Mon-Fri 21:00-05:00", part)
	case s.from == s.to:
		return s, fmt.Errorf("%q has no length: leave the hours out for the whole day", part)
	}
	return s, nil
}

// parseClock reads 00:00 to 24:00.
func parseClock(text string) (time.Duration, error) {
	if text == "24:00" {
		return 24 * time.Hour, nil
	}
	at, err := time.Parse("15:04", text)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err
}

// isClock tells hours from a zone; an offset such as +09:00 is none.
func isClock(word string) bool {
	first, _, _ := strings.Cut(word, "-")
	_, err := parseClock(first)
	return err == nil
}

var (
	everyDay = [7]bool{true, true, true, true, true, true, true}
	dayNames = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

func isDays(word string) bool {
	first, last, two := strings.Cut(word, "-")
	return slices.Contains(dayNames, first) && (!two || slices.Contains(dayNames, last))
}

// daysOf reads Sat or Fri-Mon.
func daysOf(word string) (days [7]bool) {
	first, last, two := strings.Cut(word, "-")
	from := slices.Index(dayNames, first)
	to := from
	if two {
		to = slices.Index(dayNames, last)
	}
	for d := from; ; d = (d + 1) % 7 {
		days[d] = true
		if d == to {
			return days
		}
	}
}

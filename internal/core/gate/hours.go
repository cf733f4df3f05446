package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/zone"
)

// Hours are the hours of the day in which requests may leave, by the clock of a
// place. They may pass midnight. The zero value is always open.
type Hours struct {
	from, to time.Duration // since midnight; equal: always
	zone     *time.Location
}

// ParseHours reads 21:00-05:00 America/New_York; without a zone, UTC.
func ParseHours(text string) (Hours, error) {
	if text == "" {
		return Hours{}, nil
	}
	span, place, _ := strings.Cut(strings.TrimSpace(text), " ")
	first, last, two := strings.Cut(span, "-")
	from, err := clock(first)
	to, err2 := clock(last)
	if !two || err != nil || err2 != nil {
		return Hours{}, fmt.Errorf("%q is no span of hours such as 21:00-05:00", span)
	}
	if from == to {
		return Hours{}, fmt.Errorf("%q has no length: leave it out for the whole day", span)
	}
	location := time.UTC
	if place = strings.TrimSpace(place); place != "" {
		parsed, err := zone.Parse(place)
		if err == nil {
			location, err = parsed.Location()
		}
		if err != nil {
			return Hours{}, err
		}
	}
	return Hours{from: from, to: to, zone: location}, nil
}

// clock reads 00:00 to 24:00.
func clock(text string) (time.Duration, error) {
	if text == "24:00" {
		return 24 * time.Hour, nil
	}
	at, err := time.Parse("15:04", text)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err
}

// Open reports whether requests may leave.
func (h Hours) Open(now time.Time) bool {
	if h.zone == nil {
		return true
	}
	local := now.In(h.zone)
	since := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	if h.from < h.to {
		return since >= h.from && since < h.to
	}
	return since >= h.from || since < h.to
}

// NextOpen is the first full minute from now on at which they are open, or now.
// Minutes are tried, not computed: where clocks are changed, an hour is missing
// or comes twice.
func (h Hours) NextOpen(now time.Time) time.Time {
	if h.Open(now) {
		return now
	}
	at := now.Truncate(time.Minute)
	for range 2 * 24 * 60 {
		if at = at.Add(time.Minute); h.Open(at) {
			return at
		}
	}
	return at
}

// during is how much of a span is open.
func (h Hours) during(from, to time.Time) time.Duration {
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

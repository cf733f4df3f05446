package gate

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Header is the part of an HTTP header this package reads.
type Header interface{ Get(name string) string }

// OutcomeOf reads a status.
func OutcomeOf(status int) Outcome {
	switch {
	case status == 429:
		return Throttled
	case status >= 500, status == 408:
		return Failed
	case status >= 400:
		return Refused
	}
	return OK
}

// RetryAfter reads a Retry-After header in seconds or HTTP-date form. A missing,
// malformed or past value is zero: it must not stop us, and must not free us
// from our own backoff either. One without measure is cut to MaxRetryAfter.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return boundedSpan(s, MaxRetryAfter)
	}
	if at, ok := parseDate(value); ok {
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	return 0
}

// boundedSpan returns a number of seconds, not negative and not longer than most.
func boundedSpan(s float64, most time.Duration) time.Duration {
	switch {
	case math.IsNaN(s) || s <= 0:
		return 0
	case s >= most.Seconds():
		return most
	}
	return time.Duration(s * float64(time.Second))
}

func parseDate(value string) (time.Time, bool) {
	for _, layout := range []string{time.RFC1123, time.RFC850, time.ANSIC, time.RFC3339} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// ReadHeaders understands what sources send: x-rate-limit-limit with an interval
// and x-concurrency-limit (Crossref), X-RateLimit-Limit, -Remaining and -Reset
// (NCBI, OpenAlex), RateLimit-* and RateLimit with RateLimit-Policy (the drafts
// of the IETF). A limit without its window is not a rate.
func ReadHeaders(h Header, now time.Time) Announced {
	var a Announced
	a.PerSecond = intervalRate(h)
	if n, err := strconv.Atoi(strings.TrimSpace(h.Get("X-Concurrency-Limit"))); err == nil && n > 0 {
		a.Concurrency = n
	}
	for _, family := range []string{"X-RateLimit", "X-Rate-Limit", "RateLimit"} {
		remaining := parseCount(h.Get(family + "-Remaining"))
		if remaining == nil {
			continue
		}
		if a.Remaining == nil || *remaining < *a.Remaining {
			a.Remaining, a.Limit, a.Reset = remaining, parseCount(h.Get(family+"-Limit")), parseReset(h.Get(family+"-Reset"), now)
		}
	}
	readFields(&a, h, now)
	return a
}

// intervalRate returns a limit whose interval is told beside it.
func intervalRate(h Header) float64 {
	for _, family := range []string{"X-Rate-Limit", "X-RateLimit"} {
		limit, err := strconv.ParseFloat(strings.TrimSpace(h.Get(family+"-Limit")), 64)
		if err != nil || !(limit > 0) || math.IsInf(limit, 0) {
			continue
		}
		if interval := parseLength(h.Get(family + "-Interval")); interval > 0 {
			return limit / interval.Seconds()
		}
	}
	return 0
}

// parseLength reads 1s, or a plain number of seconds.
func parseLength(text string) time.Duration {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	s, _ := strconv.ParseFloat(text, 64)
	return boundedSpan(s, maxWait)
}

// parseCount reads a count; a list of several policies counts by its first.
func parseCount(text string) *int64 {
	first, _, _ := strings.Cut(text, ",")
	first, _, _ = strings.Cut(first, ";")
	n, err := strconv.ParseFloat(strings.TrimSpace(first), 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e15 {
		return nil
	}
	out := int64(math.Floor(n))
	return &out
}

// Numbers from here on are instants since 1970, in seconds or milliseconds: no
// window is thirty years long.
const (
	epochSeconds = 1e9
	epochMillis  = 1e12
)

// parseReset reads the end of a window: seconds from now, seconds or milliseconds
// since 1970, or a date.
func parseReset(text string, now time.Time) time.Time {
	text = strings.TrimSpace(text)
	s, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		at, _ := parseDate(text)
		return at
	case !(s >= 0) || s > 1e15:
		return time.Time{}
	case s >= epochMillis:
		return time.UnixMilli(int64(s)).UTC()
	case s >= epochSeconds:
		return time.Unix(int64(s), 0).UTC()
	}
	return now.Add(boundedSpan(s, maxWait))
}

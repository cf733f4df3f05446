package gate

import (
	"strconv"
	"strings"
	"time"
)

// shortWindow is the longest window whose limit is a rate. A limit of a longer
// one is a quota: spread over the window it would be a crawl, and what is left
// of it is announced.
const shortWindow = time.Minute

// readFields understands the IETF drafts: RateLimit with its parameters by name
// (limit=10, remaining=4, reset=3) or by letter ("burst";r=4;t=3), and
// RateLimit-Policy (10;w=1 or "burst";q=10;w=1).
func readFields(a *Announced, h Header, now time.Time) {
	for _, item := range strings.Split(h.Get("RateLimit-Policy"), ",") {
		p := parseParameters(item)
		limit, window := firstParameter(p, "q", ""), firstParameter(p, "w")
		if limit > 0 && window > 0 && window <= shortWindow.Seconds() {
			if rate := limit / window; a.PerSecond == 0 || rate < a.PerSecond {
				a.PerSecond = rate
			}
		}
	}
	text := h.Get("RateLimit")
	if text == "" {
		return
	}
	items := strings.Split(text, ",")
	if strings.Contains(text, "remaining=") {
		items = []string{strings.ReplaceAll(text, ",", ";")}
	}
	for _, item := range items {
		p := parseParameters(item)
		left := firstParameter(p, "r", "remaining")
		if left < 0 || a.Remaining != nil && int64(left) >= *a.Remaining {
			continue
		}
		remaining := int64(left)
		a.Remaining, a.Limit, a.Reset = &remaining, nil, time.Time{}
		if limit := firstParameter(p, "limit", "q"); limit >= 0 {
			n := int64(limit)
			a.Limit = &n
		}
		if wait := firstParameter(p, "t", "reset"); wait >= 0 {
			a.Reset = now.Add(boundedSpan(wait, maxWait))
		}
	}
}

// parseParameters reads 10;w=1 as {"": 10, "w": 1}. What is no number is left out.
func parseParameters(item string) map[string]float64 {
	out := map[string]float64{}
	for _, part := range strings.Split(item, ";") {
		name, value, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, value = "", name
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && n >= 0 && n < 1e15 {
			out[strings.ToLower(strings.TrimSpace(name))] = n
		}
	}
	return out
}

// firstParameter returns the first parameter that is there, or -1.
func firstParameter(p map[string]float64, names ...string) float64 {
	for _, name := range names {
		if n, ok := p[name]; ok {
			return n
		}
	}
	return -1
}

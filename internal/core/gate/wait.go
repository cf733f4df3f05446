package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// WaitOf returns how long an answer asks to wait before the next try: by
// Retry-After, which is always obeyed (§4.10.8), and by the header its source
// names, the longer of the two. Like RetryAfter it is never negative and never
// longer than MaxRetryAfter; what cannot be read asks for nothing.
func WaitOf(h Header, status int, p fault.RetryPolicy, now time.Time) time.Duration {
	wait := RetryAfter(h.Get("Retry-After"), now)
	if p.WaitHeader == "" || !p.AsksToWait(status) {
		return wait
	}
	return max(wait, waitIn(strings.TrimSpace(h.Get(p.WaitHeader)), p.WaitForm, now))
}

func waitIn(text string, form fault.WaitForm, now time.Time) time.Duration {
	if form == fault.WaitDate {
		at, ok := parseDate(text)
		if !ok {
			return 0
		}
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	switch form {
	case fault.WaitMillis:
		number /= 1e3
	case fault.WaitEpoch:
		number -= sinceEpoch(now)
	case fault.WaitEpochMillis:
		number = number/1e3 - sinceEpoch(now)
	}
	return boundedSpan(number, MaxRetryAfter)
}

func sinceEpoch(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }

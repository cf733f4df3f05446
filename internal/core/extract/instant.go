package extract

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Layouts upstreams write instants in; a text without a zone is UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02"}

// millisFrom is where epoch numbers are taken as milliseconds: the same number
// of seconds would lie in the year 5138.
const millisFrom = 100_000_000_000

func parseInstant(v document.Value) (time.Time, error) {
	if !v.Present() || v.IsNull() {
		return time.Time{}, fmt.Errorf("no date")
	}
	if v.Kind() == document.Number {
		n, ok := v.Int()
		if !ok {
			return time.Time{}, fmt.Errorf("%s is not an epoch number", v.Raw())
		}
		at := time.Unix(n, 0)
		if n >= millisFrom || n <= -millisFrom {
			at = time.UnixMilli(n)
		}
		return checked(at, string(v.Raw()))
	}
	text, ok := v.Text()
	if !ok {
		return time.Time{}, fmt.Errorf("%.60s is not a date", v.Raw())
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return checked(at, text)
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is not a date we can read", text)
}

func checked(at time.Time, text string) (time.Time, error) {
	at = window.Instant(at)
	if err := window.CheckInstant(at); err != nil {
		return time.Time{}, fmt.Errorf("%.60q: %w", text, err)
	}
	return at, nil
}

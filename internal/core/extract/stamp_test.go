package extract

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/window"
)

// A date stands for its first instant; when it ends is told beside it.
func TestAStampTellsWhenItEnds(t *testing.T) {
	for _, c := range []struct{ at, from, before string }{
		{"2025-03-05", "2025-03-05T00:00:00Z", "2025-03-06T00:00:00Z"},
		{"2025-03", "2025-03-01T00:00:00Z", "2025-04-01T00:00:00Z"},
		{"2025-03-05T10:00:00.5Z", "2025-03-05T10:00:00.5Z", "2025-03-05T10:00:00.500001Z"},
	} {
		got, reject := one(t, compiled(t), `{"id":"a","at":"`+c.at+`"}`)
		if reject != nil || window.Text(got.UpdatedAt) != c.from || window.Text(got.UpdatedBefore) != c.before {
			t.Errorf("%s: %+v, %+v; want %s to %s", c.at, got, reject, c.from, c.before)
		}
	}
}

package wording

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

func TestAccount(t *testing.T) {
	for _, c := range []struct {
		stats ingest.BatchStats
		want  string
	}{
		{ingest.BatchStats{}, "0 seen"},
		{ingest.BatchStats{Seen: 36, Inserted: 1, Updated: 2, Unchanged: 3, Gone: 4, Stale: 5, Duplicate: 6, Outside: 7, Quarantined: 8},
			"36 seen = 1 new + 2 updated + 3 unchanged + 4 gone + 5 stale + 6 duplicate + 7 outside the window + 8 rejected"},
		{ingest.BatchStats{Seen: 5, Inserted: 4, Updated: 1, Late: 2}, "5 seen = 4 new + 1 updated; 2 came late"},
		{ingest.BatchStats{Seen: 5, Inserted: 3}, "5 seen = 3 new; DOES NOT ADD UP: 2 are not accounted for"},
	} {
		if got := ItemsText(c.stats); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

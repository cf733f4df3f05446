package inspect

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A run of parents that lags is behind for each of its parents: none of them is shown as read there, and others are.
func TestAParentOfARunThatLagsIsNotRead(t *testing.T) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	day := window.Window{From: at, To: at.AddDate(0, 0, 1)}
	lag := sector.Run{No: 0, Of: 2}
	segments := []coverage.Segment{{Window: day, Want: day.To}}
	seen := map[bool]bool{}
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		lagging := lag.Holds(record.KeyOf(id))
		got := segmentsFor(segments, []sector.Lag{{Sector: "repo=" + lag.String(), Window: day, AsOf: day.To}}, "repo="+id)
		if len(got) != 1 || got[0].Done() == lagging {
			t.Errorf("%s, in the run %v: %+v", id, lagging, got)
		}
		seen[lagging] = true
	}
	if len(seen) != 2 {
		t.Fatal("all ids lie on one side")
	}
}

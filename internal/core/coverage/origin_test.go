package coverage_test

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A harvest that fails from its first instant on leaves its cursor where it began, so the
// next one reads its lookback below that (W§3.2) and the origin follows (D§5.7). That
// happens once: the cursor does not go down with the origin, however often what failed is
// tried again.
func TestRetriesMoveTheOriginDownByOneLookback(t *testing.T) {
	const lookback = 2 * time.Hour
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	now := begin.Add(72 * time.Hour)
	cfg := window.Config{Lookback: duration.Duration(lookback)}.WithDefaults()
	var state coverage.State
	for try := range 6 {
		in := window.Inputs{Now: now, UserFrom: &begin}
		if try > 0 { // the retries name no start
			first, open := coverage.FirstUnsettled(state.Origin, state.Segments, lookback)
			if !open {
				t.Fatalf("try %d: nothing is owed", try)
			}
			in = window.Inputs{Now: now, Cursor: &state.Cursor, FirstUnsettled: &first}
		}
		total, err := window.Harvest(cfg, in)
		if err != nil {
			t.Fatal(err)
		}
		state = coverage.Fold(state, coverage.Event{Kind: coverage.Planned, Windows: total.Owed, AsOf: total.NowSafe, Lookback: lookback})
		state = coverage.Fold(state, coverage.Event{Kind: coverage.Failed, Windows: total.Owed, AsOf: total.NowSafe, At: now})
		want := begin.Add(-lookback)
		if try == 0 {
			want = begin
		}
		if !state.Origin.Equal(want) || !state.Cursor.Equal(begin) {
			t.Errorf("try %d: origin %s, want %s; cursor %s, want %s", try, state.Origin, want, state.Cursor, begin)
		}
		now = now.Add(24 * time.Hour)
	}
}

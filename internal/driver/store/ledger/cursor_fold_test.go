package ledger

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Whatever the segments at hand tell of the frontier, the cursor must come out as
// if the whole book had been read (I5).
func TestFrontierFromTheSegmentsAtHand(t *testing.T) {
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		state := coverage.State{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			var windows []window.Window // a slice that was cut owns several
			for range rapid.IntRange(1, 3).Draw(t, "windows") {
				from := rapid.IntRange(0, 30).Draw(t, "from")
				windows = append(windows, window.Window{From: at(from), To: at(from + rapid.IntRange(1, 12).Draw(t, "length"))})
			}
			e := coverage.Event{
				Kind:    rapid.SampledFrom([]coverage.Kind{coverage.Planned, coverage.Succeeded, coverage.Succeeded, coverage.Succeeded, coverage.Failed, coverage.Waived}).Draw(t, "kind"),
				Windows: window.Union(windows),
				AsOf:    at(100 + rapid.IntRange(0, 2).Draw(t, "as of")),
			}
			next := coverage.Fold(state, e)
			begun := coverage.Start(coverage.State{Origin: state.Origin, Cursor: state.Cursor, Lookback: state.Lookback}, e)
			frontier, known := under(state.Segments, e, begun.Lookback).frontierOf(begun)
			if known {
				told++
				if frontier.After(begun.Cursor) {
					begun.Cursor = frontier
				}
				if !begun.Cursor.Equal(next.Cursor) {
					t.Fatalf("cursor %v by the segments at hand, %v by the book, after %+v of\n%+v", begun.Cursor, next.Cursor, e, state.Segments)
				}
			}
			state = next
		}
	})
	if told == 0 {
		t.Error("the segments at hand never told anything")
	}
}

// under is what foldCoverage reads of a book: from the last segment that begins
// before the windows to the last that begins in them or at their end.
func under(book []coverage.Segment, e coverage.Event, lookback time.Duration) touched {
	first, last, end := 0, 0, e.Windows[len(e.Windows)-1].To
	for i, s := range book {
		if s.Window.From.Before(e.Windows[0].From) {
			first = i
		}
		if !s.Window.From.After(end) {
			last = i + 1
		}
	}
	return touched{after: coverage.Apply(book[first:max(first, last)], e, lookback), to: end}
}

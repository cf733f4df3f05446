package coverage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

func fateAt(ranges []coverage.FateRange, n int) coverage.Fate {
	for _, s := range ranges {
		if s.Window.Contains(tick(n)) {
			return s.Fate
		}
	}
	return coverage.NotAsked
}

// What a campaign did is done; what it only failed at counts for nothing; a gap of the overlay is exactly what no fate
// calls done.
func TestFatesAgreeWithTheOverlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book, campaign, other := drawState(t), drawState(t), drawState(t)
		read := coverage.Overlay(nil, campaign.Segments, other.Segments)
		ranges := coverage.Fates(book.Segments, read)
		overlaid := coverage.Overlay(book.Segments, campaign.Segments, other.Segments)
		gaps := coverage.Gaps(overlaid, span(0, minutes))
		for n := range minutes {
			own, fate := at(book.Segments, n), fateAt(ranges, n)
			open := slices.ContainsFunc(gaps, func(w window.Window) bool { return w.Contains(tick(n)) })
			if open == fate.Done() {
				t.Fatalf("minute %d is %s, a gap: %t", n, fate, open)
			}
			if own.Done() && !fate.Done() || fate == coverage.Harvested && own.Have.IsZero() {
				t.Fatalf("minute %d is %s, the book says %+v", n, fate, own)
			}
			if fate == coverage.GivenUp && own.Fails == 0 || fate == coverage.Owed && own.Want.IsZero() {
				t.Fatalf("minute %d is %s, the book says %+v", n, fate, own)
			}
		}
		for i, s := range ranges {
			if s.Window.Empty() || i > 0 && s.Window.From.Before(ranges[i-1].Window.To) {
				t.Fatalf("ranges are not sorted and disjoint: %+v", ranges)
			}
		}
		within := span(rapid.IntRange(-5, 9).Draw(t, "from"), rapid.IntRange(10, minutes+5).Draw(t, "to"))
		a, open := coverage.Measure(within, ranges), int64(0)
		for _, w := range coverage.Gaps(overlaid, within) {
			open += w.Duration().Microseconds()
		}
		if a.Total() != within.Duration().Microseconds() || a.Total()-a.Done() != open {
			t.Fatalf("%v of %v, gaps %d", a, within, open)
		}
	})
}

func TestCampaignsReadAsOfTheirTime(t *testing.T) {
	book := coverage.Refold([]coverage.Event{planned(30, 0, span(0, 20)), succeeded(30, span(0, 5))}).Segments
	old := coverage.Refold([]coverage.Event{planned(29, 0, span(0, 40)), succeeded(29, span(0, 40))}).Segments
	young := coverage.Refold([]coverage.Event{planned(30, 0, span(10, 15)), succeeded(30, span(10, 15))}).Segments
	var got []string
	for _, s := range coverage.Fates(book, coverage.Overlay(nil, old, young)) {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again coverage.FateRange
		if err := json.Unmarshal(text, &again); err != nil || again != s {
			t.Errorf("%s became %+v (%v)", text, again, err)
		}
		got = append(got, s.Window.From.Format("04")+" "+s.Fate.String())
	}
	if want := []string{"00 HARVESTED", "05 OWED", "10 BACKFILLED", "15 OWED", "20 BACKFILLED"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestThinDays(t *testing.T) {
	first := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC) // a Monday
	year := func(items func(day int) int64) (days []coverage.Counted) {
		for n := range 365 {
			from := first.AddDate(0, 0, n)
			days = append(days, coverage.Counted{Window: window.Window{From: from, To: from.AddDate(0, 0, 1)}, Items: items(n)})
		}
		return days
	}
	week := []int64{1000, 1100, 900, 1000, 950, 30, 5} // few on Saturdays, next to none on Sundays
	usual := func(n int) int64 { return week[n%7] }
	for name, c := range map[string]struct {
		items func(int) int64
		want  []int
	}{
		"weekends are not thin":     {usual, nil},
		"a day with a fifth":        {func(n int) int64 { return map[bool]int64{true: 200, false: usual(n)}[n == 100] }, []int{100}},
		"an empty Monday":           {func(n int) int64 { return map[bool]int64{true: 0, false: usual(n)}[n == 0] }, []int{0}},
		"two weeks in a row":        {func(n int) int64 { return map[bool]int64{true: 10, false: usual(n)}[n == 100 || n == 107] }, []int{100, 107}},
		"a third is still ordinary": {func(n int) int64 { return map[bool]int64{true: 334, false: usual(n)}[n == 100] }, nil},
		"a new level is no finding": {func(n int) int64 { return map[bool]int64{true: 400, false: 1000}[n > 200] }, nil},
	} {
		var got []int
		for _, d := range coverage.Thin(year(c.items)) {
			got = append(got, int(d.Window.From.Sub(first)/(24*time.Hour)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if thin := coverage.Thin(year(usual)[:14]); len(thin) > 0 {
		t.Errorf("two weeks tell nothing: %v", thin)
	}
}

package ingest

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/window"
)

// hours is a stretch of 2025 in hours after its start.
func hours(from, to float64) window.Window {
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Hour))) }
	return window.Window{From: at(from), To: at(to)}
}

func had(from, to float64, asOf int, count int64) WindowCount {
	return WindowCount{Window: hours(from, to), AsOf: time.Unix(int64(asOf), 0).UTC(), Actual: count}
}

func TestEstimateFrom(t *testing.T) {
	days := []WindowCount{had(0, 24, 1, 240), had(24, 48, 1, 4800), had(72, 96, 1, 0)}
	for name, c := range map[string]struct {
		history []WindowCount
		asked   window.Window
		count   int64
		covered float64
	}{
		"nothing is known":          {nil, hours(0, 24), 0, 0},
		"nothing is known here":     {days, hours(50, 60), 0, 0},
		"an empty window":           {days, hours(5, 5), 0, 0},
		"an empty record":           {[]WindowCount{had(3, 3, 1, 7)}, hours(0, 24), 0, 0},
		"one record":                {days, hours(24, 48), 4800, 1},
		"two whole records":         {days, hours(0, 48), 5040, 1},
		"part of a record":          {days, hours(0, 6), 60, 1},
		"parts of two records":      {days, hours(18, 30), 60 + 1200, 1},
		"half is not covered":       {days, hours(24, 72), 4800, 0.5},
		"a gap between":             {days, hours(0, 96), 5040, 0.75},
		"known to be empty":         {days, hours(72, 96), 0, 1},
		"newer parts hide a record": {[]WindowCount{had(0, 24, 1, 240), had(0, 6, 2, 1), had(6, 12, 2, 2)}, hours(0, 24), 1 + 2 + 120, 1},
		"a newer whole hides parts": {[]WindowCount{had(0, 6, 1, 1), had(6, 12, 1, 2), had(0, 24, 2, 240)}, hours(0, 12), 120, 1},
		"a record shines through":   {[]WindowCount{had(0, 24, 1, 240), had(6, 12, 2, 500)}, hours(0, 24), 60 + 500 + 120, 1},
		"rounded":                   {[]WindowCount{had(0, 3, 1, 10)}, hours(0, 2), 7, 1},
		"as old, told apart by run": {[]WindowCount{{Window: hours(0, 1), Actual: 5, RunID: 1}, {Window: hours(0, 1), Actual: 9, RunID: 2}}, hours(0, 1), 9, 1},
	} {
		if count, covered := EstimateFrom(c.history, c.asked); count != c.count || math.Abs(covered-c.covered) > 1e-12 {
			t.Errorf("%s: %d over %v, want %d over %v", name, count, covered, c.count, c.covered)
		}
	}
}

// drawHistory gives records in any order. Overlapping ones have different as-ofs.
func drawHistory(t *rapid.T, disjoint bool) (history []WindowCount) {
	at := 0.0
	for i := range rapid.IntRange(0, 30).Draw(t, "records") {
		from := rapid.Float64Range(0, 200).Draw(t, "from")
		if disjoint {
			from = at + float64(rapid.IntRange(0, 3).Draw(t, "gap"))
		}
		at = from + rapid.Float64Range(0.01, 50).Draw(t, "length")
		history = append(history, had(from, at, i, rapid.Int64Range(0, 1_000_000).Draw(t, "count")))
	}
	return rapid.Permutation(history).Draw(t, "order")
}

func drawHours(t *rapid.T) window.Window {
	from := rapid.Float64Range(-10, 250).Draw(t, "asked from")
	return hours(from, from+rapid.Float64Range(0.01, 300).Draw(t, "asked length"))
}

// What two windows hold is what they hold together, wherever the cut lies: a
// bisected window must not gain or lose items.
func TestEstimatesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, w := NewCounts(drawHistory(t, false)), drawHours(t)
		share := rapid.Float64Range(0, 1).Draw(t, "cut")
		left, right := w.Split(w.From.Add(time.Duration(share * float64(w.Duration()))))
		a, coveredA := counts.Estimate(left)
		b, coveredB := counts.Estimate(right)
		whole, covered := counts.Estimate(w)
		if diff := a + b - whole; diff < -1 || diff > 1 {
			t.Fatalf("%d + %d, together %d", a, b, whole)
		}
		sum := coveredA*left.Duration().Seconds() + coveredB*right.Duration().Seconds()
		if math.Abs(sum-covered*w.Duration().Seconds()) > 1e-6 || covered < 0 || covered > 1 {
			t.Fatalf("covered %v and %v, together %v", coveredA, coveredB, covered)
		}
	})
}

// A window that was read before has what it had, unless something newer is known.
func TestARecordedWindowHasItsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t, true)
		for _, h := range history {
			if count, covered := EstimateFrom(history, h.Window); count != h.Actual || covered != 1 {
				t.Fatalf("%v: %d over %v, recorded %d", h.Window, count, covered, h.Actual)
			}
		}
		overlapping := drawHistory(t, false)
		newest := had(20, 60, 1000, 12345)
		if count, covered := EstimateFrom(append(overlapping, newest), newest.Window); count != newest.Actual || covered != 1 {
			t.Fatalf("the newest record gave %d over %v", count, covered)
		}
	})
}

// The sweep equals asking every record in turn, newest first.
func TestEstimatesEqualPainting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history, w := drawHistory(t, false), drawHours(t)
		var painted []window.Window
		var want float64
		for n := range history {
			for _, h := range history {
				if h.AsOf.Unix() != int64(len(history)-1-n) {
					continue
				}
				for _, part := range window.Within(w, window.Subtract(h.Window, painted)) {
					want += float64(h.Actual) * part.Duration().Seconds() / h.Window.Duration().Seconds()
				}
				painted = append(painted, h.Window)
			}
		}
		if got, _ := EstimateFrom(history, w); math.Abs(float64(got)-want) > 0.51 {
			t.Fatalf("estimate %d, painted %v", got, want)
		}
	})
}

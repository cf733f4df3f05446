package window

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A total that is read in one go still tiles its window (I1): nothing that was owed is
// lost, and nothing outside of what is read vanishes from what is skipped or waits.
func TestAsOneTiles(t *testing.T) {
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var total Total
		at := start
		for range rapid.IntRange(1, 12).Draw(t, "parts") {
			to := at.Add(time.Duration(rapid.IntRange(1, 48).Draw(t, "hours")) * time.Hour)
			list := rapid.SampledFrom([]*[]Window{&total.Owed, &total.Skipped, &total.Waiting}).Draw(t, "fate")
			*list = append(*list, Window{From: at, To: to})
			at = to
		}
		total.Window = Window{From: start, To: at}
		total.Owed = Union(total.Owed)
		one := total.AsOne()
		if len(one.Owed) > 1 || !AllWithin(total.Owed, one.Owed) {
			t.Fatalf("%v becomes %v", total.Owed, one.Owed)
		}
		all := slices.Concat(one.Owed, one.Skipped, one.Waiting)
		var length time.Duration
		for _, w := range all {
			length += w.Duration()
		}
		if left := Subtract(total.Window, all); len(left) > 0 || length != total.Window.Duration() {
			t.Fatalf("%v leaves %v, or overlaps: %+v", total, left, one)
		}
	})
}

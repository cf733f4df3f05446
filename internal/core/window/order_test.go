package window

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A walk ends early only where nothing of the window follows: over lists in either order,
// with dates of several precisions, and with items that come at most the margin too late.
func TestTrendPassesOnlyWhatIsRead(t *testing.T) {
	base := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	ended := map[Order]int{}
	for seed := range uint64(20_000) {
		chance := rand.New(rand.NewPCG(seed, 98))
		type dated struct {
			date  Window
			place time.Time
		}
		order := []Order{Ascending, Descending}[chance.IntN(2)]
		margin := []time.Duration{0, 0, time.Minute, time.Hour}[chance.IntN(4)]
		unit := []time.Duration{time.Microsecond, time.Second, time.Hour}[chance.IntN(3)]
		var list []dated
		for range 5 + chance.IntN(60) {
			at := base.Add(time.Duration(chance.IntN(6*60)) * time.Minute)
			at = at.Truncate(unit)
			place := at
			if margin > 0 && chance.IntN(10) == 0 { // comes too late in the list
				place = at.Add(time.Duration(chance.Int64N(int64(margin) + 1)))
				if order == Descending {
					place = at.Add(at.Sub(place))
				}
			}
			list = append(list, dated{Window{From: at, To: at.Add(unit)}, place})
		}
		slices.SortStableFunc(list, func(a, b dated) int {
			if order == Descending {
				return b.place.Compare(a.place)
			}
			return a.place.Compare(b.place)
		})
		w := Window{From: base.Add(time.Duration(chance.IntN(6*60)) * time.Minute)}
		w.To = w.From.Add(time.Duration(1+chance.IntN(120)) * time.Minute)
		var trend Trend
		for i, d := range list {
			trend.Note(order, d.date)
			if !trend.Passed(order, w, margin) {
				continue
			}
			ended[order]++
			for _, later := range list[i+1:] {
				if later.date.Overlaps(w) {
					t.Fatalf("seed %d, %s: ended at %v, and %v of %v follows", seed, order, d.date, later.date, w)
				}
			}
			break
		}
	}
	if ended[Ascending] < 1000 || ended[Descending] < 1000 {
		t.Errorf("hardly any walk ended early, so this tests nothing: %v", ended)
	}
}

// What is not sorted as declared never ends a walk, whatever comes afterwards.
func TestTrendBelievesNoOtherOrder(t *testing.T) {
	base := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	at := func(minute int) Window {
		from := base.Add(time.Duration(minute) * time.Minute)
		return Window{From: from, To: from.Add(time.Microsecond)}
	}
	run := func(order Order, minutes ...int) Trend {
		var trend Trend
		for _, m := range minutes {
			trend.Note(order, at(m))
		}
		return trend
	}
	falling := []int{100, 99, 98, 97, 96, 95, 94, 93, 90, 89, 88}
	rising := slices.Clone(falling)
	slices.Reverse(rising)
	for name, c := range map[string]struct {
		order   Order
		minutes []int
		passes  bool
	}{
		"falls":               {Descending, falling, true},
		"rises":               {Ascending, rising, true},
		"the other way down":  {Ascending, falling, false},
		"the other way up":    {Descending, rising, false},
		"too few":             {Descending, falling[2:], false},
		"one that is older":   {Descending, falling[:9], false},
		"two that are older":  {Descending, falling[:10], false},
		"one that is newer":   {Descending, append(slices.Clone(falling), 95, 80, 79, 78), false},
		"a pinned one first":  {Descending, append([]int{10}, falling...), false},
		"all alike":           {Descending, []int{90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90}, false},
		"alike, and one fall": {Descending, []int{91, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90}, true},
		"nothing is declared": {"", falling, false},
		"up to the edge":      {Descending, []int{100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 91, 91}, false},
	} {
		w := Window{From: base.Add(91 * time.Minute), To: base.Add(99 * time.Minute)}
		if c.order == Ascending {
			w = Window{From: base.Add(91 * time.Minute), To: base.Add(98 * time.Minute)}
		}
		if got := run(c.order, c.minutes...).Passed(c.order, w, 0); got != c.passes {
			t.Errorf("%s: %v", name, got)
		}
	}
	mixed := run(Descending, falling...)
	mixed.Note(Descending, Window{From: base, To: base.Add(time.Hour)})
	if mixed.Passed(Descending, at(95), 0) {
		t.Error("a date without minutes may stand anywhere in its hour")
	}
	undated := run(Descending, falling...)
	undated.Break("an item has no date")
	if undated.Passed(Descending, at(95), 0) || undated.Restarted().Unsorted == "" {
		t.Error("an item without a date may stand anywhere")
	}
	if broken := run(Descending, append(slices.Clone(falling), 95)...); broken.Restarted().Unsorted == "" {
		t.Error("what is known to be unsorted is forgotten")
	}
}

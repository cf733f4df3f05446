package view_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

var first = time.Date(2019, 9, 1, 0, 0, 0, 0, time.UTC)

func hours(from, to int) window.Window {
	return window.Window{From: first.Add(time.Duration(from) * time.Hour), To: first.Add(time.Duration(to) * time.Hour)}
}

// Painting a mosaic is what it would be hour by hour: it tiles the window, goes only over what
// it may, and no hour is lost or averaged away.
func TestAMosaicIsPaintedInstantByInstant(t *testing.T) {
	states := []view.CellState{view.CellNothing, view.CellDone, view.CellOwed, view.CellFailed, view.CellThin}
	rapid.Check(t, func(t *rapid.T) {
		const n = 48
		m := view.Mosaic{{Window: hours(0, n), State: view.CellNothing}}
		var want [n]view.CellState
		for i := range want {
			want[i] = view.CellNothing
		}
		for range rapid.IntRange(0, 6).Draw(t, "layers") {
			state, over := rapid.SampledFrom(states).Draw(t, "state"), rapid.SliceOfN(rapid.SampledFrom(states), 1, 3).Draw(t, "over")
			var windows []window.Window
			for range rapid.IntRange(0, 4).Draw(t, "windows") {
				from := rapid.IntRange(-5, n).Draw(t, "from")
				windows = append(windows, hours(from, from+rapid.IntRange(0, 12).Draw(t, "length")))
			}
			m = m.Paint(windows, state, over...)
			before := want
			for i := range want {
				for _, w := range windows {
					for _, o := range over {
						if w.Overlaps(hours(i, i+1)) && before[i] == o {
							want[i] = state
						}
					}
				}
			}
		}
		at := first
		for _, tile := range m {
			if !tile.Window.From.Equal(at) || tile.Window.Empty() {
				t.Fatalf("%v does not tile", m)
			}
			at = tile.Window.To
		}
		for i, state := range want {
			if c := m.Cell(hours(i, i+1)); c.Worst != state || c.Most != state {
				t.Fatalf("hour %d is %s and %s, want %s", i, c.Worst, c.Most, state)
			}
		}
		worst := want[0]
		for _, s := range want {
			if s.Rank() < worst.Rank() {
				worst = s
			}
		}
		if c := m.Cell(hours(0, n)); c.Worst != worst {
			t.Fatalf("the whole is %s, want %s", c.Worst, worst)
		}
	})
}

func TestACellSaysWhatIsWorst(t *testing.T) {
	done := view.Mosaic{{Window: hours(0, 720), State: view.CellDone}}
	for state, want := range map[view.CellState]view.CellState{view.CellFailed: view.CellFailed, view.CellOwed: view.CellPartly, view.CellNothing: view.CellPartly, view.CellThin: view.CellThin, view.CellReading: view.CellReading} {
		c := done.Paint([]window.Window{hours(5, 6)}, state, view.CellDone).Cell(hours(0, 720))
		if c.State() != want || c.Most != view.CellDone {
			t.Errorf("an hour %s in a month: %s", state, c.State())
		}
	}
	if c := (view.Mosaic{{Window: hours(0, 24)}}).Cell(hours(0, 24)); c.State() != "" {
		t.Errorf("time to come is %s", c.State())
	}
}

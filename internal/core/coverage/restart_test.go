package coverage_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestRestart(t *testing.T) {
	book := coverage.Refold([]coverage.Event{planned(30, 0, span(0, 20)), succeeded(30, span(0, 5), span(8, 20))})
	for name, c := range map[string]struct {
		to             int
		left           []window.Window
		reopened, owed []window.Window
	}{
		"back":               {to: 3, reopened: []window.Window{span(3, 5), span(8, 20)}},
		"back over a hole":   {to: 10, reopened: []window.Window{span(10, 20)}, owed: []window.Window{span(5, 8)}},
		"forward":            {to: 25, owed: []window.Window{span(5, 8), span(20, 25)}},
		"with older debts":   {to: 10, left: []window.Window{span(-9, -5), span(12, 14)}, reopened: []window.Window{span(10, 20)}, owed: []window.Window{span(-9, -5), span(5, 8)}},
		"a debt was read":    {to: 10, left: []window.Window{span(1, 4)}, reopened: []window.Window{span(10, 20)}, owed: []window.Window{span(5, 8)}},
		"before all of this": {to: -20, left: []window.Window{span(-9, -5)}, reopened: []window.Window{span(0, 5), span(8, 20)}},
	} {
		reopened, owed := coverage.Restart(book, tick(c.to), c.left)
		if !slices.Equal(reopened, c.reopened) || !slices.Equal(owed, c.owed) {
			t.Errorf("%s: reopened %v, left %v", name, reopened, owed)
		}
	}
	if reopened, left := coverage.Restart(coverage.State{}, tick(3), nil); len(reopened)+len(left) > 0 {
		t.Errorf("an empty book: %v, %v", reopened, left)
	}
}

// After a restart every instant that was wanted and not done is either read again from the new value on, or left behind.
func TestRestartForgetsNoDebt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		left := window.Union(drawWindows(t))
		to := tick(rapid.IntRange(-3, minutes+3).Draw(t, "to"))
		_, kept := coverage.Restart(s, to, left)
		for n := range minutes {
			point := tick(n)
			seg := at(s.Segments, n)
			owed := (!seg.Want.IsZero() || slices.ContainsFunc(left, func(w window.Window) bool { return w.Contains(point) })) && !seg.Done()
			is := slices.ContainsFunc(kept, func(w window.Window) bool { return w.Contains(point) })
			if owed && point.Before(to) && !is {
				t.Fatalf("minute %d is owed and forgotten: %s to %v leaves %v", n, show(s), to, kept)
			}
			if is && (!point.Before(to) || seg.Done()) {
				t.Fatalf("minute %d is left behind for nothing: %s to %v leaves %v", n, show(s), to, kept)
			}
		}
	})
}

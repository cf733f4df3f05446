package inspect

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Cells tile their range, and none is done that has a gap in it.
func TestCellsHideNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments, within := drawSegments(t), drawWindow(t)
		width := rapid.IntRange(1, 80).Draw(t, "width")
		s := Survey{Stretches: coverage.Fates(segments, nil)}
		cells := EqualCells(within, width)
		if len(cells) != width {
			t.Fatalf("%d cells, want %d", len(cells), width)
		}
		at := within.From
		for i, cell := range cells {
			if !cell.From.Equal(at) || cell.Empty() {
				t.Fatalf("cell %d %s does not follow %s", i, cell, at)
			}
			at = cell.To
			checkState(t, s.StateOf(cell), cell, segments)
		}
		if !at.Equal(within.To) {
			t.Fatalf("cells end at %s, want %s", at, within.To)
		}
	})
}

func checkState(t *rapid.T, state view.CellState, cell window.Window, segments []coverage.Segment) {
	gaps := coverage.Gaps(segments, cell)
	if state.Done() != (len(gaps) == 0) {
		t.Fatalf("%s is %s with gaps %v", cell, state, gaps)
	}
	failed, known := false, false
	for _, s := range segments {
		if s.Window.Overlaps(cell) {
			known = true
			failed = failed || !s.Done() && s.Fails > 0
		}
	}
	if (state == view.CellFailed) != failed || (state == view.CellNothing) != !known {
		t.Fatalf("%s is %s: failed %v, known %v", cell, state, failed, known)
	}
}

func TestJudgeCounts(t *testing.T) {
	for _, c := range []struct {
		upstream, read int64
		tolerance      float64
		want           view.CountVerdict
	}{
		{10, 10, 0, view.CountsAgree}, {10, 9, 0, view.CountsShort}, {9, 10, 0, view.CountsMore}, {0, 0, 0, view.CountsAgree}, {1000, 996, 0.5, view.CountsAgree}, {1000, 994, 0.5, view.CountsShort},
	} {
		if got := judgeCounts(c.upstream, c.read, c.tolerance); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

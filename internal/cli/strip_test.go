package cli

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// drawSegments gives disjoint segments of all histories, with holes between.
func drawSegments(t *rapid.T) []coverage.Segment {
	var out []coverage.Segment
	at := march(1)
	for range rapid.IntRange(0, 12).Draw(t, "segments") {
		at = at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hole")) * 7 * time.Hour)
		to := at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "length")) * time.Hour)
		s := coverage.Segment{Window: window.Window{From: at, To: to}, Want: march(20)}
		switch rapid.IntRange(0, 4).Draw(t, "history") {
		case 0, 1:
			s.Have = march(20)
		case 2:
			s.Have = march(10)
		case 3:
			s.Fails, s.RetryAfter = 2, march(21)
		}
		out = append(out, s)
		at = to
	}
	return out
}

func drawWindow(t *rapid.T) window.Window {
	from := march(1).Add(time.Duration(rapid.IntRange(-100, 400).Draw(t, "from")) * time.Hour)
	return window.Window{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "hours")) * time.Hour)}
}

func TestStripHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments, within := drawSegments(t), drawWindow(t)
		width := rapid.IntRange(1, 80).Draw(t, "width")
		signs := []rune(strip(within, segments, width))
		cells := cellsOf(within, width)
		if len(signs) != width || len(cells) != width {
			t.Fatalf("%d signs, %d cells, want %d", len(signs), len(cells), width)
		}
		at := within.From
		for i, cell := range cells {
			if !cell.From.Equal(at) || cell.Empty() {
				t.Fatalf("cell %d %s does not follow %s", i, cell, at)
			}
			at = cell.To
			checkSign(t, signs[i], cell, segments)
		}
		if !at.Equal(within.To) {
			t.Fatalf("cells end at %s, want %s", at, within.To)
		}
	})
}

func checkSign(t *rapid.T, sign rune, cell window.Window, segments []coverage.Segment) {
	gaps := coverage.Gaps(segments, cell)
	if (sign == cellDone) != (len(gaps) == 0) {
		t.Fatalf("%s is %c with gaps %v", cell, sign, gaps)
	}
	failed, known := false, false
	for _, s := range segments {
		if s.Window.Overlaps(cell) {
			known = true
			failed = failed || !s.Done() && s.Fails > 0
		}
	}
	if (sign == cellFailed) != failed || (sign == cellNothing) != !known {
		t.Fatalf("%s is %c: failed %v, known %v", cell, sign, failed, known)
	}
}

func TestMeasureAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments, within := drawSegments(t), drawWindow(t)
		m := measure(within, segments)
		open := int64(0)
		for _, g := range coverage.Gaps(segments, within) {
			open += micros(g)
		}
		if m.done+open != m.total || m.failed+m.owed > open {
			t.Fatalf("%+v with %d microseconds of gaps", m, open)
		}
	})
}

func TestStripEdges(t *testing.T) {
	whole := window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	if got := strip(whole, []coverage.Segment{{Window: whole, Want: march(1), Have: march(1)}}, 60); got != strings.Repeat("█", 60) {
		t.Errorf("nine thousand years: %s", got)
	}
	tiny := window.Window{From: march(1), To: march(1).Add(3 * time.Microsecond)}
	if got := strip(tiny, nil, 60); got != "···" {
		t.Errorf("three microseconds: %q", got)
	}
	if got := strip(window.Window{From: march(1), To: march(1)}, nil, 60); got != "" {
		t.Errorf("nothing: %q", got)
	}
}

func TestSharesStayHonest(t *testing.T) {
	for m, want := range map[measured]string{
		{}:                                      "-",
		{total: 10, done: 10}:                   "100.0 % done",
		{total: 1e6, done: 1e6 - 1, owed: 1}:    "99.9 % done, 0.0 % owed",
		{total: 3e17, done: 3e17 - 1, owed: 1}:  "99.9 % done, 0.0 % owed", // nine thousand years less a microsecond
		{total: 4, done: 1, failed: 1, owed: 1}: "25.0 % done, 25.0 % failed, 25.0 % owed, 25.0 % not asked for",
		{total: 3}:                              "0.0 % done, 100.0 % not asked for",
	} {
		if got := m.String(); got != want {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
}

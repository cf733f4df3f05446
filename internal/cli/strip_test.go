package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
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
		p := picture{stretches: coverage.Fates(segments, nil)}
		signs := []rune(p.strip(within, width))
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
	if isDone(sign) != (len(gaps) == 0) {
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

func TestStripEdges(t *testing.T) {
	whole := window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	all := picture{stretches: []coverage.Stretch{{Window: whole, Fate: coverage.Harvested}}}
	if got := all.strip(whole, 60); got != strings.Repeat("█", 60) {
		t.Errorf("nine thousand years: %s", got)
	}
	tiny := window.Window{From: march(1), To: march(1).Add(3 * time.Microsecond)}
	if got := (picture{}).strip(tiny, 60); got != "···" {
		t.Errorf("three microseconds: %q", got)
	}
	if got := (picture{}).strip(window.Window{From: march(1), To: march(1)}, 60); got != "" {
		t.Errorf("nothing: %q", got)
	}
}

func TestSharesStayHonest(t *testing.T) {
	const h, b, w, f, o, n = coverage.Harvested, coverage.Backfilled, coverage.Waiving, coverage.GivenUp, coverage.Owed, coverage.NotAsked
	for a, want := range map[coverage.Amounts]string{
		{}:                       "-",
		{h: 10}:                  "100.0 % done",
		{h: 1e6 - 1, o: 1}:       "99.9 % done, 0.0 % owed",
		{h: 3e17 - 1, o: 1}:      "99.9 % done, 0.0 % owed", // nine thousand years less a microsecond
		{h: 1, f: 1, o: 1, n: 1}: "25.0 % done, 25.0 % failed, 25.0 % owed, 25.0 % not asked for",
		{n: 3}:                   "0.0 % done, 100.0 % not asked for",
		{h: 2, b: 1, w: 1}:       "100.0 % done (25.0 % backfilled, 25.0 % waived)",
	} {
		if got := shares(a); got != want {
			t.Errorf("%v: %s, want %s", a, got, want)
		}
	}
}

func TestSignsTellTheWorst(t *testing.T) {
	day := func(n int) window.Window { return window.Window{From: march(n), To: march(n + 1)} }
	p := picture{
		stretches: []coverage.Stretch{
			{Window: day(1), Fate: coverage.Harvested}, {Window: day(2), Fate: coverage.Backfilled}, {Window: day(3), Fate: coverage.Waiving},
			{Window: day(4), Fate: coverage.Harvested}, {Window: day(5), Fate: coverage.Harvested}, {Window: day(6), Fate: coverage.GivenUp},
			{Window: day(7), Fate: coverage.GivenUp}, {Window: day(8), Fate: coverage.Owed},
			{Window: window.Window{From: march(9), To: march(9).Add(time.Hour)}, Fate: coverage.Harvested},
		},
		thin: []coverage.Counted{{Window: day(4)}}, rejected: []view.Marked{{Window: day(5), Count: 2}}, capped: []window.Window{day(7)},
	}
	if got := p.strip(window.Window{From: march(1), To: march(11)}, 10); got != "█▓wtq✗C░▒·" {
		t.Error(got)
	}
	for text, want := range map[string]string{"█·": "█ done   · not asked for", "": ""} {
		if got := stripLegend(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestZoom(t *testing.T) {
	within := window.Window{From: time.Date(2024, 12, 30, 12, 0, 0, 0, time.UTC), To: time.Date(2025, 2, 2, 0, 0, 0, 0, time.UTC)}
	for z, want := range map[zoom][]string{
		byDay:   {"2024-12  " + strings.Repeat(" ", 29) + "xx", "2025-01  " + strings.Repeat("x", 31), "2025-02  x"},
		byWeek:  {"2025     xxxxx"}, // the last days of 2024 are in the first week of 2025
		byMonth: {"2024                x", "2025     xx"},
		byYear:  {"2020         xx"},
	} {
		cells, err := z.cells(within)
		if err != nil {
			t.Fatal(err)
		}
		at := within.From
		for _, c := range cells {
			if !c.From.Equal(at) || c.Empty() {
				t.Errorf("by %s: %s does not follow %s", z, c, at)
			}
			at = c.To
		}
		if !at.Equal(within.To) {
			t.Errorf("by %s: cells end at %s", z, at)
		}
		if got := z.rows(cells, func(window.Window) rune { return 'x' }); !slices.Equal(got, want) {
			t.Errorf("by %s:\n%s\nwant\n%s", z, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m 30s", 15 * time.Minute: "15m", 25 * time.Hour: "1d 1h", 40 * 24 * time.Hour: "40d", 800 * 24 * time.Hour: "2y 70d",
		-time.Minute: "-1m",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

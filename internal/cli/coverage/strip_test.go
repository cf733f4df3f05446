package coverage

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// drawSegments gives disjoint segments of all histories, with holes between.
func TestStripEdges(t *testing.T) {
	whole := window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	all := picture{inspect.Survey{Stretches: []coverage.FateRange{{Window: whole, Fate: coverage.Harvested}}}}
	if got := all.drawStrip(whole, 60); got != strings.Repeat("█", 60) {
		t.Errorf("nine thousand years: %s", got)
	}
	tiny := window.Window{From: march(1), To: march(1).Add(3 * time.Microsecond)}
	if got := (picture{}).drawStrip(tiny, 60); got != "···" {
		t.Errorf("three microseconds: %q", got)
	}
	if got := (picture{}).drawStrip(window.Window{From: march(1), To: march(1)}, 60); got != "" {
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
		if got := sharesText(a); got != want {
			t.Errorf("%v: %s, want %s", a, got, want)
		}
	}
}

func TestSignsTellTheWorst(t *testing.T) {
	day := func(n int) window.Window { return window.Window{From: march(n), To: march(n + 1)} }
	p := picture{inspect.Survey{
		Stretches: []coverage.FateRange{
			{Window: day(1), Fate: coverage.Harvested}, {Window: day(2), Fate: coverage.Backfilled}, {Window: day(3), Fate: coverage.Waiving},
			{Window: day(4), Fate: coverage.Harvested}, {Window: day(5), Fate: coverage.Harvested}, {Window: day(6), Fate: coverage.GivenUp},
			{Window: day(7), Fate: coverage.GivenUp}, {Window: day(8), Fate: coverage.Owed},
			{Window: window.Window{From: march(9), To: march(9).Add(time.Hour)}, Fate: coverage.Harvested},
		},
		Thin: []coverage.Counted{{Window: day(4)}}, Rejected: []view.Marked{{Window: day(5), Count: 2}}, Capped: []window.Window{day(7)},
	}}
	if got := p.drawStrip(window.Window{From: march(1), To: march(11)}, 10); got != "█▓wtq✗C░▒·" {
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
		zoom(inspect.Day):   {"2024-12  " + strings.Repeat(" ", 29) + "xx", "2025-01  " + strings.Repeat("x", 31), "2025-02  x"},
		zoom(inspect.Week):  {"2025     xxxxx"}, // the last days of 2024 are in the first week of 2025
		zoom(inspect.Month): {"2024                x", "2025     xx"},
		zoom(inspect.Year):  {"2020         xx"},
	} {
		cells, err := z.cutCalendar(within)
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
		if got := z.drawRows(cells, func(window.Window) rune { return 'x' }); !slices.Equal(got, want) {
			t.Errorf("by %s:\n%s\nwant\n%s", z, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

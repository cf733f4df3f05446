package inspect

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A cell of the map is done only if every instant of it is, at any length: no hole is too small
// to be seen, and a failure shows above everything else.
func TestTheMapHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments, within := drawSegments(t), drawWindow(t)
		if within.Empty() {
			return
		}
		b := EndpointCoverage{Segments: segments, Safe: within.To, Cursor: view.Cursor{Origin: march(1)}}
		m := b.mosaic(within)
		for _, cell := range EqualCells(within, rapid.IntRange(1, 40).Draw(t, "cells")) {
			state, gaps := m.Cell(cell).State(), coverage.Gaps(segments, cell)
			if state.Done() != (len(gaps) == 0) {
				t.Fatalf("%s is %s with gaps %v", cell, state, gaps)
			}
			failed := false
			for _, s := range segments {
				failed = failed || s.Window.Overlaps(cell) && !s.Done() && s.Fails > 0
			}
			if (state == view.CellFailed) != failed {
				t.Fatalf("%s is %s: failed %v", cell, state, failed)
			}
		}
	})
}

// What lies behind a watermark that was set by hand is left, what no retry reads is capped, and
// what is not safe to read yet is nothing at all.
func TestTheMapTellsHolesApart(t *testing.T) {
	b := EndpointCoverage{
		Cursor: view.Cursor{ID: 1, Origin: march(4), Left: []window.Window{days(2, 4)}}, Safe: march(9),
		Segments: []coverage.Segment{
			{Window: days(4, 5), Want: march(9), Have: march(9)}, {Window: days(5, 6), Want: march(9), Fails: 3, RetryAfter: march(10)},
			{Window: days(6, 7), Want: march(9), Fails: 1, RetryAfter: march(10)}, {Window: days(7, 8), Want: march(9)}, {Window: days(8, 9), Want: march(8), Waived: march(9)},
		},
		Campaigns: []coverage.Segment{{Window: days(1, 2), Want: march(9), Have: march(9)}}, Capped: []window.Window{days(5, 6)},
	}
	m := b.mosaic(days(1, 11)).Paint([]window.Window{days(7, 8)}, view.CellReading, view.CellOwed)
	want := []view.CellState{view.CellBackfilled, view.CellLeft, view.CellLeft, view.CellDone, view.CellCapped, view.CellFailed, view.CellReading, view.CellWaived, "", ""}
	for i, state := range want {
		if got := m.Cell(days(i+1, i+2)).Worst; got != state {
			t.Errorf("%d March is %q, want %q", i+1, got, state)
		}
	}
	if got := m.Cell(days(1, 11)).Worst; got != view.CellCapped {
		t.Errorf("all of it is %s", got)
	}
	line := view.CoverageLine{Amounts: m.Amounts()}
	if day := int64(24 * time.Hour / time.Microsecond); line.Asked() != 8*day || line.Done() != 3*day {
		t.Errorf("%d of %d days", line.Done()/day, line.Asked()/day)
	}
}

// A number stands only where readings add up to the cell. What was expected of a slice is never
// shown as the word of the upstream: it is a share of a longer window, and days differ.
func TestSizesOfCells(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	history := []ingest.WindowCount{
		{Window: days(1, 2), Actual: 100, Estimated: number(100), AsOf: march(9), RunID: 1}, {Window: days(2, 3), Actual: 40, Estimated: number(100), AsOf: march(9), RunID: 2},
		{Window: days(3, 4), Actual: 95, Estimated: number(100), AsOf: march(9), RunID: 3}, {Window: days(4, 5), Actual: 7, AsOf: march(9), RunID: 4},
	}
	s := sizesOf{history: history, counts: ingest.NewCounts(history), short: []view.CountCheck{
		{Reconciled: view.Reconciled{Window: days(3, 4), Upstream: number(120), Read: number(95), Verdict: view.CountsShort}},
	}}
	for _, c := range []struct {
		of          window.Window
		items, told int64 // -1: unknown
	}{{days(1, 2), 100, -1}, {days(2, 3), 40, -1}, {days(3, 4), 95, 120}, {days(1, 4), 235, -1}, {days(3, 5), 102, -1}, {days(4, 6), -1, -1}, {days(6, 7), -1, -1}} {
		items, told := s.itemsOf(c.of)
		if (items == nil) != (c.items < 0) || items != nil && *items != c.items || (told == nil) != (c.told < 0) || told != nil && *told != c.told {
			t.Errorf("%s: %v of %v", c.of, items, told)
		}
	}
}

// Filling what is owed moves the watermark over what was read behind it.
func TestTheWatermarkAfterAFill(t *testing.T) {
	b := EndpointCoverage{Cursor: view.Cursor{Origin: march(1)}, Segments: []coverage.Segment{
		{Window: days(1, 3), Want: march(9), Have: march(9)}, {Window: days(3, 4), Want: march(9), Fails: 1}, {Window: days(4, 6), Want: march(9), Have: march(9)}, {Window: days(6, 7), Want: march(9)},
	}}
	if got := b.FrontierAfter([]window.Window{days(3, 4)}); !got.Equal(march(6)) {
		t.Errorf("%s", got)
	}
	if got := b.FrontierAfter(nil); !got.Equal(march(3)) {
		t.Errorf("%s", got)
	}
}

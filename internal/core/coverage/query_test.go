package coverage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestDone(t *testing.T) {
	var never time.Time
	tests := []struct {
		want, have, waived time.Time
		done               bool
	}{
		{never, never, never, false},
		{tick(5), never, never, false},
		{never, tick(5), never, true},
		{never, never, tick(5), true},
		{tick(5), tick(5), never, true},
		{tick(5), tick(4), never, false},
		{tick(5), tick(4), tick(5), true},
		{tick(5), tick(6), tick(4), true},
		{tick(5), tick(4), tick(4), false},
	}
	for _, tt := range tests {
		if got := (coverage.Segment{Window: span(0, 1), Want: tt.want, Have: tt.have, Waived: tt.waived}).Done(); got != tt.done {
			t.Errorf("want %v have %v waived %v: done %t", tt.want, tt.have, tt.waived, got)
		}
	}
}

// read to 40 as of 50; [20,30) wanted again as of 60 and waiting; nothing known of [40,45).
func book() []coverage.Segment {
	return []coverage.Segment{
		{Window: span(10, 20), Want: tick(50), Have: tick(50)},
		{Window: span(20, 30), Want: tick(60), Have: tick(50), Fails: 2, RetryAfter: tick(70)},
		{Window: span(30, 40), Want: tick(50), Have: tick(50)},
		{Window: span(45, 55), Want: tick(60), Waived: tick(60)},
	}
}

func TestFrontierAndFirstUnsettled(t *testing.T) {
	done := book()
	done[1].Have = tick(60)
	tests := []struct {
		name             string
		segs             []coverage.Segment
		origin, lookback int
		frontier, first  int
	}{
		{"hole", book(), 10, 0, 20, 20},
		{"origin inside the hole", book(), 25, 0, 25, 25},
		{"origin under no segment", book(), 5, 0, 5, 5},
		{"origin after the hole: the gap is next", book(), 30, 0, 40, 40},
		{"lookback opens the tail of the first segment", book(), 10, 35, 20, 15},
		{"lookback longer than all", book(), 10, 1000, 20, 10},
		{"hole closed: the gap is next", done, 10, 0, 40, 40},
		{"hole closed, lookback", done, 10, 25, 40, 30},
		{"lookback below the origin", done, 18, 35, 40, 18},
		{"everything settled", book()[3:], 45, 5, 55, -1},
		{"waived tail open to late arrivals", book()[3:], 45, 10, 55, 50},
		{"nothing known", nil, 7, 0, 7, -1},
		{"origin beyond all", book(), 90, 0, 90, -1},
	}
	for _, tt := range tests {
		if got := coverage.Frontier(tick(tt.origin), tt.segs); got != tick(tt.frontier) {
			t.Errorf("%s: frontier %v, want %d", tt.name, got, tt.frontier)
		}
		first, ok := coverage.FirstUnsettled(tick(tt.origin), tt.segs, ticks(tt.lookback))
		if ok != (tt.first >= 0) || ok && first != tick(tt.first) {
			t.Errorf("%s: first unsettled %v, %t, want %d", tt.name, first, ok, tt.first)
		}
	}
	if got := coverage.Frontier(time.Time{}, book()); !got.IsZero() {
		t.Errorf("no origin, no frontier: %v", got)
	}
	if got, ok := coverage.FirstUnsettled(time.Time{}, book(), 0); ok {
		t.Errorf("no origin, nothing unsettled: %v", got)
	}
}

func TestSettledGapsWaiting(t *testing.T) {
	if got, want := coverage.Settled(book(), span(12, 100), ticks(15)), []window.Window{span(12, 20), span(30, 35)}; !slices.Equal(got, want) {
		t.Errorf("settled %v, want %v", got, want)
	}
	if got, want := coverage.Settled(book(), span(12, 48), 0), []window.Window{span(12, 20), span(30, 40), span(45, 48)}; !slices.Equal(got, want) {
		t.Errorf("settled without lookback %v, want %v", got, want)
	}
	if got, want := coverage.Gaps(book(), span(5, 60)), []window.Window{span(5, 10), span(20, 30), span(40, 45), span(55, 60)}; !slices.Equal(got, want) {
		t.Errorf("gaps %v, want %v", got, want)
	}
	if got := coverage.Waiting(book(), tick(69), time.Time{}); len(got) != 1 || got[0] != book()[1] {
		t.Errorf("waiting %v", got)
	}
	if got := coverage.Waiting(book(), tick(70), time.Time{}); len(got) != 0 {
		t.Errorf("waiting when due %v", got)
	}
	// What failed before its cause was changed is due at once, what failed after it is not.
	failed := coverage.Segment{Window: span(0, 10), Want: tick(40), Fails: 3, RetryAfter: tick(60).Add(coverage.Backoff.After(3))}
	for mended, want := range map[int]int{59: 1, 60: 0, 61: 0} {
		if got := coverage.Waiting([]coverage.Segment{failed}, tick(60), tick(mended)); len(got) != want {
			t.Errorf("failed at 60, mended at %d: %v", mended, got)
		}
	}
}

package ingest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

func TestWholeCounts(t *testing.T) {
	hour := func(n int) time.Time { return time.Date(2025, 3, 1, n, 0, 0, 0, time.UTC) }
	span := func(from, to int) window.Window { return window.Window{From: hour(from), To: hour(to)} }
	counts := NewCounts([]WindowCount{
		{Window: span(0, 2), Actual: 5, AsOf: hour(20)}, {Window: span(2, 4), Actual: 7, AsOf: hour(20)},
		{Window: span(4, 8), Actual: 100, AsOf: hour(20)}, {Window: span(6, 8), Actual: 9, AsOf: hour(21)}, // the newer hides a part
		{Window: span(10, 12), Actual: 1, AsOf: hour(20)},
	})
	for _, c := range []struct {
		w     window.Window
		count int64
		whole bool
	}{
		{span(0, 4), 12, true}, {span(2, 4), 7, true}, {span(6, 8), 9, true}, {span(10, 12), 1, true},
		{span(1, 4), 0, false}, {span(0, 3), 0, false}, {span(4, 8), 0, false}, {span(8, 12), 0, false}, {span(10, 13), 0, false}, {span(5, 5), 0, false},
	} {
		if count, whole := counts.Whole(c.w); whole != c.whole || whole && count != c.count {
			t.Errorf("%s: %d %t, want %d %t", c.w, count, whole, c.count, c.whole)
		}
	}
}

// A reading that is longer than a day says nothing about one.
func TestMeasuredCounts(t *testing.T) {
	hour := func(n int) time.Time { return time.Date(2025, 3, 1, n, 0, 0, 0, time.UTC) }
	span := func(from, to int) window.Window { return window.Window{From: hour(from), To: hour(to)} }
	counts := NewCounts([]WindowCount{
		{Window: span(0, 2), Actual: 5, AsOf: hour(20)}, {Window: span(2, 4), Actual: 7, AsOf: hour(20)},
		{Window: span(4, 10), Actual: 60, AsOf: hour(20)}, {Window: span(8, 10), Actual: 9, AsOf: hour(21)}, {Window: span(12, 13), Actual: 1, AsOf: hour(20)},
	})
	for _, c := range []struct {
		w        window.Window
		longest  time.Duration
		count    int64
		measured bool
	}{
		{span(0, 4), 2 * time.Hour, 12, true}, {span(0, 3), 2 * time.Hour, 9, true}, {span(1, 4), 2 * time.Hour, 10, true},
		{span(2, 6), 2 * time.Hour, 0, false}, {span(2, 6), 6 * time.Hour, 27, true}, {span(8, 10), 2 * time.Hour, 9, true},
		{span(8, 11), 9 * time.Hour, 0, false}, {span(11, 13), 9 * time.Hour, 0, false}, {span(5, 5), 9 * time.Hour, 0, false},
	} {
		if count, measured := counts.Measured(c.w, c.longest); measured != c.measured || count != c.count {
			t.Errorf("%s by readings up to %s: %d %t, want %d %t", c.w, c.longest, count, measured, c.count, c.measured)
		}
	}
}

// Records that lie apart hide nothing: each counts in full, and the gaps between them do not.
func TestRecordsThatLieApartCountInFull(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2025, 3, 1, hour, 0, 0, 0, time.UTC) }
	apart := []WindowCount{
		{Window: window.Window{From: at(2), To: at(3)}, Actual: 20, AsOf: at(9)},
		{Window: window.Window{From: at(0), To: at(1)}, Actual: 10, AsOf: at(9)},
		{Window: window.Window{From: at(1), To: at(2)}, Actual: 5, AsOf: at(9)},
	}
	overlaid := append(apart, WindowCount{Window: window.Window{From: at(1), To: at(2)}, Actual: 7, AsOf: at(10)})
	for name, c := range map[string]struct {
		history []WindowCount
		want    int64
	}{"apart": {apart, 35}, "one read again": {overlaid, 37}} {
		if n, whole := NewCounts(c.history).Whole(window.Window{From: at(0), To: at(3)}); n != c.want || !whole {
			t.Errorf("%s: %d %v, want %d", name, n, whole, c.want)
		}
		if _, whole := NewCounts(c.history).Whole(window.Window{From: at(0), To: at(4)}); whole {
			t.Errorf("%s: an hour was never read", name)
		}
	}
}

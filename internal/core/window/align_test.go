package window_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/window"
)

func units() []window.Unit {
	return []window.Unit{window.Minute, window.Hour, window.Day, window.Week, window.Month}
}

func TestAlign(t *testing.T) {
	tests := []struct {
		t           string
		unit        window.Unit
		floor, next string
	}{
		{"2025-03-05T13:37:42.5Z", window.Minute, "2025-03-05T13:37:00Z", "2025-03-05T13:38:00Z"},
		{"2025-03-05T13:37:42.5Z", window.Hour, "2025-03-05T13:00:00Z", "2025-03-05T14:00:00Z"},
		{"2025-03-05T13:37:42.5Z", window.Day, "2025-03-05", "2025-03-06"},
		{"2025-03-05T13:37:42.5Z", window.Week, "2025-03-03", "2025-03-10"},
		{"2025-03-05T13:37:42.5Z", window.Month, "2025-03-01", "2025-04-01"},
		{"2025-03-03", window.Week, "2025-03-03", "2025-03-10"},                  // Monday itself
		{"2025-03-02T23:59:59.999999Z", window.Week, "2025-02-24", "2025-03-03"}, // Sunday
		{"2024-02-29T12:00:00Z", window.Month, "2024-02-01", "2024-03-01"},
		{"2024-02-29T12:00:00Z", window.Day, "2024-02-29", "2024-03-01"},
		{"2024-12-31T12:00:00Z", window.Month, "2024-12-01", "2025-01-01"},
		{"2025-01-01", window.Week, "2024-12-30", "2025-01-06"},
		{"2025-03-30T03:30:00+02:00", window.Day, "2025-03-30", "2025-03-31"}, // a summer-time day is 24 h in UTC
		{"1583-01-01T00:00:00Z", window.Day, "1583-01-01", "1583-01-02"},
	}
	for _, tt := range tests {
		floor, next := window.FloorAlign(at(tt.t), tt.unit), window.NextAlign(at(tt.t), tt.unit)
		if floor != at(tt.floor) || next != at(tt.next) {
			t.Errorf("%s %s: floor %v, next %v; want %s, %s", tt.t, tt.unit, floor, next, tt.floor, tt.next)
		}
	}
}

func TestAlignLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(at("1000-02-01").UnixMicro(), at("9999-11-01").UnixMicro()).Draw(t, "micros")
		unit := rapid.SampledFrom(units()).Draw(t, "unit")
		now := time.UnixMicro(micros).UTC()
		floor, next := window.FloorAlign(now, unit), window.NextAlign(now, unit)
		if !(window.Window{From: floor, To: next}).Contains(now) {
			t.Fatalf("%v is not in [%v, %v)", now, floor, next)
		}
		if window.FloorAlign(floor, unit) != floor || window.FloorAlign(next, unit) != next || window.NextAlign(floor, unit) != next {
			t.Fatalf("%v %s: boundaries %v and %v are not neighbours", now, unit, floor, next)
		}
	})
}

func TestParseUnit(t *testing.T) {
	for _, unit := range units() {
		if got, err := window.ParseUnit(string(unit)); err != nil || got != unit {
			t.Errorf("ParseUnit(%s) = %s, %v", unit, got, err)
		}
	}
	if _, err := window.ParseUnit("day"); err == nil {
		t.Error("lower case was accepted")
	}
}

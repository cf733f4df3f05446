package term

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func TestPeriod(t *testing.T) {
	now := time.Date(2025, 3, 10, 12, 0, 0, 0, time.UTC)
	usual := window.Window{From: march(8), To: march(9)}
	for _, c := range []struct {
		WindowFlags
		want string
	}{
		{WindowFlags{}, "[2025-03-08, 2025-03-09)"},
		{WindowFlags{both: "2025-03-01..2025-03-02"}, "[2025-03-01, 2025-03-02)"},
		{WindowFlags{both: "2025-03-01T02:00:00+02:00..2025-03-01T12:00:00Z"}, "[2025-03-01, 2025-03-01T12:00:00Z)"},
		{WindowFlags{both: "-2d..-1d"}, "[2025-03-08T12:00:00Z, 2025-03-09T12:00:00Z)"},
		{WindowFlags{from: "2025-03-01"}, "[2025-03-01, 2025-03-09)"},
		{WindowFlags{to: "2025-03-05"}, "[2025-03-04, 2025-03-05)"},
		{WindowFlags{from: "2025-03-01", to: "2025-03-05"}, "[2025-03-01, 2025-03-05)"},
	} {
		if got, err := c.Choose(usual, now); err != nil || wording.WindowText(got) != c.want {
			t.Errorf("%+v: %s, %v", c.WindowFlags, wording.WindowText(got), err)
		}
	}
	for _, bad := range []WindowFlags{
		{both: "2025-03-01"}, {both: "..2025-03-01"}, {both: "2025-03-01.."}, {both: "a..b"}, {both: "2025-03-01..2025-03-01"}, {from: "2025-03-09"},
		{both: "2025-03-01..2025-03-02", to: "2025-03-03"}, {from: "x"}, {to: "x"},
	} {
		if got, err := bad.Choose(usual, now); err == nil || ExitCode(t.Context(), err) != ExitUsage {
			t.Errorf("%+v: %s, %v", bad, got, err)
		}
	}
}

func TestUsualWindow(t *testing.T) {
	now := time.Date(2025, 3, 10, 0, 20, 30, 0, time.UTC)
	lag := duration.Duration(30 * time.Minute)
	for _, c := range []struct {
		filter query.DateFilter
		size   time.Duration
		want   string
	}{
		{query.DateFilter{Field: "f"}, 24 * time.Hour, "[2025-03-08, 2025-03-09)"},
		{query.DateFilter{Field: "f", Precision: query.Month}, 24 * time.Hour, "[2025-02-01, 2025-03-01)"},
		{query.DateFilter{Field: "f", Precision: query.Minute}, time.Hour, "[2025-03-09T22:50:00Z, 2025-03-09T23:50:00Z)"},
		{query.DateFilter{Field: "f", Zone: "America/New_York"}, 24 * time.Hour, "[2025-03-08T05:00:00Z, 2025-03-09T05:00:00Z)"},
		{query.DateFilter{}, time.Hour, "[2025-03-09T22:50:30Z, 2025-03-09T23:50:30Z)"},
	} {
		s := spec.Snapshot{Settings: registry.Settings{Filter: c.filter.WithDefaults(), Window: window.Config{Size: duration.Duration(c.size), SafetyLag: &lag}.WithDefaults()}}
		if got := UsualWindow(s, now); wording.WindowText(got) != c.want {
			t.Errorf("%+v: %s, want %s", c.filter, wording.WindowText(got), c.want)
		}
	}
}

package spec_test

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
		{query.DateFilter{Field: "f", Precision: query.Hour, Ends: query.OneUnit}, 24 * time.Hour, "[2025-03-09T22:00:00Z, 2025-03-09T23:00:00Z)"},
		{query.DateFilter{Field: "f", Precision: query.Day, Ends: query.OneUnit}, 72 * time.Hour, "[2025-03-08, 2025-03-09)"},
		{query.DateFilter{Field: "f", Precision: query.Year, Ends: query.OneUnit}, 24 * time.Hour, "[2024-01-01, 2025-01-01)"},
		{query.DateFilter{}, time.Hour, "[2025-03-09T22:50:30Z, 2025-03-09T23:50:30Z)"},
	} {
		s := spec.Snapshot{Settings: registry.Settings{Filter: c.filter.WithDefaults(), Window: window.Config{Size: duration.Duration(c.size), SafetyLag: &lag}.WithDefaults()}}
		if got := s.UsualWindow(now); wording.WindowText(got) != c.want {
			t.Errorf("%+v: %s, want %s", c.filter, wording.WindowText(got), c.want)
		}
	}
}

package slicing_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// Where a request names one unit of the filter, no slice reaches beyond one: for
// every window, also where days have 23 hours, and whatever is known of their size.
func TestBelieve05SlicesOfOneUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		filter := query.DateFilter{
			Field: "updated", Zone: rapid.SampledFrom([]zone.Zone{"UTC", "America/New_York", "+05:30"}).Draw(t, "zone"),
			Precision: rapid.SampledFrom([]query.Precision{query.Hour, query.Day, query.Month, query.Year}).Draw(t, "precision"),
		}.WithDefaults()
		start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		from := start.Add(time.Duration(rapid.IntRange(0, 360*24*60).Draw(t, "from")) * time.Minute)
		to := from.Add(time.Duration(rapid.IntRange(1, 45*24*60).Draw(t, "length")) * time.Minute)
		step := time.Duration(rapid.IntRange(1, 24).Draw(t, "step")) * time.Hour
		perDay := rapid.IntRange(0, 50).Draw(t, "per day")
		r := slicing.Request{
			Owed: []window.Window{{From: from, To: to}}, Grid: filter.Cut, OneUnit: true, PageSize: 10,
			Config:    slicing.Config{Step: duration.Duration(step), TargetRecords: 100, MergeBelow: 1, PerDay: perDay}.WithDefaults(),
			MinWindow: time.Hour, MaxWindow: 30 * 24 * time.Hour, Precision: string(filter.Precision), Paging: "OFFSET", Order: "updated:asc",
			Estimates: func(window.Window) (slicing.Estimate, bool) {
				return slicing.Estimate{Count: int64(perDay), Source: slicing.FromCount, Exact: true}, true
			},
		}
		cut, err := slicing.Cut(r)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range cut {
			if i > 0 && !filter.Cut(s.Window.From).Equal(s.Window.From) {
				t.Fatalf("%s begins within a %s that the slice before it asks for too", s.Window, filter.Precision)
			}
			if !filter.WithinUnit(s.Window) || !filter.WithinUnit(s.Asked) {
				t.Fatalf("%s is more than one %s in %s", s.Window, filter.Precision, filter.Zone)
			}
		}
	})
}

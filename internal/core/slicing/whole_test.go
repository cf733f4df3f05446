package slicing_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Where a request names no upper bound, what is owed is one slice, whatever it holds and
// however long a step is. What is left of it is one slice too, and never the same again.
func TestWholeIsNeverCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		filter := query.DateFilter{Field: "updated", Precision: rapid.SampledFrom([]query.Precision{query.Second, query.Day, query.Year}).Draw(t, "precision")}.WithDefaults()
		from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "from")) * time.Hour)
		owed := window.Window{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 30000).Draw(t, "length")) * time.Hour)}
		count := int64(rapid.IntRange(0, 1_000_000).Draw(t, "count"))
		r := slicing.Request{
			Owed: []window.Window{owed}, Grid: filter.Cut, Whole: true, PageSize: 10, Cap: 1000,
			Config:    slicing.Config{Step: duration.Duration(time.Hour), TargetRecords: 100}.WithDefaults(),
			MinWindow: time.Minute, MaxWindow: 24 * time.Hour, Precision: string(filter.Precision), Paging: "TOKEN",
			Estimates: func(window.Window) (slicing.Estimate, bool) {
				return slicing.Estimate{Count: count, Source: slicing.FromCount}, true
			},
		}
		cut, err := slicing.Cut(r)
		if err != nil || len(cut) != 1 || cut[0].Window != owed || cut[0].Spec.Telemetry.Capped {
			t.Fatalf("%v is cut into %+v: %v", owed, cut, err)
		}
		done := window.Window{From: owed.From, To: filter.Cut(owed.From.Add(time.Duration(rapid.Int64Range(0, int64(owed.Duration())-1).Draw(t, "done"))))}
		if done.Empty() {
			done.To = owed.From
		}
		rest, err := slicing.Reslice(r, owed, done, "BUDGET")
		further := filter.Cut(done.To).After(filter.Cut(owed.From))
		switch {
		case further && (err != nil || len(rest) != 1 || rest[0] != window.Window{From: done.To, To: owed.To}):
			t.Fatalf("%v less %v leaves %v: %v", owed, done, rest, err)
		case !further && (err == nil || !strings.Contains(err.Error(), "filter.bounds")):
			t.Fatalf("%v is asked for again: %v %v", owed, rest, err)
		}
	})
}

package daemon

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// TestScalesOfASourceAgree draws a source at once as its page has it, and each scale alone: they
// show the same, also where something is owed, cancelled or read.
func TestScalesOfASourceAgree(t *testing.T) {
	s := newStand(t)
	first := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
	from, to := first.AddDate(0, 2, 0), first.AddDate(0, 2, 5)
	done, err := s.app.Trigger(t.Context(), view.TriggerWish{Source: "crossref", Operation: ingest.Backfill, From: &from, To: &to, Offline: true, Scheduler: "API", By: ingest.Act{Actor: "api:ops#7", Reason: "the past"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.app.Plans.Cancel(t.Context(), done.PlanID, "api:ops#7", "not now"); err != nil {
		t.Fatal(err)
	}
	years := window.Window{From: first.AddDate(-2, 0, 0), To: first.AddDate(8, 0, 0)}
	day := window.Window{From: from, To: from.AddDate(0, 0, 1)}
	got, err := s.app.Inspect.SourceMap(t.Context(), view.SourceMapQuery{Source: "crossref", Years: years, Year: 2019, Range: day, Now: standNow})
	if err != nil || got.DaysError != nil {
		t.Fatal(err, got.DaysError)
	}
	for name, scale := range map[string]struct {
		view.CoverageLine
		q view.MapQuery
	}{
		"years": {got.Lines[got.Chosen], view.MapQuery{Within: years, Unit: view.MapMonths}},
		"year":  {got.Days, view.MapQuery{Within: window.Window{From: first, To: first.AddDate(1, 0, 0)}, Unit: view.MapDays, Counts: true, Troubles: true}},
		"day":   {got.Range, view.MapQuery{Within: day, Unit: view.MapHours, Counts: true}},
	} {
		scale.q.Source = "crossref"
		alone, err := s.app.Inspect.CoverageMap(t.Context(), scale.q)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(scale.CoverageLine, alone.Lines[0]) {
			t.Errorf("the %s: %+v\nalone: %+v", name, scale.CoverageLine, alone.Lines[0])
		}
	}
	if len(got.Days.Troubles) == 0 || got.Range.Cells[0].Worst != view.CellFailed {
		t.Errorf("the cancelled backfill is not on the map: %+v", got.Range)
	}
}

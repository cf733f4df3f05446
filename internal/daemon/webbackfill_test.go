package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// statesOf returns the state that most of each day of a range has on the map of a source.
func (s *stand) statesOf(from time.Time, days int) (out []view.CellState) {
	s.Helper()
	within := window.Window{From: from, To: from.AddDate(0, 0, days)}
	all, err := s.app.Inspect.CoverageMap(s.Context(), view.MapQuery{Source: "crossref", Within: within, Unit: view.MapDays})
	if err != nil {
		s.Fatal(err)
	}
	for _, c := range all.Lines[0].Cells {
		out = append(out, c.Worst)
	}
	return out
}

func (s *stand) expectStates(when string, want view.CellState, of []view.CellState) {
	s.Helper()
	for n, got := range of {
		if got != want {
			s.Errorf("%s: day %d is %q, want %q", when, n+1, got, want)
		}
	}
}

// A backfill without a campaign shows on the map from the moment it is planned, and where it
// was cancelled or failed. Nobody may take it for never asked.
func TestABackfillWithoutACampaignShowsOnTheMap(t *testing.T) {
	s := newStand(t)
	from := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 0, 3)
	s.expectStates("before", view.CellNothing, s.statesOf(from, 3))
	done, err := s.app.Trigger(t.Context(), view.TriggerWish{Source: "crossref", Operation: ingest.Backfill, From: &from, To: &to, Offline: true, Scheduler: "API", By: ingest.Act{Actor: "api:ops#7", Reason: "the past"}})
	if err != nil || done.PlanID == 0 {
		t.Fatalf("%+v %v", done, err)
	}
	s.expectStates("planned", view.CellOwed, s.statesOf(from, 3))
	s.has(s.page("/coverage/crossref/2019"), `class="cell owed"`)
	if _, err := s.app.Plans.Cancel(t.Context(), done.PlanID, "api:ops#7", "not now"); err != nil {
		t.Fatal(err)
	}
	s.expectStates("cancelled, as a harvest would show", view.CellFailed, s.statesOf(from, 3))
}

// A source that was only backfilled is on the map of all sources, from the moment it is planned.
func TestASourceThatWasOnlyBackfilledIsOnTheMap(t *testing.T) {
	s := newStand(t)
	from := standNow.AddDate(0, -1, 0).Truncate(24 * time.Hour)
	to := from.AddDate(0, 0, 3)
	if body := s.page("/coverage?range=1y"); strings.Contains(body, "/coverage/pubmed") {
		t.Fatal("pubmed is on the map, and nobody asked for it")
	}
	if _, err := s.app.Trigger(t.Context(), view.TriggerWish{Source: "pubmed", Operation: ingest.Backfill, From: &from, To: &to, Offline: true, Scheduler: "API", By: ingest.Act{Actor: "api:ops#7", Reason: "the past"}}); err != nil {
		t.Fatal(err)
	}
	s.web = s.app.newDashboard("test", nil, callerIn, nil) // the map of before is shared for a moment
	s.has(s.page("/coverage?range=1y"), "/coverage/pubmed", "/coverage/crossref")
	s.page("/")
}

package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// The same request is one plan; the same name for something else is a conflict; a
// rehearsal stores nothing.
func TestTriggerQueuesOnePlanPerRequest(t *testing.T) {
	app, _ := cached(t, 0)
	from, to := time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 2, 2, 0, 0, 0, 0, time.UTC)
	wish := view.TriggerWish{Source: "crossref", Operation: ingest.Harvest, From: &from, To: &to, Typed: "a..b", RequestID: "job-1", Scheduler: "API", Offline: true, By: ingest.Act{Actor: "token ann", Reason: "test"}}
	plans := func() int {
		t.Helper()
		found, err := app.Plans.List(t.Context(), view.Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	rehearsal := wish
	rehearsal.By.Rehearsal = true
	if done, err := app.Trigger(t.Context(), rehearsal); err != nil || done.PlanID != 0 || done.Slices == 0 || plans() != 0 {
		t.Fatalf("rehearsed: %+v, %v, %d plans", done, err, plans())
	}
	first, err := app.Trigger(t.Context(), wish)
	if err != nil || first.PlanID == 0 || first.Repeated || first.Slices == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := app.Trigger(t.Context(), wish)
	if err != nil || again.PlanID != first.PlanID || !again.Repeated || plans() != 1 {
		t.Errorf("again: %+v, %v, %d plans", again, err, plans())
	}
	other := wish
	other.Typed = "c..d"
	if _, err := app.Trigger(t.Context(), other); !errors.Is(err, fault.ErrConflict) || plans() != 1 {
		t.Errorf("other bounds: %v", err)
	}
	early, end := from.AddDate(-1, 0, 0), from.AddDate(0, 0, -1)
	below := wish
	below.From, below.To, below.Typed, below.RequestID = &early, &end, "e..f", "job-2"
	if _, err := app.Trigger(t.Context(), below); !errors.Is(err, fault.ErrInvalid) || plans() != 1 {
		t.Errorf("below the start: %v", err)
	}
	refused, err := app.Plans.ListTriggers(t.Context(), view.Filter{Status: view.TriggerRefused, Limit: 10})
	if err != nil || len(refused) != 1 || refused[0].Refused == "" {
		t.Errorf("%+v, %v", refused, err)
	}
}

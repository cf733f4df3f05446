package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// I8: the same trigger, taken by several planners at once, is one plan whose
// slices tile its window once, with one task each.
func TestPlannersRaceForOneTrigger(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 41, PerDay: 1}, upsim.Options{})
		const planners = 4
		from, to := weekFrom.AddDate(0, -4, 0), weekTo
		var group sync.WaitGroup
		errs := make([]error, planners)
		for i := range planners {
			app := w.open()
			group.Add(1)
			go func() {
				defer group.Done()
				errs[i] = planHourly(t.Context(), app, from, to, w.now)
			}()
		}
		group.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("planner %d: %v", i, err)
			}
		}
		app := w.open()
		plans, err := app.Plans.List(t.Context(), view.Filter{})
		if err != nil || len(plans) != 1 || plans[0].Status != "READY" {
			t.Fatalf("%+v, %v", plans, err)
		}
		bySector, err := localstore.Beside(t, database).PlannedWindows(t.Context(), plans[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		planned := bySector[""]
		if rest := window.Subtract(window.Window{From: from, To: to}, planned); len(rest) != 0 {
			t.Errorf("nobody reads %v", rest)
		}
		tasks, err := app.Tasks.List(t.Context(), view.Filter{PlanID: plans[0].ID, Limit: 100_000})
		if err != nil || len(tasks) != len(planned) || len(planned) < 2000 {
			t.Errorf("%d tasks for %d slices, %v", len(tasks), len(planned), err)
		}
	})
}

func planHourly(ctx context.Context, app *daemon.App, from, to, now time.Time) error {
	var set []registry.Override
	for _, text := range []string{"slicing.step=PT1H", "filter.precision=SECOND"} {
		o, err := registry.ParseOverride(text)
		if err != nil {
			return err
		}
		set = append(set, o)
	}
	compiled, err := app.Compile(ctx, "crossref", "", ingest.Harvest, set)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	r := daemon.NewRequest(now, &from, &to)
	r.TriggerKey = "the same for all"
	_, _, err = app.Planner.Plan(ctx, compiled, r)
	return err
}

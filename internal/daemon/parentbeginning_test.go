package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// A new parent that is not read when it is met stays new: it is read from its beginning as soon as it can be, also of a time
// that no harvest of the others reached back to. Nobody but this parent is asked for that time, and it is asked for once.
func TestANewParentThatIsNotReadStaysNew(t *testing.T) {
	for name, of := range map[string]struct {
		file   string
		status int
		again  time.Time // before it nobody is asked for anything once all is read
	}{
		"fails":   {forgeSource, 404, marchDay(7)},
		"refused": {forgeRefused, 451, marchDay(7)},
		"feed":    {forgeFeed, 404, marchDay(7)},
		"changed": {strings.Replace(forgeSource, "since: $.created}", "since: $.created, changed: true, sweep: P30D}", 1), 404, marchDay(1)},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				w := newForgeWorld(t, database)
				w.file = of.file
				repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
				for id := range 3 {
					w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3)
				}
				w.harvest(repos, marchDay(3))
				w.harvest(issues, marchDay(3))
				before := marchDay(1).AddDate(0, 0, -20)
				late := w.forge.add(7, before, marchDay(3), 2)
				late.issues[100] = before.Add(time.Hour)
				w.forge.broken["r7"] = of.status
				for day := 4; day <= 6; day++ {
					w.harvest(repos, marchDay(day))
					w.harvest(issues, marchDay(day))
				}
				if _, stored := w.stored("forge")["7/100"]; stored {
					t.Fatal("a parent that is not given was read")
				}
				delete(w.forge.broken, "r7")
				recheckNow(t, database)
				for day := 7; day <= 8; day++ {
					w.harvest(repos, marchDay(day))
					w.forget()
					w.harvest(issues, marchDay(day))
				}
				if all := w.stored("forge"); len(all) != 11 {
					t.Errorf("%d issues are stored, want 11, also that of %s: %v", len(all), before, all)
				}
				w.harvest(repos, marchDay(9))
				w.forget()
				w.harvest(issues, marchDay(9))
				for name, spans := range w.forge.spans {
					for _, s := range spans {
						if !s.From.IsZero() && s.From.Before(of.again) {
							t.Errorf("%s is asked for %s again", name, s)
						}
					}
				}
				if lags := w.lags(issues); len(lags) > 0 {
					t.Errorf("%+v", lags)
				}
			})
		})
	}
}

// Parents that came behind a backfill are new to no plan if no harvest had begun before: the backfill waits for one.
func TestABackfillOfPartsWaitsForTheirHarvest(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		w.forge.add(1, marchDay(1), marchDay(1), 1, 2)
		w.harvest(repos, marchDay(4))
		backfill := func() Harvested {
			t.Helper()
			c := w.compileFor("forge", "issues", ingest.Backfill)
			from, to := marchDay(1), marchDay(3)
			h, err := w.app.Harvest(w.Context(), c, NewRequest(marchDay(5), &from, &to), Watch{})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		if h := backfill(); h.Plan.Total != 0 || len(w.stored("forge")) != 0 {
			t.Fatalf("a backfill read %d slices before the harvest began", h.Plan.Total)
		}
		w.forge.add(2, marchDay(1), marchDay(4), 1, 2) // unknown to the backfill
		w.harvest(repos, marchDay(5))
		w.first = marchDay(4)
		w.harvest(issues, marchDay(5))
		backfill()
		if all := w.stored("forge"); len(all) != 4 {
			t.Errorf("%v", all)
		}
	})
}

func (w *forgeWorld) compileFor(code, endpoint string, operation ingest.Operation) *spec.Compiled {
	w.Helper()
	c, err := Compile(w.source(code), endpoint, operation, nil)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

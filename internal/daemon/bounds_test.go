package daemon

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Sources that take less than both ends of a window are harvested, backfilled and harvested
// again like all others: everything is there, nothing is a gap, the forecast holds, and
// nobody asks for a slice that a request cannot name.
func TestSourcesThatTakeLessThanAWindow(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, 3+n, 0, 0, 0, 0, time.UTC) }
	byToken := func() simulated.Form {
		for _, f := range simulated.PagingForms() {
			if f.Name == "token" {
				return f
			}
		}
		t.Fatal("there is no form token")
		return simulated.Form{}
	}
	for name, c := range map[string]struct {
		form                simulated.Form
		settings            []string
		harvested, backfill int // slices of two days, and of two days before them
	}{
		"FROM":               {byToken(), []string{"filter.bounds=FROM", "request.query.until="}, 1, 1},
		"FROM sorted":        {byToken(), []string{"filter.bounds=FROM", "request.query.until=", "window.ordered=true"}, 1, 1},
		"UNIT":               {simulated.Daily(), append(simulated.DailySettings(), "paging.stable=false"), 2, 2},
		"feed":               {simulated.Feeds()[0], nil, 1, 1},
		"feed, moving":       {simulated.Feeds()[2], []string{"window.lookback=PT2H"}, 1, 1},
		"NONE, oldest first": {byToken(), []string{"filter.bounds=NONE", "request.query.until=", "request.query.from=", "window.order=ASC"}, 1, 1},
		"NONE":               {byToken(), []string{"filter.bounds=NONE", "request.query.until=", "request.query.from=", "window.ordered=true"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				l := &library{T: t, data: upsim.NewDataset(upsim.Config{Seed: 7, From: day(0), To: day(5), PerDay: 40, Flat: true}), now: day(4).Add(10 * time.Minute)}
				var harvest *spec.Compiled
				l.server, harvest = c.form.Start(t, l.data, "", c.settings...)
				src, _, err := registry.Decode("form.yaml", []byte(c.form.YAML(l.server.URL())))
				l.must(err)
				var set []registry.Override
				for _, text := range c.settings {
					one, err := registry.ParseOverride(text)
					l.must(err)
					set = append(set, one)
				}
				past, err := Compile(src, "", ingest.Backfill, set)
				l.must(err)
				localstore.GiveTables(t, database)
				l.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2})
				l.must(err)
				defer l.app.Close()

				from, to := day(2), day(4)
				counted := NewRequest(l.now, &from, &to)
				counted.Forecast, counted.Count = true, true
				l.slices(harvest, counted, c.harvested)
				l.finished(harvest, NewRequest(l.now, &from, &to))
				old := day(0)
				l.slices(past, NewRequest(l.now, &old, &from), c.backfill)
				plan, _, err := l.app.Planner.Plan(t.Context(), past, NewRequest(l.now, &old, &from))
				l.must(err)
				if done, err := l.app.Work(t.Context(), plan.ID, nil); err != nil || done.Status != "COMPLETED" || done.Slices["SUCCEEDED"] != c.backfill {
					t.Fatalf("%+v, %v", done, err)
				}
				l.now = day(5).Add(10 * time.Minute) // the last day comes, and a work of the first one changes
				for truth := range l.data.Heads() {
					l.must(l.data.Touch(truth.DOI, day(4).Add(time.Hour), true))
					break
				}
				l.finished(harvest, NewRequest(l.now, nil, nil))
				l.holdsAll(harvest, day(0), day(5))
				l.nothingIsOwed(harvest, window.Window{From: day(2), To: day(5)})
			})
		})
	}
}

// slices draws a plan and expects so many.
func (l *library) slices(c *spec.Compiled, r planner.Request, want int) {
	l.Helper()
	d, err := l.app.Planner.Draft(l.Context(), c, r)
	if l.must(err); len(d.Slices) != want {
		l.Errorf("%d slices of %s, want %d", len(d.Slices), d.Window, want)
	}
}

func (l *library) finished(c *spec.Compiled, r planner.Request) {
	l.Helper()
	h, err := l.app.Harvest(l.Context(), c, r, Watch{})
	l.must(err)
	if n := h.Plan.Slices[string(ingest.SliceSucceeded)]; n == 0 || n != h.Plan.Total-h.Plan.Replaced {
		l.Fatalf("%d of %d slices are covered: %v", n, h.Plan.Total, h.Plan.Slices)
	}
}

// holdsAll expects every work of a time to be stored as it is (I2).
func (l *library) holdsAll(c *spec.Compiled, from, to time.Time) {
	l.Helper()
	records, err := l.app.store.Records(l.Context(), c.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	l.must(err)
	stored := map[string]time.Time{}
	for _, r := range records {
		stored[r.ID] = r.UpdatedAt
	}
	for truth := range l.data.Heads() {
		if !truth.Indexed.Before(from) && truth.Indexed.Before(to) && !stored[truth.DOI].Equal(truth.Indexed) {
			l.Errorf("%s of %s is not there", truth.DOI, truth.Indexed)
		}
	}
}

// nothingIsOwed expects the coverage of the harvest to have no hole.
func (l *library) nothingIsOwed(c *spec.Compiled, within window.Window) {
	l.Helper()
	own, err := c.Namespace()
	l.must(err)
	state, _, err := l.app.store.CoverageState(l.Context(), own)
	l.must(err)
	if gaps := coverage.Gaps(state.Segments, within); len(gaps) > 0 || state.Cursor.Before(within.To) {
		l.Errorf("gaps %v, the watermark stands at %s", gaps, state.Cursor)
	}
}

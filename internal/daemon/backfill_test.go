package daemon

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A stored BACKFILL runs to its end against an upstream: it reads what lies
// before the harvest, never touches the harvest's cursor (I6), and the same range
// asked for again is nothing to do.
func TestBackfillRunsToItsEnd(t *testing.T) {
	from, to := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC), time.Date(2025, 3, 10, 0, 0, 0, 0, time.UTC)
	middle := from.AddDate(0, 0, 5)
	data := upsim.NewDataset(upsim.Config{Seed: 7, PerDay: 60, From: from, To: to})
	server, _ := simulated.Crossref(t, data, "")
	file := "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	app, err := Open(t.Context(), Config{Database: file, Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	compiled := func(op ingest.Operation) *spec.Compiled {
		t.Helper()
		var set []registry.Override
		for _, text := range []string{
			"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.perSecond=5000", "rate.burst=50", "rate.concurrency=8", "rate.obeyHeaders=false",
			"slicing.targetRecords=100",
		} {
			one, err := registry.ParseOverride(text)
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, one)
		}
		c, err := app.Compile(t.Context(), "crossref", "", op, set)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	now := to.Add(2 * time.Hour)
	if _, err := app.Harvest(t.Context(), compiled(ingest.Harvest), NewRequest(now, &middle, &to), Watch{}); err != nil {
		t.Fatal(err)
	}
	before := cursorsOf(t, app, ingest.Harvest)
	if len(before) != 1 {
		t.Fatalf("%+v", before)
	}

	backfill := compiled(ingest.Backfill)
	plan, draft, err := app.Planner.Plan(t.Context(), backfill, NewRequest(now, &from, &to))
	if err != nil || draft.Empty || *draft.Window != (window.Window{From: from, To: to}) {
		t.Fatalf("%+v, %v", draft, err)
	}
	progress, err := app.Work(t.Context(), plan.ID, nil)
	if err != nil || progress.Status != "COMPLETED" || progress.Slices["SUCCEEDED"] != len(draft.Slices) || progress.Done != len(draft.Slices) {
		t.Fatalf("%+v, %v", progress, err)
	}
	if after := cursorsOf(t, app, ingest.Harvest); !reflect.DeepEqual(after, before) {
		t.Errorf("the harvest's cursor was %+v and is %+v", before, after)
	}
	own := cursorsOf(t, app, ingest.Backfill)
	if len(own) != 1 || !own[0].Instant.Equal(to) {
		t.Errorf("the backfill's own cursor: %+v", own)
	}
	sound := 0
	for work := range data.All() {
		if work.Bad == upsim.Sound {
			sound++
		}
	}
	counts, err := app.store.Counts(t.Context(), "crossref")
	if err != nil || counts.Records != int64(sound) {
		t.Errorf("%d records of %d are stored, %v", counts.Records, sound, err)
	}

	asked := server.Requests()
	again, draft, err := app.Planner.Plan(t.Context(), backfill, NewRequest(now.Add(time.Minute), &from, &to))
	if err != nil || !draft.Empty || draft.Reason == "" || again.ID == plan.ID || server.Requests() != asked {
		t.Errorf("asked again: %+v, %v; %d requests", draft, err, server.Requests()-asked)
	}
	db, err := check.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(t.Context(), db)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func cursorsOf(t *testing.T, app *App, op ingest.Operation) (out []view.Cursor) {
	t.Helper()
	all, err := app.store.Cursors(t.Context(), "crossref")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Operation == string(op) {
			out = append(out, c)
		}
	}
	return out
}

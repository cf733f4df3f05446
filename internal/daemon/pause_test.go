package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

var tester = ingest.Act{Actor: "tester", Reason: "because"}

// A tick of what is paused is over, and its trigger says why, also while a plan
// is open; the first one after the pause plans again.
func TestPausedSchedulePlansNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.pass(time.Hour)
		s.apply(func(src *registry.Source) { src.Schedule = every(10 * time.Minute) })
		s.serve()
		s.pass(15 * time.Minute)
		scope := ingest.Scope{Source: "crossref", Endpoint: "works"}
		if _, err := s.app.Operator.Pause(t.Context(), scope, tester); err != nil {
			t.Fatal(err)
		}
		s.pass(20 * time.Minute)
		paused := "crossref/works is paused since 2000-01-01T01:15:00Z by tester: because"
		s.has("HARVEST 01:10 plan 1", "HARVEST 01:20 "+paused, "HARVEST 01:30 "+paused)
		if _, err := s.app.Operator.Resume(t.Context(), scope, tester); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlExec(file, "UPDATE ing_plan SET status_code = 'COMPLETED'"); err != nil {
			t.Fatal(err)
		}
		s.pass(10 * time.Minute)
		s.has("HARVEST 01:10 plan 1", "HARVEST 01:20 ", "HARVEST 01:30 ", "HARVEST 01:40 plan 2")
		s.close()
	})
}

// A plan that waits to be sliced on is left alone while its source is paused:
// slicing may ask the upstream for counts.
func TestPausedPlanIsNotSlicedOn(t *testing.T) {
	w := newWalk(t, nil)
	w.app.Planner.MaxStock, w.app.config.MaxStock = 1, 1
	now := time.Date(2025, 3, 7, 0, 0, 0, 0, time.UTC)
	from, to := now.AddDate(0, 0, -4), now.AddDate(0, 0, -1)
	plan, _, err := w.app.Planner.Plan(t.Context(), w.compiled, NewRequest(now, &from, &to))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlExec(w.file, "UPDATE ing_plan SET status_code = 'PARTIAL'"); err != nil {
		t.Fatal(err)
	}
	w.app.Planner.MaxStock = 0
	status := func() string {
		if err := (schedules{app: w.app}).Upkeep(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := w.app.store.Progress(t.Context(), plan.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p.Status
	}
	w.pause()
	if got := status(); got != "PARTIAL" {
		t.Errorf("while paused the plan became %s", got)
	}
	if _, err := w.app.Operator.Resume(t.Context(), ingest.Scope{Source: "crossref"}, tester); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "READY" {
		t.Errorf("after the pause the plan is %s", got)
	}
}

// walk is a harvest of three days in pages of five, three workers at once.
type walk struct {
	*testing.T
	app      *App
	file     string
	compiled *spec.Compiled
	requests atomic.Int64
}

// newWalk starts an upstream that calls during each request.
func newWalk(t *testing.T, during func(w *walk, request int64)) *walk {
	t.Helper()
	return newWalkWith(t, Config{}, nil, during)
}

// newWalkWith starts one with faults, and a program with more settings.
func newWalkWith(t *testing.T, c Config, faults []upsim.Fault, during func(w *walk, request int64), settings ...string) *walk {
	t.Helper()
	w := &walk{T: t, file: filepath.Join(t.TempDir(), "patra.db")}
	data := upsim.NewDataset(upsim.Config{
		Seed: 7, From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 8, 0, 0, 0, 0, time.UTC), PerDay: 60, Flat: true,
	})
	server, err := upsim.NewServer(data, upsim.Options{Faults: faults, OnEntry: func(upsim.Entry) {
		if n := w.requests.Add(1); during != nil {
			during(w, n)
		}
	}})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	c.Database, c.Relaxed, c.Workers = "sqlite:"+w.file, true, 3
	if w.app, err = Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.app.Close() })
	src, err := Bundled("crossref")
	if err != nil {
		t.Fatal(err)
	}
	simulated.ByDay(src) // these tests count requests: none of them is to count works
	src.Rate.PerSecond, src.Rate.Concurrency = 1000, 3
	var set []registry.Override
	for _, text := range append([]string{"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.obeyHeaders=false", "rate.perSecond=1000", "rate.concurrency=3", "paging.size=5", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S"}, settings...) {
		o, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	if w.compiled, err = Compile(src, "", ingest.Harvest, set); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *walk) harvest() (Harvested, error) { return w.harvestUntil(w.Context()) }

func (w *walk) harvestUntil(ctx context.Context) (Harvested, error) {
	now := time.Date(2025, 3, 7, 0, 0, 0, 0, time.UTC)
	from, to := now.AddDate(0, 0, -4), now.AddDate(0, 0, -1)
	return w.app.Harvest(ctx, w.compiled, NewRequest(now, &from, &to), Watch{})
}

func (w *walk) pause() {
	if _, err := w.app.Operator.Pause(context.WithoutCancel(w.Context()), ingest.Scope{Source: "crossref"}, tester); err != nil {
		w.Error(err)
	}
}

// tasks counts them by status.
func (w *walk) tasks() map[string]int {
	w.Helper()
	tasks, err := w.app.store.Tasks(w.Context(), view.Filter{Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]int{}
	for _, task := range tasks {
		out[task.Status]++
	}
	return out
}

// A pause is heard within one batch: nobody asks for a further page than the one
// it was reading. The tasks go back as they are, and the harvest says why it ends.
func TestPauseStopsAHarvestWithinOneBatch(t *testing.T) {
	var at atomic.Int64
	w := newWalk(t, func(w *walk, request int64) {
		if request == 7 {
			w.pause()
			at.Store(w.requests.Load())
		}
	})
	_, err := w.harvest()
	var paused ingest.PausedError
	if !errors.As(err, &paused) || !errors.Is(err, fault.ErrConflict) || paused.Pause.Reason != "because" {
		t.Fatalf("ended with %v", err)
	}
	// Two workers may have begun a page before the pause was there, and all may
	// read one that they asked for before they heard of it.
	if n := w.requests.Load(); n > at.Load()+3 {
		t.Errorf("%d requests after the pause", n-at.Load())
	}
	if got := w.tasks(); got["QUEUED"] != 3 {
		t.Errorf("tasks %v, want all of them to wait", got)
	}
	runs, err := w.app.store.Runs(t.Context(), view.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.Status != "CANCELLED" || r.ErrorCode != string(fault.Interrupted) {
			t.Errorf("run %+v", r)
		}
	}
	sent := w.requests.Load()
	if _, err := w.harvest(); !errors.As(err, &paused) || w.requests.Load() != sent {
		t.Errorf("a second harvest sent %d requests and ended with %v", w.requests.Load()-sent, err)
	}
	if _, err := w.app.Operator.Resume(t.Context(), ingest.Scope{Source: "crossref"}, tester); err != nil {
		t.Fatal(err)
	}
	h, err := w.harvest()
	if err != nil || h.Joined == nil || h.Plan.Slices["SUCCEEDED"] != 3 {
		t.Fatalf("%+v, %v", h, err)
	}
	if n, err := w.app.store.Counts(t.Context(), "crossref"); err != nil || n.Records != 180 {
		t.Errorf("%+v, %v", n, err)
	}
}

// A cancellation is heard within one batch, and concerns no other task.
func TestCancelStopsATaskWithinOneBatch(t *testing.T) {
	w := newWalk(t, func(w *walk, request int64) {
		if request == 7 {
			if _, err := w.app.Operator.Cancel(context.Background(), ingest.TaskPick{IDs: []int64{2}}, tester); err != nil {
				w.Error(err)
			}
		}
	})
	h, err := w.harvest()
	if err != nil || h.Plan.Slices["CANCELLED"] != 1 || h.Plan.Slices["SUCCEEDED"] != 2 {
		t.Fatalf("%+v, %v", h.Plan, err)
	}
	batches, err := w.app.store.Batches(t.Context(), view.Filter{TaskID: 2, Limit: 100})
	if err != nil || len(batches) >= 12 {
		t.Errorf("the cancelled task has %d of 12 pages, %v", len(batches), err)
	}
	if _, err := w.app.Operator.Retry(t.Context(), ingest.TaskPick{IDs: []int64{2}}, tester); err != nil {
		t.Fatal(err)
	}
	h, err = w.harvest()
	if err != nil || h.Joined == nil || h.Plan.Slices["SUCCEEDED"] != 3 {
		t.Fatalf("%+v, %v", h, err)
	}
}

// A process that is told to stop, as SIGTERM does, leaves nothing leased: tasks
// wait for the next one, and none of them counts a failure.
func TestStopPutsTasksBack(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	w := newWalk(t, func(_ *walk, request int64) {
		if request == 7 {
			stop()
		}
	})
	if _, err := w.harvestUntil(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	if n := w.requests.Load(); n > 7+3 {
		t.Errorf("%d requests after the stop", n-7)
	}
	if got := w.tasks(); got["QUEUED"] != 3 {
		t.Errorf("tasks %v, want all of them to wait", got)
	}
	runs, err := w.app.store.Runs(t.Context(), view.Filter{Limit: 100})
	for _, r := range runs {
		if r.Status != "CANCELLED" || r.ErrorCode != string(fault.Interrupted) {
			t.Errorf("run %+v", r)
		}
	}
	if err != nil || len(runs) == 0 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	h, err := w.harvest()
	if err != nil || h.Joined == nil || h.Plan.Slices["SUCCEEDED"] != 3 {
		t.Fatalf("%+v, %v", h, err)
	}
}

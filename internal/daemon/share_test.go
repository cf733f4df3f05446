package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

func TestAskers(t *testing.T) {
	living := func(roles ...string) (out []store.ExecutorInfo) {
		for i, r := range roles {
			out = append(out, store.ExecutorInfo{ID: string(rune('a' + i)), Roles: r})
		}
		return out
	}
	for _, c := range []struct {
		living []store.ExecutorInfo
		server string // where many may execute
		file   string // where one may
	}{
		{living(), "", ""},
		{living("executor"), "a", "a"},
		{living("executor", "executor"), "a b", "a"},
		{living("planner", "executor"), "b a", "b a"},
		{living("executor,planner", "planner", "executor,planner", "executor"), "a c d b", "a b c"},
	} {
		for single, want := range map[bool]string{false: c.server, true: c.file} {
			if got := strings.Join(askers(c.living, single), " "); got != want {
				t.Errorf("%+v (single: %v): %q, want %q", c.living, single, got, want)
			}
		}
	}
}

// watching is an estimator that notes with which share it was asked.
type watching struct {
	app     *App
	rank, n int
	offline bool
}

func (w *watching) Estimate(_ context.Context, _ *spec.Compiled, _ []window.Window, offline bool) (planner.Estimates, error) {
	w.rank, w.n = w.app.gate.Share()
	w.offline = offline
	return nil, nil
}

// office is several processes on one database, with a clock of their own.
type office struct {
	*testing.T
	file string
	mu   sync.Mutex
	now  time.Time
	c    *spec.Compiled
}

func newOffice(t *testing.T, settings ...string) *office {
	t.Helper()
	o := &office{T: t, file: filepath.Join(t.TempDir(), "patra.db"), now: time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)}
	src, err := Bundled("crossref")
	if err != nil {
		t.Fatal(err)
	}
	var set []registry.Override
	for _, s := range settings {
		one, err := registry.ParseOverride(s)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, one)
	}
	if o.c, err = Compile(src, "", ingest.Harvest, set); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *office) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *office) pass(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

// open starts a process. Their names sort in the order in which they started.
func (o *office) open(name string, onlyReads bool) (*App, *watching) {
	o.Helper()
	app, err := Open(o.Context(), Config{Database: "sqlite:" + o.file, Relaxed: true, Clock: o.clock, MustExist: onlyReads})
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { app.Close() })
	app.identity.ID = name
	w := &watching{app: app}
	app.Planner.Estimator = probing{w, app}
	return app, w
}

func (o *office) probe(w *watching) {
	o.Helper()
	day := window.Window{From: o.clock().Add(-24 * time.Hour), To: o.clock()}
	if _, err := w.app.Planner.Estimator.Estimate(o.Context(), o.c, []window.Window{day}, false); err != nil {
		o.Fatal(err)
	}
}

func (o *office) shares(a *App, rank, n int) {
	o.Helper()
	if gotRank, gotN := a.gate.Share(); gotRank != rank || gotN != n {
		o.Errorf("%s has share %d of %d, want %d of %d", a.identity.ID, gotRank, gotN, rank, n)
	}
}

// I11, D§5.23: a planner that counts is one of those who share the rate, and
// only while it does.
func TestPlannerThatCountsTakesItsShare(t *testing.T) {
	o := newOffice(t)
	planning, asked := o.open("1-planner", false)
	executing, _ := o.open("2-executor", false)
	life := newLife(executing)
	beat := func() {
		t.Helper()
		if err := life.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !life.first() {
			t.Error("a planner keeps the executor from working")
		}
	}
	beat()
	o.shares(executing, 0, 1)
	o.probe(asked)
	if asked.rank != 1 || asked.n != 2 || asked.offline {
		t.Errorf("it counted with share %d of %d, offline: %v", asked.rank, asked.n, asked.offline)
	}
	beat()
	o.shares(executing, 0, 2)
	o.pass(planning.config.Lease + time.Second)
	beat()
	o.shares(executing, 0, 1)

	// A look that writes nothing counts itself, and leaves no trace.
	_, looking := o.open("3-look", true)
	before := o.processes(executing)
	o.probe(looking)
	if looking.rank != 1 || looking.n != 2 || !slices.Equal(o.processes(executing), before) {
		t.Errorf("share %d of %d; processes %v, before %v", looking.rank, looking.n, o.processes(executing), before)
	}

	// A process that stops takes its word back.
	o.probe(asked)
	planning.vanish()
	beat()
	o.shares(executing, 0, 1)

	// The planner of a process that executes is no further asker.
	executing.executes(+1)
	own := &watching{app: executing}
	executing.Planner.Estimator = probing{own, executing}
	o.probe(own)
	if own.rank != 0 || own.n != 1 || o.processes(executing)[0] != "2-executor executor" {
		t.Errorf("share %d of %d, processes %v", own.rank, own.n, o.processes(executing))
	}
}

func (o *office) processes(a *App) (out []string) {
	o.Helper()
	all, err := a.Store.Executors(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	for _, e := range all {
		out = append(out, e.ID+" "+e.Roles)
	}
	return out
}

// Where an executor has the only place, a planner does not wait for one.
func TestPlannerWithoutAPlacePlansWithoutCounts(t *testing.T) {
	o := newOffice(t, "rate.concurrency=1")
	executing, _ := o.open("2-executor", false)
	if err := newLife(executing).beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, asked := o.open("1-planner", false)
	o.probe(asked)
	if !asked.offline {
		t.Error("it would wait for a place it never gets")
	}
	alone := newOffice(t, "rate.concurrency=1")
	_, asked = alone.open("1-planner", false)
	alone.probe(asked)
	if asked.offline {
		t.Error("nobody else asks, and it does not count")
	}
}

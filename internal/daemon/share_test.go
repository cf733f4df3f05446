package daemon

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

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

// beat is a sign of life of a process that executes or asks.
func (o *office) beat(a *App) {
	o.Helper()
	if _, err := a.attendance.giveSignOfLife(o.Context()); err != nil {
		o.Fatal(err)
	}
}

func (o *office) execute(a *App) (leave func()) {
	o.Helper()
	leave, err := a.attendance.joinAsExecutor(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	return leave
}

// I11, D§5.23: a planner that counts is one of those who share the rate, and
// only while it does.
func TestPlannerThatCountsTakesItsShare(t *testing.T) {
	o := newOffice(t)
	planning, asked := o.open("1-planner", false)
	executing, _ := o.open("2-executor", false)
	defer o.execute(executing)()
	o.shares(executing, 0, 1)
	o.probe(asked)
	if asked.rank != 1 || asked.n != 2 || asked.offline {
		t.Errorf("it counted with share %d of %d, offline: %v", asked.rank, asked.n, asked.offline)
	}
	o.beat(executing)
	o.shares(executing, 0, 2)
	planning.attendance.leaveMembers()
	o.beat(executing)
	o.shares(executing, 0, 1)

	// A look that stores nothing is one of them too.
	looks, looking := o.open("3-look", true)
	o.probe(looking)
	if looking.rank != 1 || looking.n != 2 {
		t.Errorf("share %d of %d", looking.rank, looking.n)
	}
	looks.Close()
	o.beat(executing)
	o.shares(executing, 0, 1)

	// The planner of a process that executes is no further asker.
	own := &watching{app: executing}
	executing.Planner.Estimator = probing{own, executing}
	o.probe(own)
	if own.rank != 0 || own.n != 1 {
		t.Errorf("share %d of %d", own.rank, own.n)
	}
}

// I11: who joins takes nothing until everybody who lives has made room, and who
// died is waited for as long as its share counts, and not longer.
func TestBelieve12JoinersWaitForRoom(t *testing.T) {
	o := newOffice(t)
	first, _ := o.open("1-first", false)
	asks, _ := o.open("2-asks", false)
	defer o.execute(first)()
	if !first.attendance.door.Open() {
		t.Fatal("nobody else is there, and it waits")
	}
	leave, err := asks.attendance.joinToAsk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if asks.attendance.door.Open() && func() bool { _, n := first.gate.Share(); return n == 1 }() {
		t.Error("it takes a share before the first has made room")
	}
	o.beat(first)
	o.beat(asks)
	if !asks.attendance.door.Open() {
		t.Error("there is room, and it waits")
	}
	o.shares(first, 0, 2)
	o.shares(asks, 1, 2)
}

// Where an executor has the only place, a planner does not wait for one.
func TestPlannerWithoutAPlacePlansWithoutCounts(t *testing.T) {
	o := newOffice(t, "rate.concurrency=1")
	executing, _ := o.open("2-executor", false)
	defer o.execute(executing)()
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

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/engine/trigger"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// world is an installation in which all is well: Crossref was harvested for some days, is
// harvested at each full hour, and a process lives. Its time is given, and so are the clock and
// the disks of its machine. What troubles it is brought about from outside.
type world struct {
	*library
	ticked time.Time // the last full hour that was harvested

	process string // that plans and executes
	asleep  bool   // it was shut down
	killed  bool   // it ended without a word
	mute    bool   // it lives and no tick fires
	relays  bool   // another process relays events

	apart  time.Duration // by which the clock of the machine differs
	slow   time.Duration // that the database takes for each answer
	full   bool          // the disk
	bodies int64         // percent of their bound
	broken bool          // what is covered cannot be read
	line   atomic.Bool   // to the database is cut
	alarm  *alarm

	leave func(plan int64) // if set, what becomes of the plans of ticks instead of work
	begun int64            // a plan that waits
}

// lookEach is how much time lies between two looks: that of a short slot.
const lookEach, tickEach = 5 * time.Minute, time.Hour

// works is what is harvested.
var works = ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}

func newWorld(t *testing.T, database string) *world {
	t.Helper()
	begin := time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)
	data := upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 8), PerDay: 48, Flat: true}
	w := &world{library: &library{T: t, data: upsim.NewDataset(data), now: begin.AddDate(0, 0, 4)}, process: "attic"}
	var err error
	w.server, err = upsim.NewServer(w.data, upsim.Options{LogLimit: -1})
	w.must(err)
	w.must(w.server.Start())
	t.Cleanup(func() { w.server.Close() })
	localstore.GiveTables(t, database)
	least := 5
	var installed Installed
	installed.Findings.QueueLeast = &least
	w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2, Raw: RawConfig{Off: true}, Clock: func() time.Time { return w.now }, Installed: installed})
	w.must(err)
	t.Cleanup(func() { w.app.Close() })
	readers := readersOf(w.app)
	readers.Machine, readers.Place, readers.Coverage = givenMachine{machine{w.app}, w}, givenPlace{w}, givenCoverage{readers.Coverage, w}
	w.app.Inspect = inspect.New(readers, installed.Findings.Limits())
	w.db = openBeside(t, database)
	w.must(w.app.store.EndCheck(t.Context(), 0))
	w.apply(nil)
	w.harvestFrom(&begin)
	w.ticked = w.now
	w.fire()
	w.pass(lookEach)
	return w
}

// givenMachine is the machine of a world: its clock is given.
type givenMachine struct {
	machine
	w *world
}

// ReadClock is read before and after the database is asked.
func (m givenMachine) ReadClock() time.Time {
	m.w.apart += m.w.slow / 2
	return m.w.now.Add(m.w.apart)
}

// givenPlace is the disk of a world.
type givenPlace struct{ w *world }

func (p givenPlace) Disks() []view.Disk {
	d := view.Disk{Path: "/var/lib/patra", Holds: []string{view.HoldsDatabase, view.HoldsBodies}, Total: 100e9, Free: 50e9}
	if p.w.full {
		d.Free = 1e9
	}
	return []view.Disk{d}
}

func (p givenPlace) RawRoom() *view.RawRoom {
	return &view.RawRoom{Dir: "/var/lib/patra/raw", Bytes: p.w.bodies, Limit: 100}
}

// givenCoverage is a database that has one answer less.
type givenCoverage struct {
	inspect.Coverage
	w *world
}

var errUnreadable = errors.New("page 7 of ing_coverage cannot be read")

func (c givenCoverage) Segments(ctx context.Context, cursorID int64) ([]coverage.Segment, error) {
	if c.w.broken {
		return nil, errUnreadable
	}
	return c.Coverage.Segments(ctx, cursorID)
}

func (c givenCoverage) CoverageAndWork(ctx context.Context, source string, cursors []view.Cursor) (view.CoverageAndWork, error) {
	if c.w.broken {
		return view.CoverageAndWork{}, errUnreadable
	}
	return c.Coverage.CoverageAndWork(ctx, source, cursors)
}

// apply applies Crossref as it is simulated, with a schedule, and with a change.
func (w *world) apply(change func(*registry.Source)) {
	w.Helper()
	src, err := Bundled("crossref")
	w.must(err)
	src.HTTP.BaseURL, src.HTTP.AllowPrivate = w.server.URL(), true
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency, src.Rate.ObeyHeaders = 5000, 200, 200, new(bool)
	src.Retry.InitialDelay, src.Retry.MaxDelay = duration.Duration(time.Millisecond), duration.Duration(2*time.Millisecond)
	src.Retry.MaxAttempts, src.Retry.TaskAttempts = 1, 1
	src.Schedule = &schedule.Config{Cron: "0 * * * *"}
	if change != nil {
		change(src)
	}
	_, err = w.app.store.ApplySource(w.Context(), src, registry.ApplyOptions{})
	w.must(err)
}

// alone calls do while no other process lives: on SQLite one executes.
func (w *world) alone(do func()) {
	w.must(w.app.store.Farewell(w.Context(), w.process))
	do()
	w.beat()
}

// harvestFrom harvests by hand, as a person would, and returns what it came to.
func (w *world) harvestFrom(from *time.Time) (h Harvested) {
	w.Helper()
	return w.harvestBy(NewRequest(w.now, from, nil))
}

func (w *world) harvestBy(r PlanRequest) (h Harvested) {
	w.Helper()
	c, err := w.app.Compile(w.Context(), "crossref", "", ingest.Harvest, nil)
	w.must(err)
	w.alone(func() {
		h, err = w.app.Harvest(w.Context(), c, r, Watch{})
		if limit := (*LimitError)(nil); !errors.As(err, &limit) {
			w.must(err)
		}
	})
	return h
}

// plan plans a harvest that nobody works on yet.
func (w *world) plan() int64 {
	w.Helper()
	return w.planBy(ingest.Harvest, NewRequest(w.now, nil, nil))
}

func (w *world) planBy(op ingest.Operation, r PlanRequest) int64 {
	w.Helper()
	c, err := w.app.Compile(w.Context(), "crossref", "", op, nil)
	w.must(err)
	plan, _, err := w.app.Planner.Plan(w.Context(), c, r)
	w.must(err)
	return plan.ID
}

func (w *world) work(plan int64) {
	w.Helper()
	w.alone(func() {
		_, err := w.app.Work(w.Context(), plan, nil)
		w.must(err)
	})
}

// planTick makes a plan of a tick, as the process that plans does, and returns it; 0: the
// tick waits for a plan, or was refused.
func (w *world) planTick() int64 {
	w.Helper()
	s := schedules{app: w.app, told: map[string]string{}}
	jobs, err := s.listJobs(w.Context())
	w.must(err)
	if len(jobs) == 0 {
		return 0
	}
	j := jobs[0]
	if waits, err := s.Unfinished(w.Context(), j); err != nil || waits != 0 {
		w.must(err)
		return 0
	}
	key := schedule.Text(w.now)
	id, err := w.app.store.RecordTrigger(w.Context(), ingest.Trigger{Key: key, Scheduler: trigger.Scheduler, Type: ingest.TriggerSchedule, At: w.now, Source: "crossref"})
	w.must(err)
	_, err = w.app.store.FollowSchedule(w.Context(), j.Schedule.Name)
	w.must(err)
	o, err := s.Plan(w.Context(), j, trigger.Tick{At: w.now, Now: w.now, Key: key})
	w.must(err)
	if o.Refused != "" {
		remarks, err := json.Marshal(map[string]any{"refused": o.Refused, "paused": o.Paused})
		w.must(err)
		w.must(w.app.store.NoteTrigger(w.Context(), id, remarks))
	}
	w.must(w.app.store.TickFired(w.Context(), j.Schedule.Name, w.now, 0, id))
	return o.PlanID
}

// fire makes a plan of a tick, and works on it.
func (w *world) fire() {
	w.Helper()
	switch plan := w.planTick(); {
	case plan == 0:
	case w.leave != nil:
		w.begun = plan
		w.leave(plan)
	default:
		w.work(plan)
	}
}

// beat gives the signs of life of those who live.
func (w *world) beat() {
	w.Helper()
	living := map[string]string{}
	if !w.asleep && !w.killed {
		living[w.process] = "executor,planner"
	}
	if w.relays {
		living["post"] = "relay"
	}
	for id, roles := range living {
		_, err := w.app.store.Heartbeat(w.Context(), ingest.Process{ID: id, Roles: roles, Host: "attic", PID: 1}, 2*lookEach)
		w.must(err)
	}
}

// pass lets time pass in which a process notes the queue, and harvests at each full hour.
func (w *world) pass(span time.Duration) {
	w.Helper()
	for end := w.now.Add(span); w.now.Before(end); {
		w.now = w.now.Add(lookEach)
		w.beat()
		if w.asleep || w.killed {
			continue
		}
		w.must(w.app.store.NoteQueue(w.Context()))
		if hour := w.now.Truncate(time.Hour); hour.After(w.ticked) && !w.mute {
			w.ticked = hour
			w.fire()
		}
	}
}

// look returns what is found now.
func (w *world) look() []view.Finding {
	w.Helper()
	s, err := w.app.Inspect.Status(w.Context(), w.app.Inspect.UsualQuery(""))
	w.must(err)
	found := s.Findings
	if told := w.alarm.told(); told != nil {
		found = append(found, *told)
	}
	return found
}

// codesOf lists the kinds of findings, in order.
func codesOf(found []view.Finding) (out []string) {
	for _, f := range found {
		out = append(out, string(f.Code))
	}
	slices.Sort(out)
	return out
}

package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) executors(t *testing.T) {
	beat := func(w *world, id string) []string {
		w.Helper()
		alive, err := w.Store.Heartbeat(w.Ctx, ingest.Process{ID: id, Roles: "executor", Host: "host", PID: 1}, fixture.Lease)
		w.Must(err)
		seen, err := w.Store.Living(w.Ctx)
		w.Must(err)
		if !reflect.DeepEqual(seen, alive) {
			w.Errorf("who only looks sees %+v, not %+v", seen, alive)
		}
		var ids []string
		for _, e := range alive {
			ids = append(ids, e.ID)
		}
		return ids
	}
	s.test(t, "a heartbeat lists the living, sorted", func(w *world) {
		beat(w, "b")
		beat(w, "c")
		if got := beat(w, "a"); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
			w.Errorf("alive %v", got)
		}
		w.Clock.Advance(fixture.Lease) // the last moment still counts
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
			w.Errorf("alive %v", got)
		}
		w.Clock.Advance(1000)
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"b"}) {
			w.Errorf("alive %v, want only b", got)
		}
	})
	s.test(t, "a heartbeat tells what a process does now", func(w *world) {
		me := ingest.Process{ID: "a", Roles: "planner", Host: "host", PID: 1}
		for _, roles := range []string{"planner", "executor", "executor", "executor,planner"} {
			me.Roles = roles
			living, err := w.Store.Heartbeat(w.Ctx, me, fixture.Lease)
			w.Must(err)
			if !reflect.DeepEqual(living, []ingest.Process{me}) {
				w.Errorf("as %s: %+v", roles, living)
			}
		}
	})
	s.test(t, "who says farewell is gone at once", func(w *world) {
		beat(w, "a")
		beat(w, "b")
		w.Must(w.Store.Farewell(w.Ctx, "a"))
		w.Must(w.Store.Farewell(w.Ctx, "a"))
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"b"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "what it could not give back is free at once, and nothing of others", func(w *world) {
		h := fixture.Harvest{Days: 4}
		w.Plan(h)
		claim := func(owner string) ingest.Work {
			request := w.Request(h, 1)
			request.Owner = owner
			work, err := w.Store.Claim(w.Ctx, request)
			w.Must(err)
			if len(work) != 1 {
				w.Fatalf("%s claimed %d tasks", owner, len(work))
			}
			return work[0]
		}
		started, claimed, other := claim("a"), claim("a"), claim("b")
		_, err := w.Store.StartRun(w.Ctx, started, fixture.Lease)
		w.Must(err)
		beat(w, "a")
		w.Must(w.Store.Farewell(w.Ctx, "a"))
		w.Unchanged("said twice", func() { w.Must(w.Store.Farewell(w.Ctx, "a")) })
		if n := w.Number("SELECT SUM(idle_leases) FROM ing_task WHERE id IN (?, ?)", started.Lease.TaskID, claimed.Lease.TaskID); n != 0 {
			w.Errorf("%d leases are held against the tasks", n)
		}
		w.Clock.Advance(time.Microsecond)
		if n, err := w.Store.Reap(w.Ctx, 10); n != 2 || err != nil {
			w.Errorf("reaped %d, %v", n, err)
		}
		_, err = w.Store.Renew(w.Ctx, other.Lease, fixture.Lease)
		w.Must(err)
		if again := claim("b"); again.Lease.TaskID != started.Lease.TaskID || again.Lease.Epoch == started.Lease.Epoch {
			w.Errorf("claimed %+v", again.Lease)
		}
		_, err = w.Store.Renew(w.Ctx, started.Lease, fixture.Lease)
		w.Refuses(err, fault.ErrStale, "a worker that outlived its process's farewell")
	})
	s.test(t, "processes are listed until they leave", func(w *world) {
		for _, e := range []ingest.Process{{ID: "b", Roles: "executor", Host: "two", PID: 2}, {ID: "a", Roles: "planner", Host: "one", PID: 1}} {
			_, err := w.Store.Heartbeat(w.Ctx, e, fixture.Lease)
			w.Must(err)
		}
		w.Clock.Advance(2 * fixture.Lease)
		all, err := w.Store.Executors(w.Ctx)
		w.Must(err)
		want := []ingest.Process{{ID: "a", Roles: "planner", Host: "one", PID: 1}, {ID: "b", Roles: "executor", Host: "two", PID: 2}}
		if !reflect.DeepEqual(all, want) {
			w.Errorf("listed %+v, want %+v", all, want)
		}
	})
	s.test(t, "the leases of a buried process can be reaped at once", func(w *world) {
		h := fixture.Harvest{Days: 3}
		w.Plan(h)
		beat(w, "worker")
		beat(w, "other")
		started, waiting := w.Begin(h), w.Claim(h, 1)[0]
		request := w.Request(h, 1)
		request.Owner = "other"
		kept, err := w.Store.Claim(w.Ctx, request)
		w.Must(err)
		w.Must(w.Store.Bury(w.Ctx, "worker"))
		w.reaps(10, 2)
		for _, l := range []ingest.Lease{started.Work.Lease, waiting.Lease} {
			_, err := w.Store.Renew(w.Ctx, l, fixture.Lease)
			w.Refuses(err, fault.ErrStale, "renewal of a buried process")
		}
		_, err = w.Store.Renew(w.Ctx, kept[0].Lease, fixture.Lease)
		w.Must(err)
		if got := beat(w, "other"); !reflect.DeepEqual(got, []string{"other"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "a process that was buried alive and not yet reaped keeps its work", func(w *world) {
		w.Plan(fixture.Harvest{})
		a := w.Begin(fixture.Harvest{})
		w.Must(w.Store.Bury(w.Ctx, "worker"))
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		w.reaps(10, 0)
		a.Finish(fixture.Succeeded)
	})
	s.test(t, "processes that start together all get in", func(w *world) {
		handles := w.Handles(3)
		w.Together(8, func(i int) error {
			_, err := handles[i%3].Heartbeat(w.Ctx, ingest.Process{ID: string(rune('a' + i/2))}, fixture.Lease) // each id twice
			return err
		})
		if got := beat(w, "a"); !reflect.DeepEqual(got, []string{"a", "b", "c", "d"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "the store's clock is UTC in whole microseconds", func(w *world) {
		w.Clock.Set(fixture.Noon.Add(1999))
		now, err := w.Store.Now(w.Ctx)
		w.Must(err)
		if now != fixture.Noon.Add(1000) {
			w.Errorf("now %v, want the fraction cut", now)
		}
		real := w.DB.Open(w.T, store.Options{})
		first, err := real.Now(w.Ctx)
		w.Must(err)
		second, err := real.Now(w.Ctx)
		w.Must(err)
		if second.Before(first) || first.Year() < 2025 || first.Location() != fixture.Noon.Location() || first.Nanosecond()%1000 != 0 {
			w.Errorf("real clock %v, then %v", first, second)
		}
	})
}

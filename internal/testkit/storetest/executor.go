package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

func (s suite) executors(t *testing.T) {
	beat := func(w *world, id string) []string {
		w.Helper()
		alive, err := w.store.Heartbeat(w.ctx, store.ExecutorInfo{ID: id, Roles: "executor", Host: "host", PID: 1}, lease)
		w.must(err)
		seen, err := w.store.Living(w.ctx)
		w.must(err)
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
		w.clock.advance(lease) // the last moment still counts
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
			w.Errorf("alive %v", got)
		}
		w.clock.advance(1000)
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"b"}) {
			w.Errorf("alive %v, want only b", got)
		}
	})
	s.test(t, "a heartbeat tells what a process does now", func(w *world) {
		me := store.ExecutorInfo{ID: "a", Roles: "planner", Host: "host", PID: 1}
		for _, roles := range []string{"planner", "executor", "executor", "executor,planner"} {
			me.Roles = roles
			living, err := w.store.Heartbeat(w.ctx, me, lease)
			w.must(err)
			if !reflect.DeepEqual(living, []store.ExecutorInfo{me}) {
				w.Errorf("as %s: %+v", roles, living)
			}
		}
	})
	s.test(t, "who says farewell is gone at once", func(w *world) {
		beat(w, "a")
		beat(w, "b")
		w.must(w.store.Farewell(w.ctx, "a"))
		w.must(w.store.Farewell(w.ctx, "a"))
		if got := beat(w, "b"); !reflect.DeepEqual(got, []string{"b"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "what it could not give back is free at once, and nothing of others", func(w *world) {
		h := harvest{days: 4}
		w.plan(h)
		claim := func(owner string) ingest.Work {
			request := w.request(h, 1)
			request.Owner = owner
			work, err := w.store.Claim(w.ctx, request)
			w.must(err)
			if len(work) != 1 {
				w.Fatalf("%s claimed %d tasks", owner, len(work))
			}
			return work[0]
		}
		started, claimed, other := claim("a"), claim("a"), claim("b")
		_, err := w.store.StartRun(w.ctx, started, lease)
		w.must(err)
		beat(w, "a")
		w.must(w.store.Farewell(w.ctx, "a"))
		w.unchanged("said twice", func() { w.must(w.store.Farewell(w.ctx, "a")) })
		if n := w.number("SELECT SUM(idle_leases) FROM ing_task WHERE id IN (?, ?)", started.Lease.TaskID, claimed.Lease.TaskID); n != 0 {
			w.Errorf("%d leases are held against the tasks", n)
		}
		w.clock.advance(time.Microsecond)
		if n, err := w.store.Reap(w.ctx, 10); n != 2 || err != nil {
			w.Errorf("reaped %d, %v", n, err)
		}
		_, err = w.store.Renew(w.ctx, other.Lease, lease)
		w.must(err)
		if again := claim("b"); again.Lease.TaskID != started.Lease.TaskID || again.Lease.Epoch == started.Lease.Epoch {
			w.Errorf("claimed %+v", again.Lease)
		}
		_, err = w.store.Renew(w.ctx, started.Lease, lease)
		w.refuses(err, fault.ErrStale, "a worker that outlived its process's farewell")
	})
	s.test(t, "processes are listed until they leave", func(w *world) {
		for _, e := range []store.ExecutorInfo{{ID: "b", Roles: "executor", Host: "two", PID: 2}, {ID: "a", Roles: "planner", Host: "one", PID: 1}} {
			_, err := w.store.Heartbeat(w.ctx, e, lease)
			w.must(err)
		}
		w.clock.advance(2 * lease)
		all, err := w.store.Executors(w.ctx)
		w.must(err)
		want := []store.ExecutorInfo{{ID: "a", Roles: "planner", Host: "one", PID: 1}, {ID: "b", Roles: "executor", Host: "two", PID: 2}}
		if !reflect.DeepEqual(all, want) {
			w.Errorf("listed %+v, want %+v", all, want)
		}
	})
	s.test(t, "the leases of a buried process can be reaped at once", func(w *world) {
		h := harvest{days: 3}
		w.plan(h)
		beat(w, "worker")
		beat(w, "other")
		started, waiting := w.begin(h), w.claim(h, 1)[0]
		request := w.request(h, 1)
		request.Owner = "other"
		kept, err := w.store.Claim(w.ctx, request)
		w.must(err)
		w.must(w.store.Bury(w.ctx, "worker"))
		w.reaps(10, 2)
		for _, l := range []ingest.Lease{started.work.Lease, waiting.Lease} {
			_, err := w.store.Renew(w.ctx, l, lease)
			w.refuses(err, fault.ErrStale, "renewal of a buried process")
		}
		_, err = w.store.Renew(w.ctx, kept[0].Lease, lease)
		w.must(err)
		if got := beat(w, "other"); !reflect.DeepEqual(got, []string{"other"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "a process that was buried alive and not yet reaped keeps its work", func(w *world) {
		w.plan(harvest{})
		a := w.begin(harvest{})
		w.must(w.store.Bury(w.ctx, "worker"))
		a.commit(item("a", "x", noon))
		w.reaps(10, 0)
		a.finish(succeeded)
	})
	s.test(t, "processes that start together all get in", func(w *world) {
		handles := w.handles(3)
		w.together(8, func(i int) error {
			_, err := handles[i%3].Heartbeat(w.ctx, store.ExecutorInfo{ID: string(rune('a' + i/2))}, lease) // each id twice
			return err
		})
		if got := beat(w, "a"); !reflect.DeepEqual(got, []string{"a", "b", "c", "d"}) {
			w.Errorf("alive %v", got)
		}
	})
	s.test(t, "the store's clock is UTC in whole microseconds", func(w *world) {
		w.clock.set(noon.Add(1999))
		now, err := w.store.Now(w.ctx)
		w.must(err)
		if now != noon.Add(1000) {
			w.Errorf("now %v, want the fraction cut", now)
		}
		real := w.db.Open(w.T, store.Options{})
		first, err := real.Now(w.ctx)
		w.must(err)
		second, err := real.Now(w.ctx)
		w.must(err)
		if second.Before(first) || first.Year() < 2025 || first.Location() != noon.Location() || first.Nanosecond()%1000 != 0 {
			w.Errorf("real clock %v, then %v", first, second)
		}
	})
}

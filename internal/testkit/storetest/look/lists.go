package look

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// list reads the ids of one kind of row.
type list func(w *world, f view.Filter) []int64

func ids[T any](read func(*world, view.Filter) ([]T, error), id func(T) int64) list {
	return func(w *world, f view.Filter) (out []int64) {
		w.Helper()
		rows, err := read(w, f)
		w.Must(err)
		for _, row := range rows {
			out = append(out, id(row))
		}
		return out
	}
}

var lists = map[string]list{
	"plans": ids(func(w *world, f view.Filter) ([]view.Plan, error) { return w.Store.Plans(w.Ctx, f) }, func(v view.Plan) int64 { return v.ID }),
	"tasks": ids(func(w *world, f view.Filter) ([]view.Task, error) { return w.Store.Tasks(w.Ctx, f) }, func(v view.Task) int64 { return v.ID }),
	"runs":  ids(func(w *world, f view.Filter) ([]view.Run, error) { return w.Store.Runs(w.Ctx, f) }, func(v view.Run) int64 { return v.ID }),
	"batches": ids(func(w *world, f view.Filter) ([]view.Batch, error) { return w.Store.Batches(w.Ctx, f) },
		func(v view.Batch) int64 { return v.ID }),
}

func (s suite) views(t *testing.T) {
	// Two sources, two plans each, 30 tasks a plan, each with a run and a batch.
	busy := func(w *world) (plans []int64) {
		w.Helper()
		for _, source := range []string{"one", "two"} {
			for _, first := range []int{1, 50} {
				h := fixture.Harvest{Source: source, Trigger: fmt.Sprint(first), First: first, Days: 30}
				plans = append(plans, w.Plan(h).ID)
				for n := range 30 {
					a := w.Begin(h)
					a.Commit(fixture.Item(fmt.Sprint(source, first, n), "x", fixture.Noon))
					a.Finish([]ingest.Outcome{fixture.Succeeded, fixture.Failed, fixture.Partial}[n%3])
				}
			}
		}
		return plans
	}
	s.test(t, "lists can be narrowed and paged", func(w *world) {
		plans := busy(w)
		for name, read := range lists {
			all := read(w, view.Filter{Limit: 1000})
			perPlan := len(all) / len(plans)
			if want := map[string]int{"plans": 4}[name]; want == 0 && len(all) != 120 || want != 0 && len(all) != want {
				w.Errorf("%s: %d rows", name, len(all))
			}
			w.newestFirst(name, all)
			if got := read(w, view.Filter{Source: "two", Limit: 1000}); len(got) != 2*perPlan {
				w.Errorf("%s of a source: %d, want %d", name, len(got), 2*perPlan)
			}
			if got := read(w, view.Filter{PlanID: plans[1], Limit: 1000}); len(got) != perPlan {
				w.Errorf("%s of a plan: %d, want %d", name, len(got), perPlan)
			}
			if got := read(w, view.Filter{PlanID: plans[1], Source: "two"}); len(got) != 0 {
				w.Errorf("%s of a plan of another source: %d", name, len(got))
			}
			if got := read(w, view.Filter{Source: "three"}); len(got) != 0 {
				w.Errorf("%s of an unknown source: %d", name, len(got))
			}
			if got := read(w, view.Filter{Status: "NO SUCH"}); len(got) != 0 {
				w.Errorf("%s of an unknown status: %d", name, len(got))
			}
			if got := read(w, view.Filter{}); len(got) != min(50, len(all)) {
				w.Errorf("%s without a limit: %d, want 50 at most", name, len(got))
			}
			var paged []int64
			for f := (view.Filter{Limit: 7}); ; f.Before = paged[len(paged)-1] {
				page := read(w, f)
				if len(page) == 0 || len(paged) > len(all) { // a list that turns round has no end
					break
				}
				paged = append(paged, page...)
			}
			if !reflect.DeepEqual(paged, all) {
				w.Errorf("%s in pages of 7: %d rows, want the same %d", name, len(paged), len(all))
			}
		}
		for status, want := range map[string]int{"SUCCEEDED": 40, "FAILED": 40, "PARTIAL": 40, "RUNNING": 0} {
			if got := lists["runs"](w, view.Filter{Status: status, Limit: 1000}); len(got) != want {
				w.Errorf("%s runs: %d, want %d", status, len(got), want)
			}
		}
	})
	s.test(t, "one task's runs and batches", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		a.Commit(fixture.Item("b", "x", fixture.Noon))
		a.Finish(fixture.Again)
		b := w.Begin(h)
		b.Commit(fixture.Item("c", "x", fixture.Noon))
		w.Begin(h).Commit(fixture.Item("d", "x", fixture.Noon))
		for f, want := range map[view.Filter][2]int{
			{TaskID: a.Work.Lease.TaskID}: {2, 3}, {RunID: a.Run.ID}: {1, 2}, {RunID: b.Run.ID, TaskID: b.Work.Lease.TaskID}: {1, 1}, {TaskID: 4711}: {0, 0},
		} {
			if got := [2]int{len(lists["runs"](w, f)), len(lists["batches"](w, f))}; got != want {
				w.Errorf("%+v: runs and batches %v, want %v", f, got, want)
			}
		}
	})
	s.test(t, "a plan's progress adds up", func(w *world) {
		h := fixture.Harvest{Days: 5}
		plan := w.Plan(h)
		for _, o := range []ingest.Outcome{fixture.Succeeded, fixture.Failed, fixture.Succeeded} {
			a := w.Begin(h)
			o.Stats = ingest.RunStats{Requests: 2, BatchStats: a.Commit(fixture.Item(fmt.Sprint(a.Run.ID), "x", fixture.Noon)).Stats}
			a.Finish(o)
		}
		w.Begin(h)
		got, err := w.Store.Progress(w.Ctx, plan.ID)
		w.Must(err)
		want := view.Progress{
			PlanID: plan.ID, Status: "READY", Slices: map[string]int{"SUCCEEDED": 2, "FAILED": 1, "READY": 2}, Total: 5, Done: 3,
			Stats: ingest.RunStats{Requests: 6, BatchStats: ingest.BatchStats{Seen: 3, Inserted: 3}},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("progress\n%+v, want\n%+v", got, want)
		}
	})
	s.test(t, "what does not exist is not found", func(w *world) {
		_, err := w.Store.Progress(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "progress")
		_, err = w.Store.Batch(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "batch")
		_, err = w.Store.Cursor(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "cursor")
		if got, err := w.Store.CursorEvents(w.Ctx, 4711, 0, 10); err != nil || len(got) != 0 {
			w.Errorf("events of no cursor: %v %v", got, err)
		}
		if got, err := w.Store.Segments(w.Ctx, 4711); err != nil || len(got) != 0 {
			w.Errorf("segments of no cursor: %v %v", got, err)
		}
	})
	s.test(t, "cursors by source and events in pages", func(w *world) {
		one, two := fixture.Harvest{Source: "one", Days: 4}, fixture.Harvest{Source: "two"}
		w.Plan(one)
		w.Plan(two)
		w.Work(one, fixture.Succeeded, fixture.Failed, fixture.Succeeded, fixture.Succeeded)
		for source, want := range map[string]int{"": 2, "one": 1, "two": 1, "three": 0} {
			if got, err := w.Store.Cursors(w.Ctx, source); err != nil || len(got) != want {
				w.Errorf("cursors of %q: %d, %v", source, len(got), err)
			}
		}
		all := w.Events(one)
		var paged []view.CursorEvent
		for last := int64(0); ; last = paged[len(paged)-1].ID {
			page, err := w.Store.CursorEvents(w.Ctx, w.CursorID(one), last, 2)
			w.Must(err)
			if len(page) == 0 || len(paged) > len(all) {
				break
			}
			paged = append(paged, page...)
		}
		if len(all) != 5 || !reflect.DeepEqual(paged, all) {
			w.Errorf("%d events, in pages %d", len(all), len(paged))
		}
		cursor, err := w.Store.Cursor(w.Ctx, w.CursorID(one))
		w.Must(err)
		n := one.Namespace()
		if cursor.Source != "one" || cursor.Endpoint != "works" || cursor.Operation != "HARVEST" || cursor.Key != n.CursorKey || cursor.Scope != "EXPR" ||
			cursor.NamespaceKey != n.Key || cursor.Type != "TIME" || cursor.Version != 5 {
			w.Errorf("cursor %+v", cursor)
		}
	})
	s.test(t, "totals of a source", func(w *world) {
		for _, source := range []string{"one", "two"} {
			h := fixture.Harvest{Source: source, Days: 1}
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon), fixture.Item("c", "x", fixture.Noon))
			page := a.Page(fixture.Gone("b", fixture.Noon.Add(fixture.Day)), fixture.Item("a", "y", fixture.Noon.Add(fixture.Day)))
			page.Rejects, page.Seen = []record.Reject{{Reason: record.BadID, Raw: []byte("1")}, {Reason: record.BadID, Raw: []byte("2")}}, 4
			a.Store(page)
		}
		w.Exec("UPDATE ing_quarantine SET status_code = 'CLOSED' WHERE provenance_code = 'one' AND raw_hash = (SELECT MIN(h) FROM (SELECT raw_hash AS h FROM ing_quarantine) q)")
		for source, want := range map[string]view.Counts{
			"one": {Records: 2, Gone: 1, Outbox: 5, Quarantined: 1}, "two": {Records: 2, Gone: 1, Outbox: 5, Quarantined: 2}, "three": {},
		} {
			if got, err := w.Store.Counts(w.Ctx, source); err != nil || got != want {
				w.Errorf("%s: %+v %v, want %+v", source, got, err, want)
			}
		}
	})
}

func (w *world) newestFirst(name string, ids []int64) {
	w.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] >= ids[i-1] {
			w.Errorf("%s: id %d after %d", name, ids[i], ids[i-1])
		}
	}
}

package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func (s suite) queue(t *testing.T) {
	s.test(t, "queues tell what dispatch needs", func(w *world) {
		busy, quiet := harvest{source: "busy", days: 5}, harvest{source: "quiet", days: 1}
		w.plan(busy)
		w.plan(quiet)
		w.plan(harvest{source: "old", operation: ingest.Backfill, days: 2})
		w.claim(busy, 2)
		w.begin(busy)
		w.work(quiet, succeeded)
		w.pause(ingest.Scope{Source: "old"})
		w.exec("UPDATE ing_partition SET cooling_until = ?, max_concurrent = 9 WHERE provenance_code = 'old'", noon.Add(time.Hour).UnixMicro())
		got, err := w.store.Queues(w.ctx)
		w.must(err)
		want := []ingest.Queue{
			{PartitionID: w.partitionID(busy), Partition: busy.partition(), RateKey: "busy", MaxConcurrent: 4, Running: 3, Priority: 10, ScheduledAt: noon},
			{
				PartitionID: w.partitionID(harvest{source: "old", operation: ingest.Backfill}),
				Partition:   harvest{source: "old", operation: ingest.Backfill}.partition(),
				Paused:      true, CoolingUntil: noon.Add(time.Hour), CoolingCode: gate.Cooling, RateKey: "old", MaxConcurrent: 9, Priority: 90, ScheduledAt: noon,
			},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("queues\n%+v, want\n%+v", got, want)
		}
	})
	s.test(t, "an empty store has no queue and nothing due", func(w *world) {
		queues, err := w.store.Queues(w.ctx)
		w.must(err)
		next, err := w.store.NextDue(w.ctx)
		w.must(err)
		if len(queues) != 0 || !next.IsZero() {
			w.Errorf("queues %v, next due %v", queues, next)
		}
	})
	s.test(t, "claimed work carries all a worker needs", func(w *world) {
		h := harvest{days: 1}
		plan := w.plan(h)
		request := w.request(h, 5)
		work, err := w.store.Claim(w.ctx, request)
		w.must(err)
		if len(work) != 1 {
			w.Fatalf("%d tasks", len(work))
		}
		in, got := h.newSlices()[0], work[0]
		ids := ingest.Work{ // ids are the database's to choose; the rest is known
			Lease: got.Lease, Lineage: got.Lineage, DatasetID: got.DatasetID, ExprID: got.ExprID, MappingID: got.MappingID,
		}
		want := ids
		want.Partition, want.TaskKey, want.Params, want.ExprHash, want.Expr, want.SliceSpec = h.partition(), in.TaskKey, in.TaskParams, in.ExprHash, in.Expr, in.Spec
		want.Window, want.AsOf, want.SpecFingerprint, want.Spec = in.Window, plan.AsOf, plan.SpecFingerprint, h.newPlan(0).Spec
		if !reflect.DeepEqual(got, want) {
			w.Errorf("work\n%+v, want\n%+v", got, want)
		}
		task := w.number("SELECT id FROM ing_task")
		if l := got.Lease; l != (ingest.Lease{TaskID: task, Epoch: 1, Owner: "worker", Until: noon.Add(lease)}) {
			w.Errorf("lease %+v", l)
		}
		slice := w.number("SELECT id FROM ing_plan_slice")
		if l := got.Lineage; l != (ingest.Lineage{ScheduleID: plan.ScheduleID, PlanID: plan.ID, SliceID: slice, TaskID: task}) {
			w.Errorf("lineage %+v", l)
		}
		if got.DatasetID == 0 || got.ExprID == 0 || got.MappingID == 0 || got.ExprID == got.MappingID {
			w.Errorf("dataset %d, expression %d, mapping %d", got.DatasetID, got.ExprID, got.MappingID)
		}
	})
	s.test(t, "tasks leave in order of priority, due time and id", func(w *world) {
		w.plan(harvest{trigger: "low", first: 1, days: 2, priority: 30})
		w.clock.advance(-time.Minute)
		w.plan(harvest{trigger: "earlier", first: 3, days: 2, priority: 20})
		w.clock.advance(time.Minute)
		w.plan(harvest{trigger: "same", first: 5, days: 2, priority: 20})
		w.plan(harvest{trigger: "high", first: 7, days: 2, priority: 10})
		var got []window.Window
		for len(got) < 8 {
			for _, work := range w.claim(harvest{}, 2) {
				got = append(got, work.Window)
			}
		}
		want := []window.Window{
			march(7, 8), march(8, 9), march(3, 4), march(4, 5), march(5, 6), march(6, 7), march(1, 2), march(2, 3),
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("order %v, want %v", got, want)
		}
	})
	s.test(t, "one claim gives its tasks in the same order", func(w *world) {
		w.plan(harvest{trigger: "low", first: 1, days: 2, priority: 30})
		w.plan(harvest{trigger: "high", first: 7, days: 2, priority: 10})
		var got []window.Window
		for _, work := range w.claim(harvest{}, 4) {
			got = append(got, work.Window)
		}
		if want := []window.Window{march(7, 8), march(8, 9), march(1, 2), march(2, 3)}; !reflect.DeepEqual(got, want) {
			w.Errorf("order %v, want %v", got, want)
		}
	})
	s.test(t, "a claim repeated gives the tasks it got", func(w *world) {
		h := harvest{days: 9}
		w.plan(h)
		request := w.request(h, 4)
		first, err := w.store.Claim(w.ctx, request)
		w.must(err)
		w.unchanged("repeated claim", func() {
			second, err := w.store.Claim(w.ctx, request)
			w.must(err)
			if len(second) != 4 || !reflect.DeepEqual(first, second) {
				w.Errorf("second answer\n%+v, first\n%+v", second, first)
			}
		})
	})
	s.test(t, "a claim takes only its own partition", func(w *world) {
		w.plan(harvest{source: "one", days: 2})
		w.plan(harvest{source: "two", days: 2})
		for _, work := range w.claim(harvest{source: "two"}, 2) {
			if work.Partition.Source != "two" {
				w.Errorf("claimed a task of %s", work.Partition.Source)
			}
		}
		w.claim(harvest{source: "two"}, 0)
		w.claim(harvest{source: "one"}, 2)
	})
	s.test(t, "due tasks are promoted, earliest first", func(w *world) {
		w.plan(harvest{trigger: "late", first: 1, days: 2, due: noon.Add(2 * time.Hour)})
		w.plan(harvest{trigger: "soon", first: 5, days: 2, due: noon.Add(time.Hour)})
		w.promotes(10, 0)
		w.clock.set(noon.Add(time.Hour - time.Microsecond))
		w.promotes(10, 0)
		w.clock.set(noon.Add(time.Hour))
		w.promotes(1, 1)
		w.promotes(10, 1)
		w.promotes(10, 0)
		w.clock.set(noon.Add(3 * time.Hour))
		w.promotes(10, 2)
		next, err := w.store.NextDue(w.ctx)
		w.must(err)
		if !next.IsZero() {
			w.Errorf("next due %v, want none", next)
		}
		tasks, err := w.store.Tasks(w.ctx, view.Filter{Status: string(ingest.TaskQueued)})
		w.must(err)
		if len(tasks) != 4 {
			w.Errorf("%d queued tasks, want 4", len(tasks))
		}
	})
}

func (w *world) promotes(limit, want int) {
	w.Helper()
	n, err := w.store.Promote(w.ctx, limit)
	w.must(err)
	if n != want {
		w.Errorf("promoted %d tasks, want %d", n, want)
	}
}

func (w *world) reaps(limit, want int) {
	w.Helper()
	n, err := w.store.Reap(w.ctx, limit)
	w.must(err)
	if n != want {
		w.Errorf("reaped %d leases, want %d", n, want)
	}
}

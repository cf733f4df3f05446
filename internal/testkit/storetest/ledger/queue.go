package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) queue(t *testing.T) {
	s.test(t, "queues tell what dispatch needs", func(w *world) {
		busy, quiet := fixture.Harvest{Source: "busy", Days: 5}, fixture.Harvest{Source: "quiet", Days: 1}
		w.Plan(busy)
		w.Plan(quiet)
		w.Plan(fixture.Harvest{Source: "old", Operation: ingest.Backfill, Days: 2})
		w.Claim(busy, 2)
		w.Begin(busy)
		w.Work(quiet, fixture.Succeeded)
		w.pause(ingest.Scope{Source: "old"})
		w.Exec("UPDATE ing_partition SET cooling_until = ?, max_concurrent = 9 WHERE provenance_code = 'old'", fixture.Noon.Add(time.Hour).UnixMicro())
		got, err := w.Store.Queues(w.Ctx)
		w.Must(err)
		want := []ingest.Queue{
			{PartitionID: w.PartitionID(busy), Partition: busy.Partition(), RateKey: "busy", MaxConcurrent: 4, Running: 3, Priority: 10, ScheduledAt: fixture.Noon},
			{
				PartitionID: w.PartitionID(fixture.Harvest{Source: "old", Operation: ingest.Backfill}),
				Partition:   fixture.Harvest{Source: "old", Operation: ingest.Backfill}.Partition(),
				Paused:      true, CoolingUntil: fixture.Noon.Add(time.Hour), CoolingCode: gate.Cooling, RateKey: "old", MaxConcurrent: 9, Priority: 90, ScheduledAt: fixture.Noon,
			},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("queues\n%+v, want\n%+v", got, want)
		}
	})
	s.test(t, "a task knows in which span it was planned, and a run in which it is worked on", func(w *world) {
		h := fixture.Harvest{Days: 2}
		const planned, worked = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319d-00f067aa0ba902b7-00"
		chunk := h.NewSlices()
		chunk[0].PlannedIn = planned
		w.Must(w.Store.AddSlices(w.Ctx, w.Open(h).ID, chunk, true))
		work := w.Claim(h, 2)
		if work[0].PlannedIn != planned || work[1].PlannedIn != "" {
			w.Errorf("planned in %q and %q", work[0].PlannedIn, work[1].PlannedIn)
		}
		work[0].WorkedIn = worked
		traced, other := w.Start(work[0]), w.Start(work[1])
		if got := w.Text("SELECT correlation_id FROM ing_task_run WHERE id = ?", traced.Run.ID); got != worked {
			w.Errorf("worked on in %q", got)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_task_run WHERE id = ? AND correlation_id IS NULL", other.Run.ID); n != 1 {
			w.Error("a run that nobody traced has a span")
		}
	})
	s.test(t, "an empty store has no queue and nothing due", func(w *world) {
		queues, err := w.Store.Queues(w.Ctx)
		w.Must(err)
		next, err := w.Store.NextDue(w.Ctx)
		w.Must(err)
		if len(queues) != 0 || !next.IsZero() {
			w.Errorf("queues %v, next due %v", queues, next)
		}
	})
	s.test(t, "claimed work carries all a worker needs", func(w *world) {
		h := fixture.Harvest{Days: 1}
		plan := w.Plan(h)
		request := w.Request(h, 5)
		work, err := w.Store.Claim(w.Ctx, request)
		w.Must(err)
		if len(work) != 1 {
			w.Fatalf("%d tasks", len(work))
		}
		in, got := h.NewSlices()[0], work[0]
		ids := ingest.Work{ // ids are the database's to choose; the rest is known
			Lease: got.Lease, Lineage: got.Lineage, DatasetID: got.DatasetID, ExprID: got.ExprID, MappingID: got.MappingID,
		}
		want := ids
		want.Partition, want.TaskKey, want.Params, want.ExprHash, want.Expr, want.SliceSpec = h.Partition(), in.TaskKey, in.TaskParams, in.ExprHash, in.Expr, in.Spec
		want.Window, want.AsOf, want.SpecFingerprint, want.Spec = in.Window, plan.AsOf, plan.SpecFingerprint, h.NewPlan(0).Spec
		want.Priority = in.Priority
		if !reflect.DeepEqual(got, want) {
			w.Errorf("work\n%+v, want\n%+v", got, want)
		}
		task := w.Number("SELECT id FROM ing_task")
		if l := got.Lease; l != (ingest.Lease{TaskID: task, Epoch: 1, Owner: "worker", Until: fixture.Noon.Add(fixture.Lease)}) {
			w.Errorf("lease %+v", l)
		}
		slice := w.Number("SELECT id FROM ing_plan_slice")
		if l := got.Lineage; l != (ingest.Lineage{ScheduleID: plan.ScheduleID, PlanID: plan.ID, SliceID: slice, TaskID: task}) {
			w.Errorf("lineage %+v", l)
		}
		if got.DatasetID == 0 || got.ExprID == 0 || got.MappingID == 0 || got.ExprID == got.MappingID {
			w.Errorf("dataset %d, expression %d, mapping %d", got.DatasetID, got.ExprID, got.MappingID)
		}
	})
	s.test(t, "tasks leave in order of priority, due time and id", func(w *world) {
		w.Plan(fixture.Harvest{Trigger: "low", First: 1, Days: 2, Priority: 30})
		w.Clock.Advance(-time.Minute)
		w.Plan(fixture.Harvest{Trigger: "earlier", First: 3, Days: 2, Priority: 20})
		w.Clock.Advance(time.Minute)
		w.Plan(fixture.Harvest{Trigger: "same", First: 5, Days: 2, Priority: 20})
		w.Plan(fixture.Harvest{Trigger: "high", First: 7, Days: 2, Priority: 10})
		var got []window.Window
		for len(got) < 8 {
			for _, work := range w.Claim(fixture.Harvest{}, 2) {
				got = append(got, work.Window)
			}
		}
		want := []window.Window{
			fixture.March(7, 8), fixture.March(8, 9), fixture.March(3, 4), fixture.March(4, 5), fixture.March(5, 6), fixture.March(6, 7), fixture.March(1, 2), fixture.March(2, 3),
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("order %v, want %v", got, want)
		}
	})
	s.test(t, "one claim gives its tasks in the same order", func(w *world) {
		w.Plan(fixture.Harvest{Trigger: "low", First: 1, Days: 2, Priority: 30})
		w.Plan(fixture.Harvest{Trigger: "high", First: 7, Days: 2, Priority: 10})
		var got []window.Window
		for _, work := range w.Claim(fixture.Harvest{}, 4) {
			got = append(got, work.Window)
		}
		if want := []window.Window{fixture.March(7, 8), fixture.March(8, 9), fixture.March(1, 2), fixture.March(2, 3)}; !reflect.DeepEqual(got, want) {
			w.Errorf("order %v, want %v", got, want)
		}
	})
	s.test(t, "a claim repeated gives the tasks it got", func(w *world) {
		h := fixture.Harvest{Days: 9}
		w.Plan(h)
		request := w.Request(h, 4)
		first, err := w.Store.Claim(w.Ctx, request)
		w.Must(err)
		w.Unchanged("repeated claim", func() {
			second, err := w.Store.Claim(w.Ctx, request)
			w.Must(err)
			if len(second) != 4 || !reflect.DeepEqual(first, second) {
				w.Errorf("second answer\n%+v, first\n%+v", second, first)
			}
		})
	})
	s.test(t, "a claim takes only its own partition", func(w *world) {
		w.Plan(fixture.Harvest{Source: "one", Days: 2})
		w.Plan(fixture.Harvest{Source: "two", Days: 2})
		for _, work := range w.Claim(fixture.Harvest{Source: "two"}, 2) {
			if work.Partition.Source != "two" {
				w.Errorf("claimed a task of %s", work.Partition.Source)
			}
		}
		w.Claim(fixture.Harvest{Source: "two"}, 0)
		w.Claim(fixture.Harvest{Source: "one"}, 2)
	})
	s.test(t, "due tasks are promoted, earliest first", func(w *world) {
		w.Plan(fixture.Harvest{Trigger: "late", First: 1, Days: 2, Due: fixture.Noon.Add(2 * time.Hour)})
		w.Plan(fixture.Harvest{Trigger: "soon", First: 5, Days: 2, Due: fixture.Noon.Add(time.Hour)})
		w.promotes(10, 0)
		w.Clock.Set(fixture.Noon.Add(time.Hour - time.Microsecond))
		w.promotes(10, 0)
		w.Clock.Set(fixture.Noon.Add(time.Hour))
		w.promotes(1, 1)
		w.promotes(10, 1)
		w.promotes(10, 0)
		w.Clock.Set(fixture.Noon.Add(3 * time.Hour))
		w.promotes(10, 2)
		next, err := w.Store.NextDue(w.Ctx)
		w.Must(err)
		if !next.IsZero() {
			w.Errorf("next due %v, want none", next)
		}
		tasks, err := w.Store.Tasks(w.Ctx, view.Filter{Status: string(ingest.TaskQueued)})
		w.Must(err)
		if len(tasks) != 4 {
			w.Errorf("%d queued tasks, want 4", len(tasks))
		}
	})
}

func (w *world) promotes(limit, want int) {
	w.Helper()
	n, err := w.Store.Promote(w.Ctx, limit)
	w.Must(err)
	if n != want {
		w.Errorf("promoted %d tasks, want %d", n, want)
	}
}

func (w *world) reaps(limit, want int) {
	w.Helper()
	n, err := w.Store.Reap(w.Ctx, limit)
	w.Must(err)
	if n != want {
		w.Errorf("reaped %d leases, want %d", n, want)
	}
}

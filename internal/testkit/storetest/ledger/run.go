package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) runs(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "starting twice is starting once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		w.Unchanged("second start", func() {
			run, err := w.Store.StartRun(w.Ctx, a.Work, fixture.Lease)
			w.Must(err)
			if run != a.Run {
				w.Errorf("second start gave %+v, first %+v", run, a.Run)
			}
		})
		if got := w.task(a); got.Status != string(ingest.TaskExecuting) || got.Attempts != 1 || !got.StartedAt.Equal(fixture.Noon) {
			w.Errorf("task %+v", got)
		}
	})
	s.test(t, "a later run continues at the checkpoint", func(w *world) {
		w.Plan(h)
		first := w.Begin(h)
		page := first.Page(fixture.Item("a", "x", fixture.Noon))
		page.Checkpoint = ingest.Checkpoint{Pass: 2, Paging: paging.State{Token: "next please"}, Done: true}
		first.Store(page)
		first.Finish(fixture.Again)
		second := w.Begin(h)
		if second.Run.Checkpoint != page.Checkpoint {
			w.Errorf("checkpoint %+v, want %+v", second.Run.Checkpoint, page.Checkpoint)
		}
		if second.Run.AttemptNo != 2 || second.Run.ID == first.Run.ID {
			w.Errorf("second run %+v after %+v", second.Run, first.Run)
		}
	})
	s.test(t, "each outcome closes run, task and slice", func(w *world) {
		for _, c := range []struct {
			outcome  ingest.Outcome
			slice    ingest.SliceStatus
			finished bool
		}{
			{fixture.Succeeded, ingest.SliceSucceeded, true},
			{fixture.Failed, ingest.SliceFailed, true},
			{fixture.Partial, ingest.SlicePartial, true},
			{fixture.Cancelled, ingest.SliceCancelled, true},
			{fixture.Again, ingest.SliceReady, false},
			{fixture.Later, ingest.SliceReady, false},
		} {
			h := fixture.Harvest{Source: "source-" + string(c.outcome.Task), Days: 1}
			w.Plan(h)
			a := w.Begin(h)
			o := c.outcome
			o.Stats = ingest.RunStats{Requests: 3, BytesIn: 1 << 40, Statuses: ingest.StatusTally{200: 1, 429: 2}, BatchStats: ingest.BatchStats{Seen: 2, Inserted: 2}}
			a.Finish(o)
			task := w.task(a)
			if task.Status != string(o.Task) || task.LeaseOwner != "" || !task.LeasedUntil.IsZero() || task.ErrorCode != o.Code || task.Error != o.Error {
				w.Errorf("%s: task %+v", o.Task, task)
			}
			if c.finished != task.FinishedAt.Equal(fixture.Noon) {
				w.Errorf("%s: task finished at %v", o.Task, task.FinishedAt)
			}
			run := w.lastRun(a)
			if run.Status != string(o.Run) || !reflect.DeepEqual(run.Stats, o.Stats) || run.ErrorCode != o.Code || run.Error != o.Error || !run.FinishedAt.Equal(fixture.Noon) {
				w.Errorf("%s: run %+v", o.Task, run)
			}
			if got := w.Text("SELECT status_code FROM ing_plan_slice WHERE id = ?", a.Work.Lineage.SliceID); got != string(c.slice) {
				w.Errorf("%s: slice %s, want %s", o.Task, got, c.slice)
			}
			w.Unchanged("finished again", func() { a.Finish(o) })
		}
	})
	s.test(t, "a task put back waits as long as it was told", func(w *world) {
		w.Plan(h)
		w.Begin(h).Finish(fixture.Later)
		w.promotes(10, 0)
		w.Clock.Set(fixture.Later.NotBefore)
		w.promotes(10, 1)
		if a := w.Begin(h); a.Work.Lease.Epoch != 2 || a.Work.Attempts != 1 {
			w.Errorf("epoch %d after %d attempts", a.Work.Lease.Epoch, a.Work.Attempts)
		}
	})
	s.test(t, "the page that failed is kept with its evidence", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		end := a.Ending(fixture.Failed)
		end.Failed = &ingest.FailedBatch{
			No: 2, Pass: 3, PageNo: 9, BeforeToken: "t", Error: "HTTP 500", Request: []byte(`{"url":"y"}`), Response: []byte(`{"status":500}`),
			Raw: fixture.Long("0f", 32),
		}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		batches, err := w.Store.Batches(w.Ctx, view.Filter{RunID: a.Run.ID})
		w.Must(err)
		got, err := w.Store.Batch(w.Ctx, batches[0].ID)
		w.Must(err)
		if len(batches) != 2 || got.Status != string(ingest.BatchFailed) || got.No != 2 || got.Pass != 3 || got.Page != 9 || got.BeforeToken != "t" ||
			got.Error != "HTTP 500" || string(got.Request) != `{"url":"y"}` || string(got.Response) != `{"status":500}` || got.Raw != fixture.Long("0f", 32) || !got.CommittedAt.IsZero() {
			w.Errorf("failed batch %+v", got)
		}
	})
	s.test(t, "a batch whose worker never heard of it counts", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon))
		o := fixture.Again
		o.Stats.Requests = 7
		a.Finish(o)
		if got := w.lastRun(a).Stats; got.Seen != 2 || got.Inserted != 2 || got.Requests != 7 {
			w.Errorf("the run counts %+v", got)
		}
	})
	s.test(t, "an impossible end is refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for _, o := range []ingest.Outcome{
			{Task: ingest.TaskDispatched, Run: ingest.RunFailed},
			{Task: ingest.TaskExecuting, Run: ingest.RunSucceeded},
			{Task: ingest.TaskSucceeded, Run: ingest.RunPlanned},
			{Task: "SLEEPING", Run: ingest.RunFailed},
		} {
			w.Unchanged("impossible end", func() {
				w.Refuses(w.Store.FinishRun(w.Ctx, a.Ending(o)), fault.ErrInvalid, string(o.Task)+" with "+string(o.Run))
			})
		}
		a.Finish(fixture.Succeeded)
	})
	s.test(t, "a run nobody started cannot end", func(w *world) {
		w.Plan(h)
		work := w.Claim(h, 1)[0]
		end := ingest.Finish{Lease: work.Lease, Lineage: work.Lineage, Outcome: fixture.Succeeded}
		w.Unchanged("finish", func() { w.Refuses(w.Store.FinishRun(w.Ctx, end), fault.ErrNotFound, "finish") })
	})
	s.test(t, "an error of any bytes and length can be kept", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		o := fixture.Failed
		o.Error = "upstream said \xff\xfe\x00 " + fixture.Long("é", 5000)
		end := a.Ending(o)
		end.Failed = &ingest.FailedBatch{No: 1, Pass: 1, Error: o.Error}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		if got := w.task(a); got.Status != string(ingest.TaskFailed) || len([]rune(got.Error)) != 2000 {
			w.Errorf("task is %s with an error of %d characters", got.Status, len([]rune(got.Error)))
		}
		if got := w.lastRun(a); len([]rune(got.Error)) < 5000 {
			w.Errorf("run keeps %d characters of its error", len([]rune(got.Error)))
		}
	})
	s.test(t, "time passes between start and end", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		w.Clock.Advance(90 * time.Second)
		a.Finish(fixture.Succeeded)
		if run := w.lastRun(a); run.FinishedAt.Sub(run.StartedAt) != 90*time.Second || run.Worker != "worker" || run.Epoch != 1 {
			w.Errorf("run %+v", run)
		}
	})
}

func (w *world) lastRun(a *fixture.Attempt) view.Run {
	w.Helper()
	runs, err := w.Store.Runs(w.Ctx, view.Filter{TaskID: a.Work.Lease.TaskID, Limit: 1})
	w.Must(err)
	if len(runs) != 1 {
		w.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/view"
)

func (s suite) runs(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "starting twice is starting once", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		w.unchanged("second start", func() {
			run, err := w.store.StartRun(w.ctx, a.work, lease)
			w.must(err)
			if run != a.run {
				w.Errorf("second start gave %+v, first %+v", run, a.run)
			}
		})
		if got := w.task(a); got.Status != string(ingest.TaskExecuting) || got.Attempts != 1 || !got.StartedAt.Equal(noon) {
			w.Errorf("task %+v", got)
		}
	})
	s.test(t, "a later run continues at the checkpoint", func(w *world) {
		w.plan(h)
		first := w.begin(h)
		page := first.page(item("a", "x", noon))
		page.Checkpoint = ingest.Checkpoint{Pass: 2, Paging: paging.State{Token: "next please"}, Done: true}
		first.store(page)
		first.finish(again)
		second := w.begin(h)
		if second.run.Checkpoint != page.Checkpoint {
			w.Errorf("checkpoint %+v, want %+v", second.run.Checkpoint, page.Checkpoint)
		}
		if second.run.AttemptNo != 2 || second.run.ID == first.run.ID {
			w.Errorf("second run %+v after %+v", second.run, first.run)
		}
	})
	s.test(t, "each outcome closes run, task and slice", func(w *world) {
		for _, c := range []struct {
			outcome  ingest.Outcome
			slice    ingest.SliceStatus
			finished bool
		}{
			{succeeded, ingest.SliceSucceeded, true},
			{failed, ingest.SliceFailed, true},
			{partial, ingest.SlicePartial, true},
			{cancelled, ingest.SliceCancelled, true},
			{again, ingest.SliceReady, false},
			{later, ingest.SliceReady, false},
		} {
			h := harvest{source: "source-" + string(c.outcome.Task), days: 1}
			w.plan(h)
			a := w.begin(h)
			o := c.outcome
			o.Stats = ingest.RunStats{Requests: 3, BytesIn: 1 << 40, BatchStats: ingest.BatchStats{Seen: 2, Inserted: 2}}
			a.finish(o)
			task := w.task(a)
			if task.Status != string(o.Task) || task.LeaseOwner != "" || !task.LeasedUntil.IsZero() || task.ErrorCode != o.Code || task.Error != o.Error {
				w.Errorf("%s: task %+v", o.Task, task)
			}
			if c.finished != task.FinishedAt.Equal(noon) {
				w.Errorf("%s: task finished at %v", o.Task, task.FinishedAt)
			}
			run := w.lastRun(a)
			if run.Status != string(o.Run) || run.Stats != o.Stats || run.ErrorCode != o.Code || run.Error != o.Error || !run.FinishedAt.Equal(noon) {
				w.Errorf("%s: run %+v", o.Task, run)
			}
			if got := w.text("SELECT status_code FROM ing_plan_slice WHERE id = ?", a.work.Lineage.SliceID); got != string(c.slice) {
				w.Errorf("%s: slice %s, want %s", o.Task, got, c.slice)
			}
			w.unchanged("finished again", func() { a.finish(o) })
		}
	})
	s.test(t, "a task put back waits as long as it was told", func(w *world) {
		w.plan(h)
		w.begin(h).finish(later)
		w.promotes(10, 0)
		w.clock.set(later.NotBefore)
		w.promotes(10, 1)
		if a := w.begin(h); a.work.Lease.Epoch != 2 || a.work.Attempts != 1 {
			w.Errorf("epoch %d after %d attempts", a.work.Lease.Epoch, a.work.Attempts)
		}
	})
	s.test(t, "the page that failed is kept with its evidence", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		end := a.ending(failed)
		end.Failed = &ingest.FailedBatch{
			No: 2, Pass: 3, PageNo: 9, BeforeToken: "t", Error: "HTTP 500", Request: []byte(`{"url":"y"}`), Response: []byte(`{"status":500}`),
			Raw: long("0f", 32),
		}
		w.must(w.store.FinishRun(w.ctx, end))
		batches, err := w.store.Batches(w.ctx, view.Filter{RunID: a.run.ID})
		w.must(err)
		got, err := w.store.Batch(w.ctx, batches[0].ID)
		w.must(err)
		if len(batches) != 2 || got.Status != string(ingest.BatchFailed) || got.No != 2 || got.Pass != 3 || got.Page != 9 || got.BeforeToken != "t" ||
			got.Error != "HTTP 500" || string(got.Request) != `{"url":"y"}` || string(got.Response) != `{"status":500}` || got.Raw != long("0f", 32) || !got.CommittedAt.IsZero() {
			w.Errorf("failed batch %+v", got)
		}
	})
	s.test(t, "a batch whose worker never heard of it counts", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon), item("b", "y", noon))
		o := again
		o.Stats.Requests = 7
		a.finish(o)
		if got := w.lastRun(a).Stats; got.Seen != 2 || got.Inserted != 2 || got.Requests != 7 {
			w.Errorf("the run counts %+v", got)
		}
	})
	s.test(t, "an impossible end is refused", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		for _, o := range []ingest.Outcome{
			{Task: ingest.TaskDispatched, Run: ingest.RunFailed},
			{Task: ingest.TaskExecuting, Run: ingest.RunSucceeded},
			{Task: ingest.TaskSucceeded, Run: ingest.RunPlanned},
			{Task: "SLEEPING", Run: ingest.RunFailed},
		} {
			w.unchanged("impossible end", func() {
				w.refuses(w.store.FinishRun(w.ctx, a.ending(o)), fault.ErrInvalid, string(o.Task)+" with "+string(o.Run))
			})
		}
		a.finish(succeeded)
	})
	s.test(t, "a run nobody started cannot end", func(w *world) {
		w.plan(h)
		work := w.claim(h, 1)[0]
		end := ingest.Finish{Lease: work.Lease, Lineage: work.Lineage, Outcome: succeeded}
		w.unchanged("finish", func() { w.refuses(w.store.FinishRun(w.ctx, end), fault.ErrNotFound, "finish") })
	})
	s.test(t, "an error of any bytes and length can be kept", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		o := failed
		o.Error = "upstream said \xff\xfe\x00 " + long("é", 5000)
		end := a.ending(o)
		end.Failed = &ingest.FailedBatch{No: 1, Pass: 1, Error: o.Error}
		w.must(w.store.FinishRun(w.ctx, end))
		if got := w.task(a); got.Status != string(ingest.TaskFailed) || len([]rune(got.Error)) != 2000 {
			w.Errorf("task is %s with an error of %d characters", got.Status, len([]rune(got.Error)))
		}
		if got := w.lastRun(a); len([]rune(got.Error)) < 5000 {
			w.Errorf("run keeps %d characters of its error", len([]rune(got.Error)))
		}
	})
	s.test(t, "time passes between start and end", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		w.clock.advance(90 * time.Second)
		a.finish(succeeded)
		if run := w.lastRun(a); run.FinishedAt.Sub(run.StartedAt) != 90*time.Second || run.Worker != "worker" || run.Epoch != 1 {
			w.Errorf("run %+v", run)
		}
	})
}

func (w *world) lastRun(a *attempt) view.Run {
	w.Helper()
	runs, err := w.store.Runs(w.ctx, view.Filter{TaskID: a.work.Lease.TaskID, Limit: 1})
	w.must(err)
	if len(runs) != 1 {
		w.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

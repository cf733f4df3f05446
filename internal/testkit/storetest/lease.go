package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

func (s suite) leases(t *testing.T) {
	s.test(t, "renewing extends the lease", func(w *world) {
		w.plan(harvest{})
		a := w.begin(harvest{})
		w.clock.advance(30 * time.Second)
		held, err := w.store.Renew(w.ctx, a.work.Lease, 5*time.Minute)
		w.must(err)
		if want := noon.Add(30*time.Second + 5*time.Minute); held != (ingest.Held{Until: want}) || !w.task(a).LeasedUntil.Equal(want) {
			w.Errorf("held %+v, stored %v, want %v", held, w.task(a).LeasedUntil, want)
		}
	})
	s.test(t, "an expired lease nobody took can still be renewed", func(w *world) {
		w.plan(harvest{})
		a := w.begin(harvest{})
		w.clock.advance(2 * lease)
		_, err := w.store.Renew(w.ctx, a.work.Lease, lease)
		w.must(err)
		w.reaps(10, 0)
	})
	s.test(t, "every answer tells that the operator wants a stop", func(w *world) {
		w.plan(harvest{})
		work := w.claim(harvest{}, 1)[0]
		w.exec("UPDATE ing_task SET cancel_requested = 1 WHERE id = ?", work.Lease.TaskID)
		a := w.start(work)
		renewed, err := w.store.Renew(w.ctx, a.work.Lease, lease)
		w.must(err)
		page := a.page(item("a", "x", noon))
		committed := a.store(page)
		repeated, err := w.store.CommitBatch(w.ctx, page)
		w.must(err)
		if !a.run.Cancel || !renewed.Cancel || !committed.Cancel || !repeated.Cancel {
			w.Errorf("start %v, renew %v, commit %v, repeated commit %v", a.run.Cancel, renewed.Cancel, committed.Cancel, repeated.Cancel)
		}
	})
	s.test(t, "a task given back can be claimed at once", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		work := w.claim(h, 1)[0]
		w.must(w.store.Release(w.ctx, work.Lease))
		shown := w.taskByID(work.Lease.TaskID)
		if shown.Status != string(ingest.TaskQueued) || shown.LeaseOwner != "" || !shown.LeasedUntil.IsZero() {
			w.Errorf("released task %+v", shown)
		}
		w.unchanged("second release", func() { w.must(w.store.Release(w.ctx, work.Lease)) })
		next := w.begin(h)
		if next.work.Lease.Epoch != 2 || next.run.IdleLeases != 1 || next.run.AttemptNo != 1 {
			w.Errorf("epoch %d, idle leases %d, attempt %d: giving back must not count as a try", next.work.Lease.Epoch, next.run.IdleLeases, next.run.AttemptNo)
		}
		w.unchanged("release of the old lease", func() { w.must(w.store.Release(w.ctx, work.Lease)) })
		w.unchanged("release of started work", func() { w.must(w.store.Release(w.ctx, next.work.Lease)) })
	})
	s.test(t, "the reaper takes only what has expired", func(w *world) {
		h := harvest{days: 3}
		w.plan(h)
		started, waiting := w.begin(h), w.claim(h, 1)[0]
		w.clock.advance(lease)
		w.reaps(10, 0) // the last moment belongs to the worker
		kept := w.claim(h, 1)[0]
		w.clock.advance(time.Microsecond)
		w.reaps(1, 1)
		w.reaps(10, 1)
		w.reaps(10, 0)
		for _, id := range []int64{started.work.Lease.TaskID, waiting.Lease.TaskID} {
			if shown := w.taskByID(id); shown.Status != string(ingest.TaskQueued) || shown.LeaseOwner != "" || !shown.LeasedUntil.IsZero() {
				w.Errorf("reaped task %+v", shown)
			}
		}
		if shown := w.taskByID(kept.Lease.TaskID); shown.Status != string(ingest.TaskDispatched) {
			w.Errorf("a live lease was reaped: %+v", shown)
		}
		runs, err := w.store.Runs(w.ctx, view.Filter{TaskID: started.work.Lease.TaskID})
		w.must(err)
		if len(runs) != 1 || runs[0].Status != string(ingest.RunFailed) || runs[0].ErrorCode != "LEASE_EXPIRED" || !runs[0].FinishedAt.Equal(w.clock.read()) {
			w.Errorf("run of the vanished worker: %+v", runs)
		}
	})
	s.test(t, "leases without a committed batch are counted", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		for n := 1; n <= 3; n++ {
			a := w.begin(h)
			if a.run.IdleLeases != n || a.run.AttemptNo != n || a.work.Attempts != n-1 {
				w.Errorf("lease %d: idle %d, attempt %d, attempts before %d", n, a.run.IdleLeases, a.run.AttemptNo, a.work.Attempts)
			}
			if n == 3 {
				a.commit(item("a", "x", noon))
			}
			w.clock.advance(2 * lease)
			w.reaps(10, 1)
		}
		if a := w.begin(h); a.run.IdleLeases != 1 || a.run.AttemptNo != 4 {
			w.Errorf("after a batch: idle %d, attempt %d, want 1 and 4", a.run.IdleLeases, a.run.AttemptNo)
		}
	})
	s.test(t, "reapers at work together reap each lease once", func(w *world) {
		h := harvest{days: 40}
		w.plan(h)
		w.claim(h, 40)
		w.clock.advance(2 * lease)
		handles := w.handles(3)
		reaped := make([]int, 6)
		w.together(len(reaped), func(i int) (err error) {
			reaped[i], err = handles[i%len(handles)].Reap(w.ctx, 40)
			return err
		})
		sum := 0
		for _, n := range reaped {
			sum += n
		}
		if sum != 40 {
			w.Errorf("reaped %v, together %d, want 40", reaped, sum)
		}
	})
	s.test(t, "a worker that renews is not reaped by a reaper that read before", func(w *world) {
		h := harvest{days: 30}
		w.plan(h)
		work := w.claim(h, 30)
		w.clock.advance(2 * lease)
		handles := w.handles(2)
		won := make([]bool, len(work))
		w.together(2, func(i int) error {
			if i == 0 {
				_, err := handles[0].Reap(w.ctx, len(work))
				return err
			}
			for n, one := range work {
				_, err := handles[1].Renew(w.ctx, one.Lease, lease)
				if won[n] = err == nil; err != nil && !isStale(err) {
					return err
				}
			}
			return nil
		})
		for n, one := range work {
			shown := w.taskByID(one.Lease.TaskID)
			if kept := shown.Status == string(ingest.TaskDispatched); kept != won[n] {
				w.Errorf("task %d is %s, and its worker was told renewed=%v", shown.ID, shown.Status, won[n])
			}
		}
	})
	s.test(t, "an unknown task is stale to everybody", func(w *world) {
		_, err := w.store.Renew(w.ctx, ingest.Lease{TaskID: 4711, Epoch: 1}, lease)
		w.refuses(err, fault.ErrStale, "renew")
		w.must(w.store.Release(w.ctx, ingest.Lease{TaskID: 4711, Epoch: 1}))
	})
}

func (w *world) task(a *attempt) view.Task {
	w.Helper()
	return w.taskByID(a.work.Lease.TaskID)
}

func (w *world) taskByID(id int64) view.Task {
	w.Helper()
	tasks, err := w.store.Tasks(w.ctx, view.Filter{TaskID: id})
	w.must(err)
	if len(tasks) != 1 {
		w.Fatalf("task %d: %d rows", id, len(tasks))
	}
	return tasks[0]
}

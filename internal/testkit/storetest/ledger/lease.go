package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) leases(t *testing.T) {
	s.test(t, "renewing extends the lease", func(w *world) {
		w.Plan(fixture.Harvest{})
		a := w.Begin(fixture.Harvest{})
		w.Clock.Advance(30 * time.Second)
		held, err := w.Store.Renew(w.Ctx, a.Work.Lease, 5*time.Minute)
		w.Must(err)
		if want := fixture.Noon.Add(30*time.Second + 5*time.Minute); held != (ingest.Held{Until: want}) || !w.task(a).LeasedUntil.Equal(want) {
			w.Errorf("held %+v, stored %v, want %v", held, w.task(a).LeasedUntil, want)
		}
	})
	s.test(t, "an expired lease nobody took can still be renewed", func(w *world) {
		w.Plan(fixture.Harvest{})
		a := w.Begin(fixture.Harvest{})
		w.Clock.Advance(2 * fixture.Lease)
		_, err := w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease)
		w.Must(err)
		w.reaps(10, 0)
	})
	s.test(t, "a clock that was set back takes no task from its owner and keeps none for ever", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		alive, dead := w.Begin(h), w.Begin(h)
		const back = time.Hour
		w.Clock.Advance(-back)
		w.reaps(10, 0)
		held, err := w.Store.Renew(w.Ctx, alive.Work.Lease, fixture.Lease)
		w.Must(err)
		if want := w.Clock.Read().Add(fixture.Lease); !held.Until.Equal(want) {
			w.Errorf("held until %v, want %v: a lease follows the clock that judges it", held.Until, want)
		}
		w.Clock.Advance(fixture.Lease + time.Microsecond)
		w.reaps(10, 1) // who renewed and died then, one lease later
		w.Clock.Advance(back)
		w.reaps(10, 1) // who died before, when the clock has come there again
		for _, a := range []*fixture.Attempt{alive, dead} {
			if _, err := w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease); err == nil && w.taskByID(a.Work.Lease.TaskID).LeaseOwner != "" {
				w.Errorf("task %d has two owners", a.Work.Lease.TaskID)
			}
		}
	})
	s.test(t, "every answer tells that the operator wants a stop", func(w *world) {
		w.Plan(fixture.Harvest{})
		work := w.Claim(fixture.Harvest{}, 1)[0]
		w.Exec("UPDATE ing_task SET cancel_requested = 1 WHERE id = ?", work.Lease.TaskID)
		a := w.Start(work)
		renewed, err := w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease)
		w.Must(err)
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		committed := a.Store(page)
		repeated, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		if !a.Run.Cancel || !renewed.Cancel || !committed.Cancel || !repeated.Cancel {
			w.Errorf("start %v, renew %v, commit %v, repeated commit %v", a.Run.Cancel, renewed.Cancel, committed.Cancel, repeated.Cancel)
		}
	})
	s.test(t, "a task given back can be claimed at once", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		work := w.Claim(h, 1)[0]
		w.Must(w.Store.Release(w.Ctx, work.Lease))
		shown := w.taskByID(work.Lease.TaskID)
		if shown.Status != string(ingest.TaskQueued) || shown.LeaseOwner != "" || !shown.LeasedUntil.IsZero() {
			w.Errorf("released task %+v", shown)
		}
		w.Unchanged("second release", func() { w.Must(w.Store.Release(w.Ctx, work.Lease)) })
		next := w.Begin(h)
		if next.Work.Lease.Epoch != 2 || next.Run.IdleLeases != 1 || next.Run.AttemptNo != 1 {
			w.Errorf("epoch %d, idle leases %d, attempt %d: giving back must not count as a try", next.Work.Lease.Epoch, next.Run.IdleLeases, next.Run.AttemptNo)
		}
		w.Unchanged("release of the old lease", func() { w.Must(w.Store.Release(w.Ctx, work.Lease)) })
		w.Unchanged("release of started work", func() { w.Must(w.Store.Release(w.Ctx, next.Work.Lease)) })
	})
	s.test(t, "the reaper takes only what has expired", func(w *world) {
		h := fixture.Harvest{Days: 3}
		w.Plan(h)
		started, waiting := w.Begin(h), w.Claim(h, 1)[0]
		w.Clock.Advance(fixture.Lease)
		w.reaps(10, 0) // the last moment belongs to the worker
		kept := w.Claim(h, 1)[0]
		w.Clock.Advance(time.Microsecond)
		w.reaps(1, 1)
		w.reaps(10, 1)
		w.reaps(10, 0)
		for _, id := range []int64{started.Work.Lease.TaskID, waiting.Lease.TaskID} {
			if shown := w.taskByID(id); shown.Status != string(ingest.TaskQueued) || shown.LeaseOwner != "" || !shown.LeasedUntil.IsZero() {
				w.Errorf("reaped task %+v", shown)
			}
		}
		if shown := w.taskByID(kept.Lease.TaskID); shown.Status != string(ingest.TaskDispatched) {
			w.Errorf("a live lease was reaped: %+v", shown)
		}
		runs, err := w.Store.Runs(w.Ctx, view.Filter{TaskID: started.Work.Lease.TaskID})
		w.Must(err)
		if len(runs) != 1 || runs[0].Status != string(ingest.RunFailed) || runs[0].ErrorCode != "LEASE_EXPIRED" || !runs[0].FinishedAt.Equal(w.Clock.Read()) {
			w.Errorf("run of the vanished worker: %+v", runs)
		}
	})
	s.test(t, "leases without a committed batch are counted", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		for n := 1; n <= 3; n++ {
			a := w.Begin(h)
			if a.Run.IdleLeases != n || a.Run.AttemptNo != n || a.Work.Attempts != n-1 {
				w.Errorf("lease %d: idle %d, attempt %d, attempts before %d", n, a.Run.IdleLeases, a.Run.AttemptNo, a.Work.Attempts)
			}
			if n == 3 {
				a.Commit(fixture.Item("a", "x", fixture.Noon))
			}
			w.Clock.Advance(2 * fixture.Lease)
			w.reaps(10, 1)
		}
		if a := w.Begin(h); a.Run.IdleLeases != 1 || a.Run.AttemptNo != 4 {
			w.Errorf("after a batch: idle %d, attempt %d, want 1 and 4", a.Run.IdleLeases, a.Run.AttemptNo)
		}
	})
	s.test(t, "reapers at work together reap each lease once", func(w *world) {
		h := fixture.Harvest{Days: 40}
		w.Plan(h)
		w.Claim(h, 40)
		w.Clock.Advance(2 * fixture.Lease)
		handles := w.Handles(3)
		reaped := make([]int, 6)
		w.Together(len(reaped), func(i int) (err error) {
			reaped[i], err = handles[i%len(handles)].Reap(w.Ctx, 40)
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
		h := fixture.Harvest{Days: 30}
		w.Plan(h)
		work := w.Claim(h, 30)
		w.Clock.Advance(2 * fixture.Lease)
		handles := w.Handles(2)
		won := make([]bool, len(work))
		w.Together(2, func(i int) error {
			if i == 0 {
				_, err := handles[0].Reap(w.Ctx, len(work))
				return err
			}
			for n, one := range work {
				_, err := handles[1].Renew(w.Ctx, one.Lease, fixture.Lease)
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
		_, err := w.Store.Renew(w.Ctx, ingest.Lease{TaskID: 4711, Epoch: 1}, fixture.Lease)
		w.Refuses(err, fault.ErrStale, "renew")
		w.Must(w.Store.Release(w.Ctx, ingest.Lease{TaskID: 4711, Epoch: 1}))
	})
}

func (w *world) task(a *fixture.Attempt) view.Task {
	w.Helper()
	return w.taskByID(a.Work.Lease.TaskID)
}

func (w *world) taskByID(id int64) view.Task {
	w.Helper()
	tasks, err := w.Store.Tasks(w.Ctx, view.Filter{TaskID: id})
	w.Must(err)
	if len(tasks) != 1 {
		w.Fatalf("task %d: %d rows", id, len(tasks))
	}
	return tasks[0]
}

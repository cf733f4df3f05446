package ledger

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// stateOf is what the queue of the harvest says about its endpoint.
func (w *world) stateOf(h fixture.Harvest) fault.BreakerState {
	w.Helper()
	now, err := w.Store.Now(w.Ctx)
	w.Must(err)
	all, err := w.Store.Breakers(w.Ctx)
	w.Must(err)
	queues, err := w.Store.Queues(w.Ctx)
	w.Must(err)
	for _, q := range queues {
		if q.Breaker != all[q.Partition.Dataset] {
			w.Errorf("the queue says %+v, the list %+v", q.Breaker, all[q.Partition.Dataset])
		}
	}
	return all[h.Partition().Dataset].State(now)
}

func (s suite) breakers(t *testing.T) {
	h := fixture.Harvest{Days: 8}
	s.test(t, "three runs in a row open it, for all operations of the endpoint and for no other", func(w *world) {
		w.Plan(h)
		other := fixture.Harvest{Source: "other"}
		w.Plan(other)
		for i, want := range []fault.BreakerState{fault.BreakerClosed, fault.BreakerClosed, fault.BreakerOpen} {
			w.Begin(h).Down()
			if got := w.stateOf(h); got != want {
				w.Errorf("after %d failures it is %s", i+1, got)
			}
		}
		if got := w.stateOf(other); got != fault.BreakerClosed {
			w.Errorf("another source is %s", got)
		}
	})
	s.test(t, "a source may say after how many runs", func(w *world) {
		w.Plan(h)
		for i, want := range []fault.BreakerState{fault.BreakerClosed, fault.BreakerOpen} {
			a := w.Begin(h)
			end := a.Ending(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: string(fault.ServerError), Error: "503"})
			end.CircuitAfter = 2
			w.Must(w.Store.FinishRun(w.Ctx, end))
			if got := w.stateOf(h); got != want {
				w.Errorf("after %d failures it is %s", i+1, got)
			}
		}
	})
	s.test(t, "a run in between that went well ends the row", func(w *world) {
		w.Plan(h)
		w.Begin(h).Down()
		w.Begin(h).Down()
		w.Begin(h).Finish(fixture.Succeeded)
		w.Begin(h).Down()
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("it is %s", got)
		}
	})
	s.test(t, "after the wait one run looks, and decides", func(w *world) {
		w.Plan(h)
		for range 3 {
			w.Begin(h).Down()
		}
		w.Clock.Advance(3 * time.Minute)
		if got := w.stateOf(h); got != fault.BreakerHalfOpen {
			w.Errorf("it is %s", got)
		}
		probe := w.Begin(h)
		if !probe.Run.Probe {
			w.Error("the run does not know that it looks ahead")
		}
		probe.Finish(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.Network), Error: "refused"})
		if got := w.stateOf(h); got != fault.BreakerOpen {
			w.Errorf("it is %s", got)
		}
		w.Clock.Advance(5 * time.Minute)
		again := w.Begin(h)
		again.Finish(fixture.Succeeded)
		if got := w.stateOf(h); got != fault.BreakerClosed || w.Number("SELECT COUNT(*) FROM ing_breaker") != 0 {
			w.Errorf("it is %s", got)
		}
		if w.Begin(h).Run.Probe {
			w.Error("a run of a healthy upstream thinks that it looks ahead")
		}
	})
	for _, c := range []struct {
		name       string
		days, read int
		alone      bool
	}{
		{"a run that looks is alone if others of the plan were read and all that wait have failed", 4, 2, true},
		{"it is not alone while tasks wait that did not fail", 8, 2, false},
		{"it is not alone where nothing of the plan was read", 2, 0, false},
	} {
		s.test(t, c.name, func(w *world) {
			few := fixture.Harvest{Days: c.days}
			w.Plan(few)
			for range c.read {
				w.Begin(few).Finish(fixture.Succeeded)
			}
			for range 2 {
				w.Begin(few).Down()
			}
			w.Clock.Advance(time.Minute)
			_, err := w.Store.Promote(w.Ctx, 10)
			w.Must(err)
			w.Begin(few).Down()
			w.Clock.Advance(5 * time.Minute)
			_, err = w.Store.Promote(w.Ctx, 10)
			w.Must(err)
			if run := w.Begin(few).Run; !run.Probe || run.Alone != c.alone {
				w.Errorf("%+v", run)
			}
		})
	}
	s.test(t, "somebody who asks looks at once", func(w *world) {
		w.Plan(h)
		of := h.Partition().Dataset
		w.Must(w.Store.LookAgain(w.Ctx, of))
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("one that is closed becomes %s", got)
		}
		for range 3 {
			w.Begin(h).Down()
		}
		w.Must(w.Store.LookAgain(w.Ctx, of))
		if got := w.stateOf(h); got != fault.BreakerHalfOpen {
			w.Errorf("it is %s", got)
		}
		if !w.Begin(h).Run.Probe {
			w.Error("the run does not know that it looks ahead")
		}
	})
	s.test(t, "one process of many looks", func(w *world) {
		w.Plan(h)
		old := fixture.Harvest{Trigger: "old", Operation: ingest.Backfill}
		w.Plan(old)
		for range 3 {
			w.Begin(h).Down()
		}
		w.Clock.Advance(3 * time.Minute)
		partitions := []int64{w.PartitionID(h), w.PartitionID(old)}
		handles := w.Handles(4)
		var claimed atomic.Int64
		var all sync.WaitGroup
		for i, s := range handles {
			all.Go(func() {
				for _, p := range partitions {
					work, err := s.Claim(w.Ctx, ingest.ClaimRequest{PartitionID: p, Owner: "worker", Token: fmt.Sprint("looks-", i, "-", p), Lease: time.Minute, Max: 3})
					if err != nil {
						w.Errorf("%v", err)
					}
					claimed.Add(int64(len(work)))
				}
			})
		}
		all.Wait()
		if n := claimed.Load(); n != 1 {
			w.Errorf("%d runs look", n)
		}
	})
	s.test(t, "the first page that comes closes it for the others", func(w *world) {
		w.Plan(h)
		for range 3 {
			w.Begin(h).Down()
		}
		w.Clock.Advance(3 * time.Minute)
		probe := w.Begin(h)
		page := probe.Page()
		page.Answers = true
		probe.Store(page)
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("it is %s", got)
		}
		if w.Begin(h).Run.Probe {
			w.Error("another one still looks ahead")
		}
	})
	s.test(t, "what is not the upstream's fault says nothing", func(w *world) {
		w.Plan(h)
		for _, o := range []ingest.Outcome{
			{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited)},
			{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.BadRequest)},
			{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted)},
			{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.Internal)},
		} {
			w.Clock.Advance(time.Hour)
			w.Begin(h).Finish(o)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_breaker"); n != 0 {
			w.Errorf("%d breakers", n)
		}
	})
}

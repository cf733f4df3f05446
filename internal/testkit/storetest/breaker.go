package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// down is the end of a run whose upstream gave no good answer.
func (a *attempt) down() {
	a.w.Helper()
	a.finish(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: string(fault.ServerError), Error: "503"})
}

// stateOf is what the queue of the harvest says about its endpoint.
func (w *world) stateOf(h harvest) fault.BreakerState {
	w.Helper()
	now, err := w.store.Now(w.ctx)
	w.must(err)
	all, err := w.store.Breakers(w.ctx)
	w.must(err)
	queues, err := w.store.Queues(w.ctx)
	w.must(err)
	for _, q := range queues {
		if q.Breaker != all[q.Partition.Dataset] {
			w.Errorf("the queue says %+v, the list %+v", q.Breaker, all[q.Partition.Dataset])
		}
	}
	return all[h.partition().Dataset].State(now)
}

func (s suite) breakers(t *testing.T) {
	h := harvest{days: 8}
	s.test(t, "three runs in a row open it, for all operations of the endpoint and for no other", func(w *world) {
		w.plan(h)
		other := harvest{source: "other"}
		w.plan(other)
		for i, want := range []fault.BreakerState{fault.BreakerClosed, fault.BreakerClosed, fault.BreakerOpen} {
			w.begin(h).down()
			if got := w.stateOf(h); got != want {
				w.Errorf("after %d failures it is %s", i+1, got)
			}
		}
		if got := w.stateOf(other); got != fault.BreakerClosed {
			w.Errorf("another source is %s", got)
		}
	})
	s.test(t, "a run in between that went well ends the row", func(w *world) {
		w.plan(h)
		w.begin(h).down()
		w.begin(h).down()
		w.begin(h).finish(succeeded)
		w.begin(h).down()
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("it is %s", got)
		}
	})
	s.test(t, "after the wait one run looks, and decides", func(w *world) {
		w.plan(h)
		for range 3 {
			w.begin(h).down()
		}
		w.clock.advance(3 * time.Minute)
		if got := w.stateOf(h); got != fault.BreakerHalfOpen {
			w.Errorf("it is %s", got)
		}
		probe := w.begin(h)
		if !probe.run.Probe {
			w.Error("the run does not know that it looks ahead")
		}
		probe.finish(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.Network), Error: "refused"})
		if got := w.stateOf(h); got != fault.BreakerOpen {
			w.Errorf("it is %s", got)
		}
		w.clock.advance(5 * time.Minute)
		again := w.begin(h)
		again.finish(succeeded)
		if got := w.stateOf(h); got != fault.BreakerClosed || w.number("SELECT COUNT(*) FROM ing_breaker") != 0 {
			w.Errorf("it is %s", got)
		}
		if w.begin(h).run.Probe {
			w.Error("a run of a healthy upstream thinks that it looks ahead")
		}
	})
	s.test(t, "somebody who asks looks at once", func(w *world) {
		w.plan(h)
		of := h.partition().Dataset
		w.must(w.store.LookAgain(w.ctx, of))
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("one that is closed becomes %s", got)
		}
		for range 3 {
			w.begin(h).down()
		}
		w.must(w.store.LookAgain(w.ctx, of))
		if got := w.stateOf(h); got != fault.BreakerHalfOpen {
			w.Errorf("it is %s", got)
		}
		if !w.begin(h).run.Probe {
			w.Error("the run does not know that it looks ahead")
		}
	})
	s.test(t, "one process of many looks", func(w *world) {
		w.plan(h)
		old := harvest{trigger: "old", operation: ingest.Backfill}
		w.plan(old)
		for range 3 {
			w.begin(h).down()
		}
		w.clock.advance(3 * time.Minute)
		partitions := []int64{w.partitionID(h), w.partitionID(old)}
		handles := w.handles(4)
		var claimed atomic.Int64
		var all sync.WaitGroup
		for i, s := range handles {
			all.Go(func() {
				for _, p := range partitions {
					work, err := s.Claim(w.ctx, ingest.ClaimRequest{PartitionID: p, Owner: "worker", Token: fmt.Sprint("looks-", i, "-", p), Lease: time.Minute, Max: 3})
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
		w.plan(h)
		for range 3 {
			w.begin(h).down()
		}
		w.clock.advance(3 * time.Minute)
		probe := w.begin(h)
		page := probe.page()
		page.Answers = true
		probe.store(page)
		if got := w.stateOf(h); got != fault.BreakerClosed {
			w.Errorf("it is %s", got)
		}
		if w.begin(h).run.Probe {
			w.Error("another one still looks ahead")
		}
	})
	s.test(t, "what is not the upstream's fault says nothing", func(w *world) {
		w.plan(h)
		for _, o := range []ingest.Outcome{
			{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited)},
			{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.BadRequest)},
			{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted)},
			{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.Internal)},
		} {
			w.clock.advance(time.Hour)
			w.begin(h).finish(o)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_breaker"); n != 0 {
			w.Errorf("%d breakers", n)
		}
	})
}

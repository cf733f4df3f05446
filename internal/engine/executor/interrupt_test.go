package executor

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// on runs something while the n-th request is under way.
func (w *world) on(n int, do func()) {
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: time.Millisecond, From: n, To: n, When: func(upsim.Hit) bool {
		do()
		return true
	}}}))
}

// F6: told to stop, a run ends well: the task is back in the queue without a
// lease, and the next run goes on: after the last committed page where tokens
// can be replayed, from the start where they cannot.
func TestInterrupted(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		s := setup{}
		if mode == "replayable" {
			replayable(&s)
		}
		inWorld(t, s, func(w *world) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.on(3, cancel)
			out, err := w.executor(w.store).Execute(ctx, w.claim("first"))
			if err != nil || out.Task != ingest.TaskQueued || out.Run != ingest.RunCancelled || out.Code != "INTERRUPTED" {
				t.Errorf("%s: %+v, %v", mode, out, err)
			}
			if task := w.task(); task.Status != "QUEUED" || task.LeaseOwner != "" || !task.LeasedUntil.IsZero() {
				t.Errorf("%s: task %+v", mode, task)
			}
			if run := w.lastRun(); run.Status != "CANCELLED" || run.Stats.Pages != 2 || run.FinishedAt.IsZero() {
				t.Errorf("%s: run %+v", mode, run)
			}
			w.owed()
			before := w.server.Requests()
			out = w.run()
			want := map[string]ingest.RunStats{"scroll": {Requests: pages, Restarts: 1}, "replayable": {Requests: pages - 2}}[mode]
			if out.Task != ingest.TaskSucceeded || out.Stats.Requests != want.Requests || out.Stats.Restarts != want.Restarts || w.server.Requests()-before != want.Requests {
				t.Errorf("%s: the next run: %+v", mode, out)
			}
			last := w.batches()[len(w.batches())-1]
			if run := w.lastRun(); run.Attempt != 2 || last.RunID != run.ID || last.Pass != 1+want.Restarts || last.Page != pages {
				t.Errorf("%s: run %+v, last batch %+v", mode, run, last)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// Being stopped is no failure: it may happen more often than a task may fail.
func TestInterruptionsAreNoFailures(t *testing.T) {
	s := setup{settings: []string{"retry.taskAttempts=2"}}
	replayable(&s)
	inWorld(t, s, func(w *world) {
		for n := range pages - 1 {
			ctx, cancel := context.WithCancel(t.Context())
			w.on(2*n+2, cancel) // each run gets one page
			if out, err := w.executor(w.store).Execute(ctx, w.claim("worker")); err != nil || out.Task != ingest.TaskQueued {
				t.Fatalf("stop %d: %+v, %v", n, out, err)
			}
			cancel()
		}
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// A stop that comes between the claim and the start of the run gives the lease
// back at once, too: nobody should wait for it to expire.
func TestStoppedBeforeTheStart(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		work := w.claim("worker")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out, err := w.executor(w.store).Execute(ctx, work); err != nil || out.Task != ingest.TaskQueued {
			t.Errorf("%+v, %v", out, err)
		}
		if task := w.task(); task.Status != "QUEUED" || task.LeaseOwner != "" {
			t.Errorf("task %+v", task)
		}
		if w.server.Requests() != 0 {
			t.Errorf("%d requests were sent", w.server.Requests())
		}
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Errorf("%+v", out)
		}
		w.nothingLost()
	})
}

// D§5.20: all was read and committed, and the worker died before it could say
// so. Only that is left: no request is sent.
func TestOnlyFinishingIsLeft(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		s := setup{}
		if mode == "replayable" {
			replayable(&s)
		}
		inWorld(t, s, func(w *world) {
			if _, err := w.executor(dyingStore{w.store}).Execute(t.Context(), w.claim("first")); !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			w.owed()
			w.takeOver()
			before := w.server.Requests()
			out := w.run()
			if out.Task != ingest.TaskSucceeded || !reflect.DeepEqual(out.Stats, ingest.RunStats{}) || w.server.Requests() != before {
				t.Errorf("%s: %+v after %d more requests", mode, out, w.server.Requests()-before)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// I7: a worker that lost its lease writes nothing more: not the page it holds,
// not the end of its run. The next owner reads everything.
func TestLeaseLost(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		s := setup{}
		if mode == "replayable" {
			replayable(&s)
		}
		inWorld(t, s, func(w *world) {
			var second ingest.Work
			w.on(3, func() {
				w.takeOver()
				second = w.claim("second")
			})
			out, err := w.executor(w.store).Execute(t.Context(), w.claim("first"))
			if !errors.Is(err, fault.ErrStale) {
				t.Fatalf("%s: %+v, %v", mode, out, err)
			}
			if n := len(w.batches()); n != 2 {
				t.Errorf("%s: %d batches; two were committed before the lease was lost", mode, n)
			}
			if run := w.lastRun(); run.Status != "FAILED" || run.ErrorCode != "LEASE_EXPIRED" {
				t.Errorf("%s: the zombie changed its run: %+v", mode, run)
			}
			if task := w.task(); task.Status != "DISPATCHED" || task.LeaseOwner != "second" {
				t.Errorf("%s: the zombie changed the task: %+v", mode, task)
			}
			w.owed()
			if out, err := w.executor(w.store).Execute(t.Context(), second); err != nil || out.Task != ingest.TaskSucceeded {
				t.Errorf("%s: %+v, %v", mode, out, err)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// A zombie that wakes up before its first step does not even start.
func TestLeaseLostBeforeTheStart(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		work := w.claim("first")
		w.takeOver()
		w.claim("second")
		if _, err := w.executor(w.store).Execute(t.Context(), work); !errors.Is(err, fault.ErrStale) {
			t.Errorf("%v", err)
		}
		if runs, err := w.store.Runs(t.Context(), view.Filter{}); len(runs) != 0 || err != nil || w.server.Requests() != 0 {
			t.Errorf("%d runs, %d requests, %v", len(runs), w.server.Requests(), err)
		}
	})
}

// The operator's wish to stop arrives with the next commit.
func TestCancelledByTheOperator(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.on(2, func() {
			if _, err := w.raw.Exec("UPDATE ing_task SET cancel_requested = 1"); err != nil {
				t.Error(err)
			}
		})
		out := w.run()
		if out.Task != ingest.TaskCancelled || out.Run != ingest.RunCancelled || w.server.Requests() != 2 || out.Stats.Pages != 2 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
		if task := w.task(); task.Status != "CANCELLED" || task.LeaseOwner != "" {
			t.Errorf("%+v", task)
		}
		w.owed()
		w.sane()
	})
	inWorld(t, setup{}, func(w *world) { // before the start
		if _, err := w.raw.Exec("UPDATE ing_task SET cancel_requested = 1"); err != nil {
			t.Fatal(err)
		}
		if out := w.run(); out.Task != ingest.TaskCancelled || w.server.Requests() != 0 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
	})
}

// F13: a commit that was done and reported as failed is asked for again under
// the same identity; nothing is counted or stored twice.
func TestLostAnswerOfACommit(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.wire.lose["commit batch"] = 1
		out := w.run()
		if out.Task != ingest.TaskSucceeded || out.Stats.Inserted != perDay || out.Stats.Seen != perDay || len(w.batches()) != pages {
			t.Errorf("%d batches, %+v", len(w.batches()), out)
		}
		w.covered()
		w.nothingLost()
	})
}

// A store that fails is our trouble, not the task's: it is put back.
func TestStoreFailsDuringARun(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.on(2, func() {
			w.wire.mu.Lock()
			defer w.wire.mu.Unlock()
			w.wire.lose["commit batch"] = 2
		})
		out, err := w.executor(w.store).Execute(t.Context(), w.claim("worker"))
		if err != nil || out.Task != ingest.TaskScheduled || out.Run != ingest.RunFailed || w.server.Requests() != 2 {
			t.Errorf("%d requests, %+v, %v", w.server.Requests(), out, err)
		}
		w.owed()
		w.clock.advance(time.Hour)
		if _, err := w.store.Promote(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// D§5.3: leased again and again without one page: something kills its workers.
func TestLeasesSpent(t *testing.T) {
	inWorld(t, setup{config: Config{MaxIdleLeases: 3}}, func(w *world) {
		for range 3 {
			w.claim("dies")
			w.takeOver()
		}
		out := w.run()
		if out.Task != ingest.TaskFailed || out.Code != "LEASES_SPENT" || w.server.Requests() != 0 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
		w.owed()
		w.sane()
	})
}

// I10: a stored snapshot this program does not understand fails the task; it is
// not guessed at.
func TestUnknownSnapshot(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		work := w.claim("worker")
		work.Spec, work.SpecFingerprint = []byte(`{"format":99}`), "later"
		out, err := w.executor(w.store).Execute(t.Context(), work)
		if err != nil || out.Task != ingest.TaskFailed || out.Code != "INTERNAL" || w.server.Requests() != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		w.owed()
	})
}

// Package executor works on one leased task: it pages through the upstream and
// commits batch after batch until the slice is covered.
//
// Before it on the path of a record stands dispatch, after it the store. It
// reads the snapshot only (I10) and stops at the first sign that its lease is
// gone (I7). It never moves a cursor: finishing a slice lets coverage decide.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Store is what the executor needs of the store.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	StartRun(ctx context.Context, w ingest.Work, lease time.Duration) (ingest.Run, error)
	CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error)
	FinishRun(ctx context.Context, f ingest.Finish) error
	Renew(ctx context.Context, l ingest.Lease, extend time.Duration) (until time.Time, cancel bool, err error)
}

// Config are the executor's limits.
type Config struct {
	Lease         time.Duration // how long a task is ours without a sign of life (default 60 s)
	MaxRestarts   int           // how often a run may start its slice over (default 20)
	MaxIdleLeases int           // leases in a row without a batch before the task is given up (default 10)
}

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	if c.Lease == 0 {
		c.Lease = time.Minute
	}
	if c.MaxRestarts == 0 {
		c.MaxRestarts = 20
	}
	if c.MaxIdleLeases == 0 {
		c.MaxIdleLeases = 10
	}
	return c
}

// Executor runs tasks. It is safe for concurrent use.
type Executor struct {
	store    Store
	chain    transport.Doer
	config   Config
	log      *slog.Logger
	programs sync.Map // spec fingerprint → *spec.Program
}

// New makes an executor.
func New(s Store, chain transport.Doer, c Config, log *slog.Logger) *Executor {
	return &Executor{store: s, chain: chain, config: c.WithDefaults(), log: log}
}

// farewell is how long ending a run may take after we were told to stop.
const farewell = 5 * time.Second

// outlive is ctx, and a farewell longer: starting and ending a run must not be
// cut off half-way, or its task would be leased by nobody until that expires.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(farewell, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// Execute runs a claimed task to an end: success, failure, or back into the
// queue. The error is about us (the store, the lease), not about the upstream.
func (e *Executor) Execute(ctx context.Context, w ingest.Work) (ingest.Outcome, error) {
	start, started := outlive(ctx)
	run, err := e.store.StartRun(start, w, e.config.Lease)
	started()
	if err != nil {
		return ingest.Outcome{}, err
	}
	w.Lineage.RunID = run.ID
	r := &running{executor: e, work: w, run: run, correlation: fmt.Sprintf("ing-%d", run.ID)}
	outcome, err := r.supervise(ctx)
	if errors.Is(err, fault.ErrStale) {
		return outcome, err // somebody else owns the task: write nothing (I7)
	}
	if err != nil {
		outcome = r.outcome(ctx, err)
	}
	end, ended := outlive(ctx)
	defer ended()
	r.settle(end)
	outcome.Stats, outcome.Observed = r.stats, r.newest
	if err := e.store.FinishRun(end, ingest.Finish{Lease: w.Lease, Lineage: w.Lineage, Outcome: outcome, Failed: r.failed}); err != nil {
		return outcome, err
	}
	e.log.Info("run finished", "task", w.Lease.TaskID, "run", run.ID, "window", w.Window.String(), "status", outcome.Run, "seen", r.stats.Seen,
		"inserted", r.stats.Inserted, "updated", r.stats.Updated, "error", outcome.Error)
	return outcome, nil
}

func (e *Executor) program(w ingest.Work) (*spec.Program, error) {
	if cached, ok := e.programs.Load(w.SpecFingerprint); ok {
		return cached.(*spec.Program), nil
	}
	snapshot, err := spec.Load(w.Spec)
	if err != nil {
		return nil, err
	}
	program, err := snapshot.Program()
	if err != nil {
		return nil, err
	}
	e.programs.Store(w.SpecFingerprint, program)
	return program, nil
}

// supervise runs the task while keeping its lease alive. The lease is judged by
// the store's clock; we count on our own monotonic one and stop at two thirds
// of it, so that a paused or cut-off worker stops before another one starts.
func (r *running) supervise(parent context.Context) (ingest.Outcome, error) {
	ctx, cancel := context.WithCancelCause(parent)
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		r.keepLease(ctx, cancel)
	}()
	outcome, err := r.pages(ctx)
	if cause := context.Cause(ctx); err != nil && parent.Err() == nil && cause != nil {
		err = cause // we stopped ourselves: the lease is lost, or the operator cancelled
	}
	cancel(nil)
	done.Wait()
	return outcome, err
}

func (r *running) keepLease(ctx context.Context, stop context.CancelCauseFunc) {
	lease := r.executor.config.Lease
	ticker := time.NewTicker(lease / 6)
	defer ticker.Stop()
	ours := time.Now().Add(2 * lease / 3)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		try, cancel := context.WithDeadline(ctx, ours) // a store that hangs must not keep us working
		_, cancelled, err := r.executor.store.Renew(try, r.work.Lease, lease)
		cancel()
		switch {
		case err == nil:
			ours = asked.Add(2 * lease / 3)
			if cancelled {
				stop(errCancelled)
				return
			}
		case errors.Is(err, fault.ErrStale), !time.Now().Before(ours):
			stop(fmt.Errorf("%w: %v", fault.ErrStale, err))
			return
		}
	}
}

var errCancelled = errors.New("cancelled by the operator")

// outcome decides what becomes of a task whose run ended with an error.
func (r *running) outcome(ctx context.Context, err error) ingest.Outcome {
	if errors.Is(err, errCancelled) {
		return ingest.Outcome{Task: ingest.TaskCancelled, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: errCancelled.Error()}
	}
	if ctx.Err() != nil {
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: "stopped; the next run continues"}
	}
	f := fault.As(err)
	out := ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(f.Code), Error: err.Error()}
	// What nobody classified is about us (the database, most likely), not about
	// the task: it deserves another run.
	again := f.Level == fault.Transient || !errors.As(err, new(*fault.Error))
	switch {
	case f.Code == fault.Budget:
		out.Task, out.Run = ingest.TaskPartial, ingest.RunPartial
	case f.Code == fault.RateLimited: // being told to wait is no failure: put back, as often as it takes
		out.Task, out.Run = ingest.TaskScheduled, ingest.RunCancelled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, taskBackoff(0)))
	case again && r.run.Failures+1 < r.policy().TaskAttempts:
		out.Task = ingest.TaskScheduled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, taskBackoff(r.run.Failures)))
	}
	return out
}

// Waits between two runs of a task whose upstream was in trouble.
const (
	firstTaskWait = 2 * time.Second
	longTaskWait  = 10 * time.Minute
)

func taskBackoff(failures int) time.Duration {
	wait := firstTaskWait
	for range failures {
		wait = min(2*wait, longTaskWait)
	}
	return wait/2 + rand.N(wait)
}

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// What the operator may want of a running task.
var (
	errCancelled = errors.New("cancelled by the operator")
	errPaused    = errors.New("the source is paused; the task goes on when it is resumed")
)

// outcome decides what becomes of a task whose run ended with an error (§12.1).
func (r *running) outcome(ctx context.Context, err error) ingest.Outcome {
	switch {
	case errors.Is(err, errCancelled):
		return ingest.Outcome{Task: ingest.TaskCancelled, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: errCancelled.Error()}
	case errors.Is(err, errPaused):
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: errPaused.Error()}
	case ctx.Err() != nil:
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: "stopped; the next run continues"}
	}
	f := fault.As(err)
	out := ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(f.Code), Error: err.Error()}
	// What nobody classified is about us (the database, most likely), not about
	// the task: it deserves another run.
	again := f.Level == fault.Transient || !errors.As(err, new(*fault.Error))
	switch {
	case f.Code == fault.Budget, f.Code == fault.Capped && r.stats.Pages > 0:
		// The slice is too large: what is left of it is cut smaller (S§5.6, D§5.12).
		out.Task, out.Run = ingest.TaskPartial, ingest.RunPartial
	case f.Code == fault.RateLimited: // being told to wait is no failure: put back, as often as it takes
		out.Task, out.Run = ingest.TaskScheduled, ingest.RunCancelled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, taskBackoff(0)))
	case r.run.Probe && f.Code.Breaks(): // sent ahead for all others: the failure is not its own
		out.Task, out.Run = ingest.TaskScheduled, ingest.RunCancelled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, taskBackoff(0)))
	case again && r.run.Failures+1 < r.policy().TaskAttempts:
		out.Task = ingest.TaskScheduled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, taskBackoff(r.run.Failures)))
	}
	return out
}

// escalate hands on what this run cannot mend. It does so before the run ends: a
// run that ended, and a process that died then, would have told nobody.
func (r *running) escalate(ctx context.Context, cause error, o ingest.Outcome) error {
	switch {
	case o.Task == ingest.TaskPartial:
		return r.cutSmaller(ctx, o)
	case o.Task == ingest.TaskFailed && fault.As(cause).Level == fault.Fatal:
		return r.stopSource(ctx, fault.As(cause))
	}
	return nil
}

// cutSmaller asks the planner to cut what is left of the slice.
func (r *running) cutSmaller(ctx context.Context, o ingest.Outcome) error {
	detail, err := json.Marshal(map[string]any{
		"why": o.Error, "pass": r.walk.pass, "pages": r.walk.state.Pages, "requests": r.stats.Requests, "bytesIn": r.stats.BytesIn,
	})
	if err != nil {
		return err
	}
	return r.executor.store.RequestReslice(ctx, ingest.ResliceRequest{
		Lease: r.work.Lease, Extend: r.executor.config.Lease, Reason: fault.Code(o.Code), Remaining: r.left(), Detail: detail,
	})
}

// stopSource is L4: nobody asks again before a person has acted (§4.13). A
// refused credential is one of the whole source, a changed format one of the
// endpoint.
func (r *running) stopSource(ctx context.Context, f *fault.Error) error {
	scope := ingest.Scope{Source: r.work.Partition.Source}
	if f.Code != fault.Unauthorized {
		scope.Endpoint = r.work.Partition.Endpoint
	}
	pause, news, err := r.executor.store.PauseSource(ctx, scope, ingest.Act{Actor: "executor", Reason: f.Error()})
	if err == nil && news {
		r.executor.log.Error("source stopped", "source", scope.String(), "run", r.run.ID, "reason", pause.Reason, "next", pause.Resuming())
	}
	return err
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

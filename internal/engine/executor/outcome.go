package executor

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// What the operator may want of a running task.
var (
	errCancelled = errors.New("cancelled by the operator")
	errPaused    = errors.New("the source is paused; the task goes on when it is resumed")
)

// decideOutcome decides what becomes of a task whose run ended with an error (§12.1).
func (r *taskRun) decideOutcome(ctx context.Context, err error) ingest.Outcome {
	switch {
	case errors.Is(err, errCancelled):
		return ingest.Outcome{Task: ingest.TaskCancelled, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: errCancelled.Error()}
	case errors.Is(err, errPaused):
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: errPaused.Error()}
	case errors.As(err, new(limitSpent)): // the plan waits as it is for whoever allows more
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.RequestLimit), Error: err.Error(), Advanced: r.cameFurther()}
	case ctx.Err() != nil:
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted), Error: "stopped; the next run continues"}
	case errors.Is(err, fault.ErrFull): // the trouble of this process, not of the slice: as it was, for whoever has room
		return ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.StoreFull), Error: err.Error(), Advanced: r.cameFurther()}
	case errors.Is(err, fault.ErrBusy): // and so is a database that is away or overrun
		return ingest.Outcome{
			Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.StoreBusy), Error: err.Error(), Advanced: r.cameFurther(),
			NotBefore: r.lastSeen.Add(waitAfter(r.run.AttemptNo - 1)),
		}
	}
	if refused := new(trust.Refusal); errors.As(err, &refused) {
		// Nobody agreed to it yet: no failure, and no reason to stop what does not need it.
		// The dispatcher takes no more of them; what it could not foresee comes back here.
		return ingest.Outcome{
			Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.Refused), Error: err.Error(), Advanced: r.cameFurther(),
			NotBefore: r.lastSeen.Add(consentWait),
		}
	}
	f := fault.As(err)
	out := ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(f.Code), Error: err.Error()}
	// What nobody classified is about us (the database, most likely), not about
	// the task: it deserves another run. A database that is damaged stays so: asking the upstream
	// for the same pages once more would help nobody.
	broken := errors.Is(err, fault.ErrDamaged) || errors.Is(err, fault.ErrBroken)
	again := f.Level == fault.Transient || !errors.As(err, new(*fault.Error)) && !broken
	failures := r.run.Failures
	// A page that came elsewhere while this run failed shows that the upstream is there.
	out.Answered = r.alive || !r.failingSince.IsZero() && r.executor.troubles.answeredSince(r.work.Partition, r.failingSince)
	if out.Advanced = r.cameFurther(); out.Advanced {
		failures = 0
	}
	task, run, early := r.first.endsEarly(f.Code)
	switch {
	case early:
		out.Task, out.Run = task, run
	case f.Code == fault.RateLimited && again: // being told to wait is no failure: put back, as often as it takes
		out.Task, out.Run = ingest.TaskScheduled, ingest.RunCancelled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, waitAfter(0)))
		out.Waits, out.RateKey = heldBy(f), r.asking
		r.putBack(ctx, &out)
	case r.run.Probe && !r.run.Alone && !r.alive && f.Code.Breaks(): // sent ahead for all others: the failure is not its own
		out.Task, out.Run = ingest.TaskScheduled, ingest.RunCancelled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, waitAfter(0)))
		out.Waits, out.RateKey = gate.Breaker, r.asking
	case again && failures+1 < r.retryPolicy().TaskAttempts:
		out.Task = ingest.TaskScheduled
		out.NotBefore = r.lastSeen.Add(max(f.Wait, waitAfter(failures)))
	}
	return out
}

// consentWait is how long a task rests that needs consent.
const consentWait = 5 * time.Minute

// cameFurther reports whether this run went on where the last one stopped, came further,
// and the next one goes on from there. Failures before are forgiven then: a long slice on
// an upstream that is up and down would use up its attempts although every run reads a
// part of it. A walk that has to start over does not come further.
func (r *taskRun) cameFurther() bool {
	last := r.run.Checkpoint
	if r.file != nil {
		return r.file.cameFurther()
	}
	if r.parents.cameFurther(last.Run) {
		return true
	}
	if r.pass.axis.IsFurtherThan(last.Axis) {
		return true
	}
	return r.program != nil && *r.program.Paging.Replayable && r.pass.no == max(last.Pass, 1) && r.pass.state.Pages > last.Paging.Pages
}

// heldBy returns why a request was told to wait: by our own gate, or by the upstream. An
// upstream that does not say for how long asks for no cool-down of the key.
func heldBy(f *fault.Error) gate.Reason {
	switch {
	case f.Held != "":
		return gate.Reason(f.Held)
	case f.Wait > 0:
		return gate.Cooling
	}
	return gate.OverDeadline
}

// escalateFailure hands on what this run cannot mend. It does so before the run ends: a
// run that ended, and a process that died then, would have told nobody.
func (r *taskRun) escalateFailure(ctx context.Context, cause error, o ingest.Outcome) error {
	switch {
	case o.Code == string(fault.FilesListed):
		return r.askForFileSlices(ctx, o)
	case o.Task == ingest.TaskPartial:
		return r.list.cutSmaller(ctx, o)
	case o.Task == ingest.TaskFailed && (needsPerson(cause) || r.refusedAlways(cause)):
		return r.stopSource(ctx, fault.As(cause))
	}
	return nil
}

// needsPerson reports whether nobody but a person can fix the cause. A secret that no
// run of the task could read is like one that is not there.
func needsPerson(cause error) bool {
	return fault.As(cause).Level == fault.Fatal || errors.Is(cause, secret.ErrTrouble)
}

// cutSmaller asks the planner to cut what is left of the slice.
func (l *listWalk) cutSmaller(ctx context.Context, o ingest.Outcome) error {
	why := l.cutReason(fault.Code(o.Code))
	l.remark(why, health.Reslice, "%s", o.Error)
	detail, err := json.Marshal(map[string]any{
		"why": o.Error, "condition": why, "pass": l.pass.no, "pages": l.pass.state.Pages, "requests": l.stats.Requests, "bytesIn": l.stats.BytesIn, "silent": l.deaf,
	})
	if err != nil {
		return err
	}
	return l.executor.store.RequestReslice(ctx, ingest.ResliceRequest{
		Lease: l.work.Lease, Extend: l.executor.config.Lease, Reason: fault.Code(o.Code), Remaining: l.provenLeft(ctx), Detail: detail,
	})
}

// stopSource stops the source until a person has acted (L4, §4.13). A refused credential
// stops the whole source, a changed format the endpoint.
func (r *taskRun) stopSource(ctx context.Context, f *fault.Error) error {
	scope := ingest.Scope{Source: r.work.Partition.Source}
	if f.Code != fault.Unauthorized {
		scope.Endpoint = r.work.Partition.Endpoint
	}
	if f.Code == fault.MassGone || r.stops && r.executor.troubles.everAnswered(r.work.Partition) { // other operations may be well
		scope.Operation = r.work.Partition.Operation
	}
	r.stopped = true
	pause, news, err := r.executor.store.PauseSource(ctx, scope, ingest.Act{Actor: ingest.ByItself, Reason: r.stopReason(f)})
	if err == nil && news {
		r.remark(health.Fatal, health.StopSource, "%s", pause.Reason)
		// The one alarm of a stop: all who fail meanwhile find it stopped (§12.6).
		r.line().Error("source stopped", append(describeFault(f, r.lost), "alarm", fault.Fatal, "scope", scope.String(), "reason", pause.Reason, "next", pause.Resuming())...)
	}
	return err
}

// Waits between two runs of a task whose upstream was in trouble: 2, 8, 32 and 128
// seconds. Five runs reach over three minutes that way, so that a short outage
// which nobody else notices does not cost the task.
var betweenRuns = fault.Backoff{First: 2 * time.Second, Growth: 4, Longest: 10 * time.Minute, Jitter: 0.5}

// waitAfter returns how long a task waits after so many runs that failed; after none it
// is the shortest wait.
func waitAfter(failures int) time.Duration { return betweenRuns.Spread(failures+1, rand.Float64()) }

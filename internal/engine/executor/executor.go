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
	"runtime/debug"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/engine/heal"
	"github.com/patra-ingest/patra/internal/engine/memory"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// Store is what the executor needs of the store.
type Store interface {
	RunStore
	Packer
	CandidateReader
	ParentReader
	RefusalReader
	GenerationStore
	FileStore
	Stopper
	Now(ctx context.Context) (time.Time, error)
}

// RunStore writes the runs of tasks and what they read.
type RunStore interface {
	StartRun(ctx context.Context, w ingest.Work, lease time.Duration) (ingest.Run, error)
	CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error)
	FinishRun(ctx context.Context, f ingest.Finish) error
	Renew(ctx context.Context, l ingest.Lease, extend time.Duration) (ingest.Held, error)
	RequestReslice(ctx context.Context, r ingest.ResliceRequest) error
	TakeRequests(ctx context.Context, t ingest.RequestTake) (ingest.RequestGrant, error)
}

// Packer packs records ahead of their commit, as parts of their answer where they lie so.
type Packer interface {
	PackBatch(records []record.Incoming, answer []byte) []ingest.PackedPart
	// LeaveOutItems returns what an answer has beside the items of its records; nil if it
	// cannot be put together again of both.
	LeaveOutItems(records []record.Incoming, answer []byte) []byte
}

// CandidateReader names stored records: those an UPDATE looks at again, and those that
// are asked for too when an answer is doubted.
type CandidateReader interface {
	LookAtCandidates(ctx context.Context, q ingest.CandidateLook) (ingest.CandidatePage, error)
	Witnesses(ctx context.Context, datasetID int64, behind [16]byte, n int) ([]string, error)
}

// ParentReader reads stored records that are the parts of another list.
type ParentReader interface {
	Parents(ctx context.Context, q ingest.ParentLook) (found []ingest.Parent, next string, last bool, err error)
	CountParents(ctx context.Context, d ingest.Dataset) (int64, error)
}

// RefusalReader tells which parts of a list the upstream refuses, and which of them a plan leaves out.
type RefusalReader interface {
	PlanRefusals(ctx context.Context, planID int64) ([]sector.Refusal, error)
	PlanLeaves(ctx context.Context, planID int64) (sector.LeftOut, error)
}

// Stopper ends work that would do harm if it went on.
type Stopper interface {
	PauseSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (ingest.Pause, bool, error)
	CancelPlan(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error)
}

// Config are the executor's limits.
type Config struct {
	Lease         time.Duration    // how long a task is ours without a sign of life (default 60 s)
	MaxRestarts   int              // how often a run may start its slice over (default 20)
	MaxIdleLeases int              // leases in a row without a batch before the task is given up (default 10)
	Health        *heal.Conditions // of the partitions of this process; nil: one of its own
	// Memory is what large answers of all tasks of the process share; nil: no limit but
	// http.maxBodyBytes of each.
	Memory *memory.Budget
	// LogSample is the share of batches that leave a line although all went well; nil:
	// worklog.DefaultSample.
	LogSample *float64
	// Meter counts and times what the executor does; nil: nothing does.
	Meter Meter
	// Rates are the rate sections in force now, of a program and of its second step:
	// like secrets they are no part of what a plan froze (D§5.31). Fresh asks for
	// them anew. Nil: those of the snapshot.
	Rates func(ctx context.Context, p *spec.Program, fresh bool) Rates
	// Files keeps copies of files while they are read; nil: files cannot be read.
	Files FileFolder
	// WholeAnswers keeps every answer whole, also where its items are stored by its batch.
	WholeAnswers bool
	// Answers reads kept answers again; nil: what keeps bodies does, if anything does.
	Answers AnswerReader
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
	keeper   keeper
	answers  AnswerReader // nil: none are kept
	health   *heal.Conditions
	config   Config
	log      *slog.Logger
	meter    Meter
	programs programs // by spec fingerprint
	troubles *troubles
	leads    *leads
}

// New makes an executor. Without bodies it keeps none.
func New(s Store, chain transport.Doer, bodies Bodies, c Config, log *slog.Logger) *Executor {
	e := &Executor{store: s, chain: chain, keeper: keeper{bodies, c.WholeAnswers}, answers: c.Answers, health: c.Health, config: c.WithDefaults(), log: log, troubles: newTroubles(), leads: newLeads(), meter: c.Meter}
	if e.answers == nil && bodies != nil {
		e.answers = bodies
	}
	if e.meter == nil {
		e.meter = unmeasured{}
	}
	if e.health == nil {
		e.health = heal.New(nil, "", log)
	}
	return e
}

// farewell is how long ending a run may take after we were told to stop.
const farewell = 5 * time.Second

// withGrace returns a context that lasts a farewell longer than ctx. Starting and ending
// a run must not be cut off half-way, or nobody would work on its task until the lease
// expires.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
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
	ctx, s := span.Begin(ctx, span.Run)
	w.WorkedIn = s.Traceparent()
	outcome, err := e.executeRun(ctx, w)
	endRun(s, outcome, err)
	return outcome, err
}

// executeRun is one attempt at a task.
func (e *Executor) executeRun(ctx context.Context, w ingest.Work) (_ ingest.Outcome, failed error) {
	start, started := withGrace(ctx)
	asked := time.Now()
	run, err := e.store.StartRun(start, w, e.config.Lease)
	started()
	if err != nil {
		tellLostLease(worklog.OfTask(e.log, w), w.Lease, err)
		return ingest.Outcome{}, err
	}
	crash.At(crash.RunRow)
	w.Lineage.RunID = run.ID
	r := newTaskRun(e, w, run)
	defer func() { tellLostLease(r.line(), w.Lease, failed) }()
	r.describeRun(span.Of(ctx))
	r.hold = e.config.Memory.Hold()
	defer r.hold.Release()
	defer r.choice.End()
	r.noteLease(asked)
	defer r.closeFile()
	outcome, err := r.readUnderLease(ctx)
	if errors.Is(err, fault.ErrStale) {
		return outcome, err // somebody else owns the task: write nothing (I7)
	}
	var cause error // of a run that did not end well
	if err != nil {
		err = r.judgeStreak(ctx, err)
		cause = err
		outcome = r.decideOutcome(ctx, err)
		outcome.Stops = r.stops || outcome.Task == ingest.TaskFailed && needsPerson(err) && fault.Code(outcome.Code).Remedy() != fault.Unknown
	}
	end, ended := withGrace(ctx)
	defer ended()
	r.retryUnsureCommit(end)
	full := err
	if !errors.Is(err, fault.ErrFull) {
		full = nil
	}
	if err := r.escalateFailure(end, err, outcome); err != nil {
		return outcome, err
	}
	r.countFault(outcome, cause)
	if name := r.sectorInHand(); name != "" && outcome.Error != "" {
		outcome.Error = "partition " + name + ": " + outcome.Error // others of its window may be read
	}
	outcome.Stats, outcome.Observed, outcome.Apart = r.stats, r.newest, r.few || len(r.lostParents()) > 0 || outcome.Code == string(fault.PartRefused)
	crash.At(crash.Finishing)
	r.allowed.giveRest(end)
	lineage := w.Lineage
	lineage.BatchID = r.batchID
	finish := ingest.Finish{Lease: w.Lease, Lineage: lineage, Outcome: outcome, Failed: r.failed, Remarks: r.remarks, CircuitAfter: r.circuitAfter(), Generation: r.endOfGeneration(outcome), File: r.endOfFile(outcome), Lost: r.lostParents(), Refusals: r.heardRefusals()}
	err = e.store.FinishRun(end, finish)
	if errors.Is(err, fault.ErrUnjudged) { // two slices ended at once: the next run of this one judges for all
		outcome.Task, outcome.Run, outcome.Code, outcome.Error = ingest.TaskQueued, ingest.RunCancelled, string(fault.Interrupted), err.Error()
		finish.Outcome = outcome
		err = e.store.FinishRun(end, finish)
	}
	if err != nil {
		return outcome, err
	}
	r.measureRun(outcome, cause)
	if err := r.giveUpPlan(end, outcome); err != nil {
		return outcome, err
	}
	r.sweepGenerations(end)
	r.dropFile(outcome)
	r.tellEnd(end, outcome)
	return outcome, full // nobody should fetch what cannot be stored
}

// compiledProgram returns the program of the snapshot that a task was planned with.
func (e *Executor) compiledProgram(w ingest.Work) (*spec.Program, error) {
	if cached, ok := e.programs.getProgram(w.SpecFingerprint); ok {
		return cached, nil
	}
	snapshot, err := spec.Load(w.Spec)
	if err != nil {
		return nil, err
	}
	program, err := snapshot.Program()
	if err != nil {
		return nil, err
	}
	e.programs.keepProgram(w.SpecFingerprint, program)
	return program, nil
}

// readUnderLease runs the task while keeping its lease alive. The lease is judged by
// the store's clock; we count on our own monotonic one and stop at two thirds
// of it, so that a paused or cut-off worker stops before another one starts.
func (r *taskRun) readUnderLease(parent context.Context) (ingest.Outcome, error) {
	ctx, cancel := context.WithCancelCause(parent)
	r.allowed.stop = cancel
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		r.keepLease(ctx, cancel)
	}()
	outcome, err := r.readSafely(ctx)
	if cause := context.Cause(ctx); err != nil && parent.Err() == nil && cause != nil {
		err = cause // we stopped ourselves: the lease is lost, the operator cancelled, or no request is left
	}
	cancel(nil)
	done.Wait()
	return outcome, err
}

// readSafely reads the slice and turns a panic into an error: a defect of ours that a
// strange answer brings to light costs its task, not the process with all the others.
func (r *taskRun) readSafely(ctx context.Context) (out ingest.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.line().Error("panic", "panic", p, "stack", string(debug.Stack()))
			err = fault.Newf(fault.Internal, "panic: %v", p)
		}
	}()
	return r.readSlice(ctx)
}

// keepLease renews the lease until the run ends, and stops the run if the lease is lost
// or the operator cancelled.
func (r *taskRun) keepLease(ctx context.Context, stop context.CancelCauseFunc) {
	lease := r.executor.config.Lease
	ticker := time.NewTicker(lease / 6)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		try, cancel := context.WithDeadline(ctx, *r.ours.Load()) // a store that hangs must not keep us working
		held, err := r.executor.store.Renew(try, r.work.Lease, lease)
		cancel()
		switch {
		case err == nil:
			r.noteLease(asked)
			if held.Cancel { // a pause waits until the page in hand is committed
				stop(errCancelled)
				return
			}
		case errors.Is(err, fault.ErrStale), r.checkLease() != nil:
			stop(fmt.Errorf("%w: %v", fault.ErrStale, err))
			return
		}
	}
}

// noteLease notes that the store extended the lease when it was asked at an instant.
func (r *taskRun) noteLease(asked time.Time) {
	until := asked.Add(2 * r.executor.config.Lease / 3)
	r.ours.Store(&until)
}

// checkLease returns an error if the task may be somebody else's by now. keepLease stops
// a run by then; a run that woke up late, after the whole process stood still, is stopped
// here, right before its request leaves.
func (r *taskRun) checkLease() error {
	if time.Now().Before(*r.ours.Load()) {
		return nil
	}
	return fmt.Errorf("%w: it was not renewed in time", fault.ErrStale)
}

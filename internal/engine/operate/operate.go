// Package operate is what operators do to the work of the program: pause and
// resume sources, cancel and retry tasks, name records. The command line and the API share it,
// so that both ask the same questions before they change anything.
//
// It must never change anything without leaving a name in the audit log; the
// store writes both in one transaction. What the end of a task means for coverage
// is not decided here.
package operate

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Store is what operating needs of the store.
type Store interface {
	PauseStore
	TaskStore
	SignalStore
}

// PauseStore stops the work on a scope and lets it go on.
type PauseStore interface {
	PauseSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (pause ingest.Pause, changed bool, err error)
	ResumeSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (was ingest.Pause, changed bool, err error)
	Pauses(ctx context.Context, source string) ([]ingest.Pause, error)
}

// TaskStore counts, cancels and retries tasks that an operator picks.
type TaskStore interface {
	CountTasks(ctx context.Context, pick ingest.TaskPick, statuses ...ingest.TaskStatus) (map[ingest.TaskStatus]int, error)
	CancelTasks(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (done ingest.TasksDone, more bool, err error)
	RetryTasks(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (done ingest.TasksDone, more bool, err error)
}

// SignalStore takes down which records should be looked at again.
type SignalStore interface {
	AddSignals(ctx context.Context, d ingest.Dataset, kind refresh.Kind, named []ingest.NewSignal, by ingest.Act) (ingest.SignalsAdded, error)
	QuarantinedIDs(ctx context.Context, d ingest.Dataset, after int64, limit int) ([]ingest.NewSignal, error)
}

// Operator acts for people.
type Operator struct{ store Store }

// New makes an operator.
func New(s Store) *Operator { return &Operator{s} }

// checkSigned refuses an act that could not be explained later. Looking needs no reason.
func checkSigned(by ingest.Act, needsReason bool) (ingest.Act, error) {
	if by.Actor == "" {
		by.Actor = "unknown"
	}
	if needsReason && by.Reason == "" && !by.Rehearsal {
		return by, fmt.Errorf("%w: a reason is needed: the next person who finds this will ask for it", fault.ErrInvalid)
	}
	return by, nil
}

// Pause stops the work on a scope: nothing is planned or claimed, and workers stop
// after the page they read. Their tasks go back to the queue as they are.
func (o *Operator) Pause(ctx context.Context, scope ingest.Scope, by ingest.Act) (done view.PauseDone, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	done.DryRun = by.Rehearsal
	if done.Pause, done.Changed, err = o.store.PauseSource(ctx, scope, by); err != nil {
		return done, err
	}
	done.Running, done.Waiting, err = o.countStock(ctx, scope)
	return done, err
}

func (o *Operator) countStock(ctx context.Context, scope ingest.Scope) (running, waiting int, err error) {
	n, err := o.store.CountTasks(ctx, ingest.TaskPick{Scope: scope}, ingest.OpenTasks()...)
	return n[ingest.TaskDispatched] + n[ingest.TaskExecuting], n[ingest.TaskScheduled] + n[ingest.TaskQueued], err
}

// Resume ends the pause of exactly this scope. If a wider one is paused, the
// scope stays paused with it: then nothing is done and that is said.
func (o *Operator) Resume(ctx context.Context, scope ingest.Scope, by ingest.Act) (done view.ResumeDone, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	done.Scope, done.DryRun = scope, by.Rehearsal
	all, err := o.store.Pauses(ctx, scope.Source)
	if err != nil {
		return done, err
	}
	for _, p := range all {
		if p.Scope != scope && (p.Within(scope) || scope.Within(p.Scope)) {
			done.Still = append(done.Still, p)
		}
	}
	was, changed, err := o.store.ResumeSource(ctx, scope, by)
	if err != nil {
		return done, err
	}
	if done.Changed = changed; changed {
		done.Was = &was
	} else if wider, is := widerPause(done.Still, scope); is {
		return done, ingest.PausedError{Pause: wider}
	}
	_, done.Waiting, err = o.countStock(ctx, scope)
	return done, err
}

func widerPause(all []ingest.Pause, scope ingest.Scope) (ingest.Pause, bool) {
	for _, p := range all {
		if scope.Within(p.Scope) {
			return p, true
		}
	}
	return ingest.Pause{}, false
}

// Cancel stops tasks. Their windows stay owed (D§5.7).
func (o *Operator) Cancel(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error) {
	return o.actOnTasks(ctx, pick, by, o.store.CancelTasks, func() (done ingest.TasksDone, err error) {
		n, err := o.store.CountTasks(ctx, pick, ingest.OpenTasks()...)
		done.Cancelled = n[ingest.TaskScheduled] + n[ingest.TaskQueued]
		done.Stopping = n[ingest.TaskDispatched] + n[ingest.TaskExecuting]
		return done, err
	})
}

// Retry puts tasks that failed or were cancelled back into the queue.
func (o *Operator) Retry(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error) {
	if !pick.Named() && pick.Status != ingest.TaskFailed && pick.Status != ingest.TaskCancelled {
		return view.TasksDone{}, fmt.Errorf("%w: tasks that are %s cannot be tried again: choose FAILED or CANCELLED", fault.ErrInvalid, pick.Status)
	}
	return o.actOnTasks(ctx, pick, by, o.store.RetryTasks, func() (done ingest.TasksDone, err error) {
		n, err := o.store.CountTasks(ctx, pick, pick.Status)
		done.Queued = n[pick.Status]
		return done, err
	})
}

// mostNamed is how many tasks may be named: they are changed together.
const mostNamed = 500

type step func(context.Context, ingest.TaskPick, ingest.Act) (ingest.TasksDone, bool, error)

// actOnTasks does it chunk by chunk. A rehearsal of tasks that are not named is their
// number: a chunk that is taken back would be found again and again.
func (o *Operator) actOnTasks(ctx context.Context, pick ingest.TaskPick, by ingest.Act, do step, count func() (ingest.TasksDone, error)) (done view.TasksDone, err error) {
	if by, err = checkSigned(by, false); err != nil {
		return done, err
	}
	switch {
	case len(pick.IDs) > mostNamed:
		return done, fmt.Errorf("%w: %d tasks are named, at most %d can be changed together", fault.ErrInvalid, len(pick.IDs), mostNamed)
	case !pick.Named() && pick.PlanID == 0 && pick.Scope.Source == "":
		return done, fmt.Errorf("%w: name tasks, a plan or a source", fault.ErrInvalid)
	}
	if done.DryRun = by.Rehearsal; by.Rehearsal && !pick.Named() {
		done.TasksDone, err = count()
		return done, err
	}
	for more := true; more; {
		var part ingest.TasksDone
		if part, more, err = do(ctx, pick, by); err != nil {
			return done, err
		}
		done.TasksDone = done.Add(part)
	}
	return done, nil
}

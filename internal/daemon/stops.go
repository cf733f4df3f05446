package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/executor"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// StoppedError ends a command whose work cannot succeed before something changed: no
// slice would fare better than those that were tried (D§5.29).
type StoppedError struct {
	Source string
	Code   fault.Code
	Cause  string // what the last run met
	Next   string // what to do, with a command
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped, because every other slice would fail in the same way: %s. %s", e.Source, e.Cause, e.Next)
}

// Advice is what to do next.
func (e *StoppedError) Advice() string { return e.Next }

// stops is what ended the work on partitions early, in this process.
type stops struct {
	mu sync.Mutex
	of map[ingest.Partition]*StoppedError
}

func newStops() *stops { return &stops{of: map[ingest.Partition]*StoppedError{}} }

// forgetStop begins a command: what ended an earlier command does not count for this one.
func (s *stops) forgetStop(p ingest.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, p)
}

// noteOutcome takes in how a task ended. It returns an error if the upstream of what the
// command works on cannot be reached: its tasks wait as they are, and the person who started
// the command should know now, not after hours. A process that serves waits instead: its exit
// code is not read, and it has other sources.
func (s *stops) noteOutcome(w ingest.Work, o ingest.Outcome, of ingest.Partition) error {
	if !o.Stops {
		return nil
	}
	e := &StoppedError{Source: w.Partition.Source, Code: fault.Code(o.Code), Cause: o.Error, Next: nextAfter(w.Partition, w.Lineage.PlanID, fault.Code(o.Code))}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[w.Partition] == nil {
		s.of[w.Partition] = e
	}
	if w.Partition == of && !o.Task.Terminal() {
		return e
	}
	return nil
}

func (s *stops) findStop(p ingest.Partition) *StoppedError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[p]
}

// nextAfter returns what a person does about a stop. A plan that waits keeps the settings it
// was made with (I10); one that only failed is cancelled by the first harvest after a
// corrected file was applied.
func nextAfter(p ingest.Partition, planID int64, code fault.Code) string {
	tryOut := "`patra source test " + p.Source + "` sends one request and tells what comes back"
	if code.Remedy() == fault.FixFile {
		return "Correct the source file: " + tryOut
	}
	return fmt.Sprintf("Nothing is lost, the same command goes on later: %s. If the source file is wrong, correct it and apply it: "+
		"the next harvest then cancels plan %d and plans again what it left", tryOut, planID)
}

// beginCommand prepares a command for what it works on. What stopped an earlier command does
// not count, and an upstream that was unreachable is tried now: the person who started the
// command should not wait for the end of a breaker to hear that it is still unreachable.
func (a *App) beginCommand(ctx context.Context, of ingest.Partition) error {
	a.stops.forgetStop(of)
	return a.store.LookAgain(ctx, of.Dataset)
}

// orStopped names what ended the work on a partition: the pause that the program made of it,
// or a stop that this process noticed. A stop that led to a pause is fixed and then resumed;
// others need no command.
func (a *App) orStopped(ctx context.Context, of ingest.Partition, err error) error {
	var paused ingest.PausedError
	stop := a.stops.findStop(of)
	switch {
	case errors.As(err, &paused):
	case err == nil && stop != nil:
		if e := a.notPaused(ctx, of); !errors.As(e, &paused) {
			return stop
		}
	default:
		return err
	}
	p := paused.Pause
	code := fault.CodeIn(p.Reason)
	switch {
	case p.Actor == ingest.ByItself && code.Remedy() != fault.Unknown:
	case err != nil:
		return err
	default:
		return stop
	}
	return &StoppedError{Source: p.Scope.String(), Code: code, Cause: p.Reason, Next: "Fix the cause, then: " + p.Resuming()}
}

// HearFailures counts the tries that fail under the context it returns, with what the
// last of them met: for commands that ask an upstream while they plan.
func HearFailures(ctx context.Context) (context.Context, func() executor.FailedTries) {
	var mu sync.Mutex
	var failed executor.FailedTries
	ctx = transport.WithFailures(ctx, func(t transport.FailedTry) {
		mu.Lock()
		defer mu.Unlock()
		failed.Tries++
		failed.Last = t.Fault.Error()
	})
	return ctx, func() executor.FailedTries {
		mu.Lock()
		defer mu.Unlock()
		return failed
	}
}

// compiledPartition returns what a compiled source works on.
func compiledPartition(c *spec.Compiled) ingest.Partition {
	return ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
}

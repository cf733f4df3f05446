package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// recentRuns is how many runs are looked through for the last one that failed.
const recentRuns = 20

// Standstill finds out why the work on a partition does not go on. The process that
// does the work knows of every try that failed, also while no run has ended yet.
func (i *Inspector) Standstill(ctx context.Context, of ingest.Partition) (out view.Standstill, err error) {
	if out.Tries, out.LastTry = i.from.Machine.FailedTries(of); out.Tries == 0 {
		out.FailedRun = i.lastFailure(ctx, of)
	}
	for _, status := range []ingest.TaskStatus{ingest.TaskQueued, ingest.TaskScheduled} {
		tasks, err := i.recentTasks(ctx, of, status)
		if err != nil {
			return out, err
		}
		for _, t := range tasks {
			if t.Waits != nil {
				out.Reason, out.Task = view.StandsAtGate, &t
				return out, nil
			}
			if status == ingest.TaskScheduled && t.Attempts > 0 { // the others are due step by step, the last of them first in the list
				out.Reason, out.Task = view.StandsForRetry, &t
				return out, nil
			}
		}
	}
	if out.Condition = i.heldPlanning(ctx, of); out.Condition != nil {
		out.Reason = view.StandsHeld
		return out, nil
	}
	if out.Failed() {
		out.Reason = view.StandsRepeating
		return out, nil
	}
	if out.Due = i.nextDue(ctx, of); !out.Due.IsZero() {
		out.Reason = view.StandsNotDue
		return out, nil
	}
	out.Reason = view.StandsSilently
	return out, nil
}

// recentTasks lists the newest tasks of an operation of a source in one status.
func (i *Inspector) recentTasks(ctx context.Context, of ingest.Partition, status ingest.TaskStatus) ([]view.Task, error) {
	tasks, err := i.from.Work.Tasks(ctx, view.Filter{Source: of.Source, Status: string(status), Limit: recentRuns})
	return slices.DeleteFunc(tasks, func(t view.Task) bool { return t.Operation != string(of.Operation) }), err
}

// nextDue returns when tasks become due, if all that are left of an operation do so
// later; else zero.
func (i *Inspector) nextDue(ctx context.Context, of ingest.Partition) (due time.Time) {
	for _, status := range []ingest.TaskStatus{ingest.TaskScheduled, ingest.TaskQueued, ingest.TaskDispatched, ingest.TaskExecuting} {
		tasks, err := i.recentTasks(ctx, of, status)
		if some := len(tasks) > 0; err != nil || some != (status == ingest.TaskScheduled) {
			return time.Time{}
		}
	}
	due, _ = i.from.Ended.NextDue(ctx) // zero then, and nothing is said of it
	return due
}

// lastFailure returns the newest run that ended, if it went wrong.
func (i *Inspector) lastFailure(ctx context.Context, of ingest.Partition) *view.Run {
	runs, err := i.from.Ended.Runs(ctx, view.Filter{Source: of.Source, Limit: recentRuns})
	if err != nil {
		return nil
	}
	for _, r := range runs {
		if r.Operation != string(of.Operation) || r.FinishedAt.IsZero() {
			continue
		}
		if r.Error == "" || r.ErrorCode == ingest.LeaseExpired {
			return nil
		}
		return &r
	}
	return nil
}

// heldPlanning returns the condition for which nothing is planned. Tasks that were
// given up are not tried again before it ends.
func (i *Inspector) heldPlanning(ctx context.Context, of ingest.Partition) *view.Condition {
	conditions, err := i.from.Work.Conditions(ctx)
	if err != nil {
		return nil
	}
	for _, c := range conditions {
		rule, known := health.RuleOf(c.Condition)
		if known && c.Source == of.Source && (c.Operation == "" || c.Operation == string(of.Operation)) && rule.Does(health.PausePlanning, max(c.Level, 1)) {
			return &c
		}
	}
	return nil
}

package executor

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
)

// Meter is told what the executor does, while it does it. It must cost next to nothing.
type Meter interface {
	NoteAttempt(of ingest.Partition, a measure.Attempt)
	NoteFailure(of ingest.Partition, f measure.Failure)
	NoteBatch(of ingest.Partition, b measure.Batch)
	NoteRun(of ingest.Partition, r measure.Run)
}

// unmeasured is the meter of a process that nobody measures.
type unmeasured struct{}

func (unmeasured) NoteAttempt(ingest.Partition, measure.Attempt) {}
func (unmeasured) NoteFailure(ingest.Partition, measure.Failure) {}
func (unmeasured) NoteBatch(ingest.Partition, measure.Batch)     {}
func (unmeasured) NoteRun(ingest.Partition, measure.Run)         {}

// measureAttempt tells of one request of the run.
func (r *taskRun) measureAttempt(a measure.Attempt) {
	r.executor.meter.NoteAttempt(r.work.Partition, a)
}

// measureFailedPage tells of a page that could not be had. One that was put off by a
// gate, or whose worker was stopped, did not fail: it is asked for later.
func (r *taskRun) measureFailedPage(ctx context.Context, err error) {
	if ctx.Err() != nil || fault.As(err).Code == fault.RateLimited && fault.As(err).Unsent || errors.Is(err, fault.ErrStale) {
		return
	}
	r.executor.meter.NoteBatch(r.work.Partition, measure.Batch{})
}

// measureBatch tells of a page that was stored.
func (r *taskRun) measureBatch(a *answer, stats ingest.BatchStats, commit time.Duration) {
	b := measure.Batch{Stored: true, Stats: stats, Commit: commit}
	if a != nil && !a.asked.IsZero() {
		b.Took = time.Since(a.asked)
	}
	r.executor.meter.NoteBatch(r.work.Partition, b)
}

// measureRun tells how the run ended. A fault that ended it is counted here, unless it
// is that of a try that was counted when it failed.
func (r *taskRun) measureRun(o ingest.Outcome, cause error) {
	var f *fault.Error
	if errors.As(cause, &f) && f != r.measured && o.Run == ingest.RunFailed {
		r.executor.meter.NoteFailure(r.work.Partition, measure.Failure{Level: f.Level})
	}
	r.executor.meter.NoteRun(r.work.Partition, measure.Run{Outcome: o, Covered: o.Run == ingest.RunSucceeded})
}

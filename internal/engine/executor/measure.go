package executor

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/core/record"
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

// countFault adds the fault that ended the run to its account, unless it is that of a
// try, which was counted when it failed.
func (r *taskRun) countFault(o ingest.Outcome, cause error) {
	if cause == nil || o.Run != ingest.RunFailed {
		return
	}
	if f := fault.As(cause); f != r.measured && f.Held == "" {
		r.stats.Errors = r.stats.Errors.Count(f.Level, string(f.Code), 1, max(r.batchNo, r.askedNo))
	}
}

// countRejects adds the rejects of a stored batch that are news to the account of the
// run, by reason. The store tells how many are news, not which: where some are not, the
// first ones count. What it rejected itself was asked for and did not come, or collided
// with a stored record.
func (r *taskRun) countRejects(b *bundle, stats ingest.BatchStats) {
	left := stats.NewlyQuarantined()
	for _, one := range b.rejects {
		if left == 0 {
			return
		}
		left--
		r.stats.Errors = r.stats.Errors.Count(fault.Data, string(one.Reason), 1, r.batchNo)
	}
	reason := record.IDCollision
	if b.missed > 0 {
		reason = record.MissingDetail
	}
	r.stats.Errors = r.stats.Errors.Count(fault.Data, string(reason), left, r.batchNo)
}

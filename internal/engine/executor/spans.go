package executor

import (
	"cmp"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// describeRun says in the span of a run which one it is.
func (r *taskRun) describeRun(s span.Span) {
	if s.IsKept() {
		s.Note(append(span.OfTask(r.work), span.Number(span.RunID, r.run.ID), span.Number(span.Attempt, r.run.AttemptNo))...)
	}
}

// endRun ends the span of a run with what became of it. A run that failed failed with its
// fault, also where the caller need not know.
func endRun(s span.Span, o ingest.Outcome, err error) {
	if s.IsKept() {
		s.Note(span.Text(span.Status, string(o.Run)), span.Text(span.Becomes, string(o.Task)), span.Number(span.Items, o.Stats.Seen))
	}
	if err == nil && o.Run == ingest.RunFailed {
		err = fault.New(fault.Code(o.Code), errors.New(o.Code))
	}
	s.End(err)
}

// describeStep says in the span of a page what is asked for.
func (r *taskRun) describeStep(s span.Span) {
	if !s.IsKept() {
		return
	}
	no := r.batchNo + 1
	s.Note(append(span.OfPartition(r.work.Partition), span.Number(span.PlanID, r.work.Lineage.PlanID), span.Number(span.TaskID, r.work.Lease.TaskID),
		span.Number(span.RunID, r.run.ID), span.Number(span.BatchNo, no), span.Text(span.CorrelationID, worklog.CorrelationID(r.run.ID, no)),
		span.Number(span.Page, r.pass.state.Pages+1))...)
	if hash := span.HashToken(r.pagingToken()); hash != "" {
		s.Note(span.Text(span.Token, hash))
	}
}

// pagingToken returns what the upstream gave to ask for the page in hand; empty where pages
// are counted, and for the first one.
func (r *taskRun) pagingToken() string { return cmp.Or(r.pass.state.Token, r.pass.state.URL) }

// describeBatch says in the span of a page what came and was stored.
func (r *taskRun) describeBatch(s span.Span, b *bundle, stored ingest.BatchResult) {
	if s.IsKept() {
		s.Note(span.Number(span.BatchID, stored.BatchID), span.Number(span.Items, stored.Stats.Seen), span.Flag(span.HasNext, !b.checkpoint.Done),
			span.Flag(span.Detail, b.answer != nil && b.detail))
	}
}

// faultOf returns the error that ended a step badly. What an operator wants is none.
func faultOf(err error) error {
	if errors.Is(err, errPaused) || errors.Is(err, errCancelled) {
		return nil
	}
	return err
}

package planner

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/window"
)

// mostSliceSpans is how many slices of one plan have spans of their own. Of the others
// each chunk has one span, with their number: a plan may have 100,000 slices, and nobody
// reads so many.
const mostSliceSpans = 100

// withinTrigger returns a context with the span of a trigger: the one that ctx has, or
// one that lasts as long as the planning, for parts of a campaign and the like.
func (p *Planner) withinTrigger(ctx context.Context) (context.Context, func(error)) {
	if span.Of(ctx).Traceparent() != "" {
		return ctx, func(error) {}
	}
	ctx, s := span.BeginRoot(ctx, p.Spans, span.Beginning{Name: span.Trigger, Root: true})
	return ctx, s.End
}

// notePlan says in the span of a trigger which plan it led to.
func notePlan(s span.Span, plan ingest.Plan, trigger int64) {
	if s.IsKept() && plan.ID != 0 {
		s.Note(append(span.OfPartition(plan.Partition), span.Number(span.TriggerID, trigger), span.Number(span.PlanID, plan.ID))...)
	}
}

// beginResume begins the span of a plan that goes on: within that of the trigger, or as
// the first of its own trace where the trigger is long gone.
func (p *Planner) beginResume(ctx context.Context, of ingest.Partition, o ingest.OpenPlan) (context.Context, span.Span) {
	ctx, s := span.BeginRoot(ctx, p.Spans, span.Beginning{Name: span.Resume})
	if s.IsKept() {
		s.Note(append(span.OfPartition(of), span.Number(span.PlanID, o.ID))...)
	}
	return ctx, s
}

// storeSlices stores a chunk that begins at the n-th slice. Its tasks keep the name of the
// span they were planned in, so that the spans of whoever works on them can point there.
func (p *Planner) storeSlices(ctx context.Context, planID int64, n int, chunk []ingest.NewSlice) error {
	within, began := span.Of(ctx), time.Now()
	if in := within.Traceparent(); in != "" {
		for i := range chunk {
			chunk[i].PlannedIn = in
		}
	}
	err := p.store.AddSlices(ctx, planID, chunk, false)
	if err != nil || !within.IsKept() {
		return err
	}
	own := min(max(mostSliceSpans-n, 0), len(chunk))
	for _, c := range chunk[:own] {
		recordSlice(ctx, began, planID, c)
	}
	if rest := chunk[own:]; len(rest) > 0 {
		recordSlice(ctx, began, planID, rest[0], span.Number(span.SliceCount, len(rest)))
	}
	return nil
}

// recordSlice records that a slice, or several beginning with it, was stored since an
// instant.
func recordSlice(ctx context.Context, since time.Time, planID int64, c ingest.NewSlice, more ...span.Attribute) {
	_, s := span.BeginAs(ctx, span.Beginning{Name: span.Slice, At: since})
	s.Note(append(more, span.Number(span.PlanID, planID), span.Number(span.SliceNo, c.No), span.Number(span.Priority, c.Priority),
		span.Text(span.SliceFrom, window.Text(c.Window.From)), span.Text(span.SliceTo, window.Text(c.Window.To)))...)
	s.End(nil)
}

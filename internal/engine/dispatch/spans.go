package dispatch

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
)

// beginClaim begins the span of a task that was claimed: from the look at the queue until
// the task is given back. Each claim is a trace of its own, and points to the span that
// planned the task, which may be of another process or of last week: a trace of all that
// a plan leads to would be too large to be read, and sampled as a whole or not at all.
func (d *Dispatcher) beginClaim(ctx context.Context, w ingest.Work, asked time.Time) (context.Context, span.Span) {
	ctx, s := span.BeginRoot(ctx, d.config.Spans, span.Beginning{Name: span.Claim, Root: true, At: asked, Link: w.PlannedIn})
	if s.IsKept() {
		s.Note(append(span.OfTask(w), span.Number(span.Priority, w.Priority))...)
	}
	return ctx, s
}

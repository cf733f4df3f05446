package inspect

import (
	"context"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ReconcileQuery says how counts are compared.
type ReconcileQuery struct {
	Within    window.Window
	By        Unit
	Tolerance float64        // percent that may be missing
	Most      int            // windows to ask for: each is a request
	With      *spec.Compiled // how the upstream is asked
}

// Reconciliation is a coverage compared with the upstream.
type Reconciliation struct {
	Windows []view.Reconciled
	Checks  []view.CountCheck // to be kept: those of them where both numbers are known
	Skipped int               // windows that are not covered, or waived: a gap is told elsewhere
	Stopped time.Time         // where it stopped, because no more windows were allowed; else zero
}

// Reconcile asks the upstream how many items each window of an endpoint has now, and
// compares with what the newest reading of that time had.
func (i *Inspector) Reconcile(ctx context.Context, b EndpointCoverage, q ReconcileQuery) (out Reconciliation, err error) {
	cells, err := q.By.Cells(q.Within)
	if err != nil {
		return out, err
	}
	history, err := i.from.Readings.WindowItems(ctx, b.dataset(), b.Asks.Question, q.Within, mostCounts)
	if err != nil {
		return out, err
	}
	counts, done := ingest.NewCounts(history), coverage.Fates(b.Segments, b.Campaigns)
	for _, cell := range cells {
		if a := coverage.Measure(cell, done); a.Done()-a[coverage.Waiving] < a.Total() {
			out.Skipped++
			continue
		}
		if len(out.Windows) == q.Most {
			out.Stopped = cell.From
			break
		}
		one, err := i.compareCounts(ctx, b, cell, counts, q)
		if err != nil {
			return out, err
		}
		out.Windows = append(out.Windows, one)
		if one.Upstream != nil && one.Read != nil {
			out.Checks = append(out.Checks, view.CountCheck{Reconciled: one, Question: b.Asks.Question, Enough: enoughItems(*one.Upstream, q.Tolerance)})
		}
	}
	return out, nil
}

// compareCounts compares one window. What was not read in slices that add up to it is
// not asked for.
func (i *Inspector) compareCounts(ctx context.Context, b EndpointCoverage, w window.Window, counts ingest.Counts, q ReconcileQuery) (view.Reconciled, error) {
	one := view.Reconciled{Source: b.Source, Endpoint: b.Endpoint, Window: w, Verdict: view.CountsUnknown}
	read, whole := counts.Whole(w)
	if !whole {
		return one, nil
	}
	one.Read = &read
	there, known, err := i.from.Upstream.CountUpstream(ctx, q.With, w)
	switch {
	case ctx.Err() != nil:
		return one, context.Cause(ctx)
	case err != nil && fault.As(err).Level != fault.Transient:
		return one, err
	case err != nil || !known:
		return one, nil
	}
	one.Upstream, one.Verdict = &there, judgeCounts(there, read, q.Tolerance)
	return one, nil
}

// enoughItems returns how many items a reading must have where some percent may be missing.
func enoughItems(upstream int64, tolerance float64) int64 {
	return upstream - int64(math.Floor(float64(upstream)*tolerance/100))
}

// judgeCounts compares; only what is missing here is a finding.
func judgeCounts(upstream, read int64, tolerance float64) view.CountVerdict {
	switch {
	case read < enoughItems(upstream, tolerance):
		return view.CountsShort
	case upstream < read:
		return view.CountsMore
	}
	return view.CountsAgree
}

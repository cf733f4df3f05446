package planner

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// harvest reads what has changed since the watermark, up to the present (W§3.2).
type harvest struct {
	compiled *spec.Compiled
	request  Request
}

var harvestTraits = traits{priority: "HIGH", followsPresent: true}

// ownNamespace returns that of the question the source asks.
func (h harvest) ownNamespace() (ingest.Namespace, error) { return h.compiled.Namespace() }

// readInputs reads what the safety lag of the plan adapts to, where it is measured.
func (h harvest) readInputs(ctx context.Context, from InputReader, own ingest.Namespace, b *Inputs) error {
	if err := h.readBootstrap(ctx, from, b); err != nil || !measuresLate(h.compiled.Snapshot) {
		return err
	}
	seen, err := from.Lateness(ctx, own, h.request.Now.Add(-window.LatenessSpan))
	b.Lateness = &seen
	return err
}

// totalWindow returns the window from the watermark, or the first range below it that is not
// settled, up to the safety lag.
func (h harvest) totalWindow(b Inputs) (window.Total, error) {
	s, r := h.compiled.Snapshot, h.request
	if s.Window.Bootstrap != "" && b.FilesFirst != "" {
		return window.NothingYet(r.Now, b.FilesFirst), nil
	}
	if wait, waits := b.waitsForParents(s, r); waits {
		return wait, nil
	}
	in := window.Inputs{Now: r.Now, Begin: b.Begin, UserFrom: r.From, UserTo: b.until(r.To), Cursor: b.watermarkOrNil(), Waiting: b.waitingWindows(r), Lateness: b.Lateness}
	if in.Cursor != nil {
		lookback := s.Window.Lookback.Std()
		if at, open := coverage.FirstUnsettled(b.Own.Origin, b.Own.Segments, lookback); open {
			in.FirstUnsettled = &at
		}
		if everything := (window.Window{From: b.Own.Origin, To: r.Now}); !everything.Empty() {
			in.Settled = coverage.Settled(b.Own.Segments, everything, lookback)
		}
	}
	if r.Only != nil && r.From != nil && r.To != nil {
		in.Waiting = nil
		in.Settled = append(in.Settled, window.Subtract(window.Window{From: *r.From, To: *r.To}, r.Only)...)
	}
	return window.Harvest(s.Window, in)
}

// planLag returns the lag, and what had been read before: only items there can come late.
func (h harvest) planLag(drawn window.Lag, b Inputs) *ingest.PlanLag {
	lag := &ingest.PlanLag{Declared: drawn.Declared.Std(), SafetyLag: drawn.Value.Std()}
	if measuresLate(h.compiled.Snapshot) {
		lag.Passed = b.passedWindow()
	}
	return lag
}

// cutSlices cuts by time. Slices keep the lag they were planned with.
func (h harvest) cutSlices(d *drawing, _ Inputs) error {
	s := h.compiled.Snapshot
	s.Window.SafetyLag = &d.Lag.Value
	return d.cutTime(s, h.compiled.Prototype.Selection, h.request.Estimates)
}

package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// wholeHarvest reads a list whole, because nothing selects from it by date (snapshot). Its
// window is the time since the list was last known: a reading tells all that is there, so a
// complete one makes everything before it done, failed readings included (D§5.26).
type wholeHarvest struct {
	compiled *spec.Compiled
	request  Request
}

// ownNamespace returns that of the question the source asks.
func (h wholeHarvest) ownNamespace() (ingest.Namespace, error) { return h.compiled.Namespace() }

// readInputs reads nothing more: a reading has no items that come late.
func (h wholeHarvest) readInputs(context.Context, InputReader, ingest.Namespace, *Inputs) error {
	return nil
}

// totalWindow returns the time from the last complete reading to now, as one.
func (h wholeHarvest) totalWindow(b Inputs) (window.Total, error) {
	every := h.compiled.Snapshot.Whole.Every
	if why := b.unread(h.compiled.Snapshot); why != "" {
		return window.NothingYet(h.request.Now, why), nil
	}
	in := window.WholeInputs{Known: b.until(nil), Now: h.request.Now, Every: every.Std(), Cursor: b.watermarkOrNil(), UserFrom: h.request.From, UserTo: h.request.To}
	if h.request.Type != ingest.TriggerManual { // a person who asks for a reading gets one
		in.Due = b.dueWhole(every.Std())
		in.Waiting = len(b.waitingWindows(h.request)) > 0
	}
	total, err := window.Whole(in)
	if err != nil {
		return total, fmt.Errorf("window of a reading: %w", err)
	}
	return total, nil
}

// planLag returns none: a reading follows no dates.
func (h wholeHarvest) planLag(window.Lag, Inputs) *ingest.PlanLag { return nil }

// cutSlices makes the one slice that a reading is.
func (h wholeHarvest) cutSlices(d *drawing, _ Inputs) error {
	return d.cutTime(h.compiled.Snapshot, h.compiled.Prototype.Selection, h.request.Estimates)
}

// dueWhole returns when a list that is known is to be read again; zero: it is not known.
func (b Inputs) dueWhole(every time.Duration) time.Time {
	if at := b.watermarkOrNil(); at != nil && b.Own.Origin.Before(*at) {
		return at.Add(every)
	}
	return time.Time{}
}

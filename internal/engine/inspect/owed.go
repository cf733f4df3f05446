package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Owed looks up what failed of the watermark that a run moves, and when it is tried
// again: no message may promise more than that.
func (i *Inspector) Owed(ctx context.Context, c *spec.Compiled) (out view.Owed, err error) {
	at, err := c.Namespace()
	if err != nil {
		return out, err
	}
	state, _, err := i.from.Coverage.CoverageState(ctx, at)
	if err != nil {
		return out, err
	}
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
	changed, err := i.from.Failed.CauseChanged(ctx, of)
	if err != nil {
		return out, err
	}
	due := false
	for _, s := range state.Segments {
		if s.Done() || s.Fails == 0 {
			continue
		}
		out.Windows = append(out.Windows, s.Window)
		switch {
		case !s.FailedAt().After(changed):
			due = true
		case out.RetryFrom.IsZero() || s.RetryAfter.Before(out.RetryFrom):
			out.RetryFrom = s.RetryAfter
		}
	}
	if due {
		out.RetryFrom = time.Time{}
	}
	marks, err := i.failedAmong(ctx, of, out.Windows)
	out.Capped = cappedOf(marks)
	return out, err
}

// failedAmong lists the tasks that failed in some windows.
func (i *Inspector) failedAmong(ctx context.Context, of ingest.Partition, windows []window.Window) ([]view.Marked, error) {
	if len(windows) == 0 {
		return nil, nil
	}
	failed, err := i.from.Failed.FailedWindows(ctx, of)
	return slices.DeleteFunc(failed, func(m view.Marked) bool { return !slices.ContainsFunc(windows, m.Window.Overlaps) }), err
}

// cappedOf returns the windows that hold more than the upstream serves.
func cappedOf(failed []view.Marked) (out []window.Window) {
	for _, m := range failed {
		if m.Code == string(fault.Capped) {
			out = append(out, m.Window)
		}
	}
	return window.Union(out)
}

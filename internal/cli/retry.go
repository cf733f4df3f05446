package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// owedAgain is what of a watermark failed and is still owed, and when it is tried
// again: no message may promise more than that.
type owedAgain struct {
	known   bool // somebody looked
	windows []window.Window
	from    time.Time       // the first of them; zero: a harvest takes one at once
	capped  []window.Window // hold more than the upstream serves: no retry mends that
}

// findOwed looks up what failed of the watermark of a source.
func findOwed(ctx context.Context, app *daemon.App, c *spec.Compiled) (out owedAgain, err error) {
	at, err := c.Namespace()
	if err != nil {
		return out, err
	}
	book, _, err := app.Store.Book(ctx, at)
	if err != nil {
		return out, err
	}
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
	mended, err := app.Store.Mended(ctx, of)
	if err != nil {
		return out, err
	}
	due := false
	out.known = true
	for _, s := range book.Segments {
		if s.Done() || s.Fails == 0 {
			continue
		}
		out.windows = append(out.windows, s.Window)
		switch {
		case !s.FailedAt().After(mended):
			due = true
		case out.from.IsZero() || s.RetryAfter.Before(out.from):
			out.from = s.RetryAfter
		}
	}
	if due {
		out.from = time.Time{}
	}
	out.capped, err = cappedOf(ctx, app, of, out.windows)
	return out, err
}

// cappedOf are those of some failed windows that hold more than the upstream serves.
func cappedOf(ctx context.Context, app *daemon.App, of ingest.Partition, windows []window.Window) (out []window.Window, err error) {
	if len(windows) == 0 {
		return nil, nil
	}
	failed, err := app.Store.FailedWindows(ctx, of)
	for _, m := range failed {
		if m.Code == string(fault.Capped) && slices.ContainsFunc(windows, m.Window.Overlaps) {
			out = append(out, m.Window)
		}
	}
	return window.Union(out), err
}

// next says what happens to it, and what a person can do.
func (o owedAgain) next(source string) string {
	if len(o.windows) > 0 && len(o.capped) > 0 && allWithin(o.windows, o.capped) {
		return cappedNext(o.capped[0], source)
	}
	text := fmt.Sprintf("the next harvest tries them again, or now: patra harvest %s --retry", source)
	if !o.from.IsZero() {
		text = fmt.Sprintf("a harvest from %s on tries them again; now: patra harvest %s --retry", when(o.from), source)
	}
	if len(o.capped) > 0 {
		text += "; but " + cappedNext(o.capped[0], source)
	}
	return text
}

func allWithin(windows, within []window.Window) bool {
	for _, w := range windows {
		if len(window.Subtract(w, within)) > 0 {
			return false
		}
	}
	return true
}

// cappedNext is the way out of a window that no try can read.
func cappedNext(w window.Window, source string) string {
	return fmt.Sprintf("%s holds more than the upstream serves (CAPPED) and no retry mends that: let the source file cut finer (slicing.minStep, filter.precision), "+
		"or accept it with `patra coverage waive %s --from %s --to %s --reason …`", brief(w), source, moment(w.From), moment(w.To))
}

// readSince is how many failed slices of plans that were taken up again are none by
// now: their windows were read by a later plan, and nothing that failed is owed.
func (s summary) readSince() int {
	if len(s.again.windows) > 0 || len(s.Continued) == 0 || !s.again.known {
		return 0
	}
	return s.Slices[string(ingest.SliceFailed)]
}

func (s summary) readSinceText() string {
	if s.readSince() == 0 {
		return ""
	}
	return "; what failed before was read since"
}

// retryText is when a failed stretch is tried again.
func retryText(s coverage.Segment, mended time.Time) string {
	if s.FailedAt().After(mended) {
		return "retry from " + when(s.RetryAfter)
	}
	return "the next harvest tries it again"
}

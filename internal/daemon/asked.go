package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Asked is a window that somebody names for a harvest, held against its watermark.
type Asked struct {
	From  *time.Time // as the source can have it
	State coverage.State
	// Refused says why no harvest reads it, with the command that does; nil: one does.
	Refused error
}

// HoldAsked holds the window that somebody names for a harvest against its watermark.
// Without an app nothing was read yet.
func HoldAsked(ctx context.Context, a *App, c *spec.Compiled, from, to *time.Time) (out Asked, err error) {
	if a != nil {
		at, err := c.Namespace()
		if err != nil {
			return out, err
		}
		if out.State, _, err = a.Cursors.FindCoverage(ctx, at); err != nil {
			return out, err
		}
	}
	if out.From, err = notBefore(from, c.Snapshot.Window.Earliest); err != nil {
		return out, err
	}
	switch out.State.Fits(out.From, to) {
	case coverage.AskedBelow:
		out.Refused = belowStart(c.Snapshot.Source, out.From, to, out.State)
	case coverage.AskedRead:
		out.Refused = a.readBefore(ctx, c, out.From, *to, out.State)
	}
	return out, nil
}

// notBefore is a start as the source can have it.
func notBefore(from *time.Time, earliest string) (*time.Time, error) {
	if from == nil || earliest == "" {
		return from, nil
	}
	first, err := window.ParseInstant(earliest)
	if err == nil && from.Before(first) {
		return &first, nil
	}
	return from, err
}

func belowStart(source string, from, to *time.Time, state coverage.State) error {
	end := state.Origin
	if to != nil && to.Before(end) {
		end = *to
	}
	begin := "…"
	if from != nil {
		begin = wording.DateOrSecond(*from)
	}
	return fmt.Errorf("the harvest of %s began at %s and never goes back: what lies before that is read by\n  patra backfill %s --from %s --to %s\nWhat is new is read by `patra harvest %s`, without --from",
		source, wording.DateOrSecond(state.Origin), source, begin, wording.DateOrSecond(end), source)
}

// readBefore names the command that reads a window once more.
func (a *App) readBefore(ctx context.Context, c *spec.Compiled, from *time.Time, to time.Time, state coverage.State) error {
	begin := state.Origin
	if from != nil {
		begin = *from
	}
	s := c.Snapshot
	again := fmt.Sprintf("patra update %s --from %s --to %s", s.Source, wording.DateOrSecond(begin), wording.DateOrSecond(to))
	if _, err := a.Compile(ctx, s.Source, s.Endpoint, ingest.Update, nil); err != nil { // the endpoint does not take updates
		again = fmt.Sprintf("patra cursor set ID --to %s --reason …   (`patra cursor list %s` tells the ID; all from there on is read again)", wording.DateOrSecond(begin), s.Source)
	}
	return fmt.Errorf("all of %s up to %s is read: its watermark stands at %s. To read it again:\n  %s\nWhat is new is read by `patra harvest %s`, without --to",
		s.Source, wording.DateOrSecond(to), wording.DateOrSecond(state.Cursor), again, s.Source)
}

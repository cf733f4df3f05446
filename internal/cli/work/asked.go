package work

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// checkAsked refuses a window that no harvest reads, with the command that does, and
// says where a harvest begins if not at --from.
func checkAsked(ctx context.Context, e *term.Env, app *daemon.App, c *spec.Compiled, p Parsed, d *daemon.PlanDraft) error {
	if c.Snapshot.Operation != ingest.Harvest || p.from == nil && p.to == nil {
		return nil
	}
	var state coverage.State
	if app != nil {
		at, err := c.Namespace()
		if err != nil {
			return err
		}
		if state, _, err = app.Cursors.FindCoverage(ctx, at); err != nil {
			return err
		}
	}
	from, err := notBefore(p.from, c.Snapshot.Window.Earliest)
	if err != nil {
		return err
	}
	switch state.Fits(from, p.to) {
	case coverage.AskedBelow:
		return term.Usage(belowStart(c.Snapshot.Source, from, p.to, state))
	case coverage.AskedRead:
		return term.Usage(readBefore(ctx, e, app, c, from, *p.to, state))
	}
	hintBegin(e, c.Snapshot.Source, p, from, state, d)
	return nil
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
func readBefore(ctx context.Context, e *term.Env, app *daemon.App, c *spec.Compiled, from *time.Time, to time.Time, state coverage.State) error {
	begin := state.Origin
	if from != nil {
		begin = *from
	}
	s := c.Snapshot
	again := fmt.Sprintf("patra update %s --from %s --to %s", s.Source, wording.DateOrSecond(begin), wording.DateOrSecond(to))
	if _, err := app.Compile(ctx, s.Source, s.Endpoint, ingest.Update, nil); err != nil { // the endpoint does not take updates
		again = fmt.Sprintf("patra cursor set ID --to %s --reason …   (`patra cursor list %s` tells the ID; all from there on is read again)", wording.DateOrSecond(begin), s.Source)
	}
	return fmt.Errorf("all of %s up to %s is read: its watermark stands at %s. To read it again:\n  %s\nWhat is new is read by `patra harvest %s`, without --to",
		s.Source, wording.DateOrSecond(to), wording.DateOrSecond(state.Cursor), again, s.Source)
}

// hintBegin is one line for whoever names a start that a harvest does not take.
func hintBegin(e *term.Env, source string, p Parsed, from *time.Time, state coverage.State, d *daemon.PlanDraft) {
	switch {
	case p.from == nil:
	case from.After(*p.from):
		e.Hint("the window begins at %s, not at --from: %s has nothing before it", wording.DateOrSecond(*from), source)
	case d.Window != nil && d.Window.From.After(*p.from), d.Empty && from.Before(state.Cursor):
		e.Hint("--from %s lies in what is read already, up to the watermark %s: the harvest goes on there, and needs no --from. To read it again: patra update %s --from %s --to %s",
			wording.DateOrSecond(*p.from), wording.DateOrSecond(state.Cursor), source, wording.DateOrSecond(*p.from), wording.DateOrSecond(state.Cursor))
	}
}

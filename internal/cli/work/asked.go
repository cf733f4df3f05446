package work

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// checkAsked refuses a window that no harvest reads, with the command that does, and
// says where a harvest begins if not at --from.
func checkAsked(ctx context.Context, e *term.Env, app *daemon.App, c *spec.Compiled, p Parsed, d *daemon.PlanDraft) error {
	if c.Snapshot.Operation != ingest.Harvest || p.from == nil && p.to == nil {
		return nil
	}
	asked, err := daemon.HoldAsked(ctx, app, c, p.from, p.to)
	if err != nil {
		return err
	}
	if asked.Refused != nil {
		return term.Usage(asked.Refused)
	}
	hintBegin(e, c.Snapshot.Source, p, asked.From, asked.State, d)
	return nil
}

// hintBegin is one line for whoever names a start that a harvest does not take.
func hintBegin(e *term.Env, source string, p Parsed, from *time.Time, state coverage.State, d *daemon.PlanDraft) {
	switch {
	case p.from == nil:
	case from.After(*p.from):
		e.Hint("the window begins at %s, not at --from: %s has nothing before it", wording.DateOrSecond(*from), source)
	case d.Window != nil && d.Window.From.After(*p.from), d.Empty && from.Before(state.Cursor):
		e.Hint("--from %s is read already, up to the watermark %s: the harvest continues there, and needs no --from. To read it again: patra update %s --from %s --to %s",
			wording.DateOrSecond(*p.from), wording.DateOrSecond(state.Cursor), source, wording.DateOrSecond(*p.from), wording.DateOrSecond(state.Cursor))
	}
}

package source

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// previewApply tells what applying would do, without writing.
func previewApply(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions, beside []*registry.Source) (Applied, error) {
	row, err := daemon.PreviewSource(ctx, app, src, o, beside...)
	var past inspect.PastError
	var problems registry.Problems
	switch {
	case errors.As(err, &past):
		err = term.Usagef("--effective-from %s lies in the past (now is %s): what was in force then cannot be changed; leave it out, or name a later instant", window.Text(past.From), window.Text(past.Now))
	case errors.As(err, &problems):
		err = subject.ProblemsError(problems)
	}
	return newApplied(row), err
}

// newApplied is what became of a file, as it is shown.
func newApplied(a view.SourceApplied) Applied {
	return Applied{Rows: a.Rows, Outcome: string(a.Outcome), From: a.From, Until: a.Until, Superseded: a.Superseded, replaces: a.Replaces, waits: a.Waits}
}

// afterApply says what follows from a change.
func afterApply(e *term.Env, rows []Applied) {
	for _, r := range rows {
		hintShared(e, r)
		hintSchedule(e, r)
		if r.Outcome != OutcomeApplied && r.Outcome != OutcomeScheduled {
			continue
		}
		e.Hint("%s: plans that exist keep their settings, except the rate, which every task reads when it begins; plans made from %s on use the new ones. If the requests of an older plan failed, the next harvest cancels it and plans again what it left: patra harvest %s", r.Source, window.Text(r.From), r.Source)
		if r.replaces {
			e.Hint("to see it as it was before: patra source export %s --at %s", r.Source, window.Text(r.From.Add(-time.Microsecond)))
		}
	}
}

// hintSchedule says what becomes of versions that are scheduled.
func hintSchedule(e *term.Env, r Applied) {
	if r.Outcome == OutcomeUnchanged && r.waits {
		e.Hint("%s: already scheduled from %s; nothing changed", r.Source, window.Text(r.From))
	}
	if r.Superseded > 0 && r.Outcome != OutcomePending {
		e.Hint("%s: %s that had been scheduled will not begin", r.Source, wording.Count(r.Superseded, "version"))
	}
	if !r.Until.IsZero() {
		e.Hint("%s: the version scheduled from %s stays and holds from then on; --cancel-scheduled takes it back", r.Source, window.Text(r.Until))
	}
}

package cli

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// lineOf reads the versions of a source. Where there is no database there are none.
func lineOf(ctx context.Context, app *daemon.App, code string) (inspect.VersionLine, error) {
	if app == nil {
		return inspect.VersionLine{Now: window.Instant(time.Now())}, nil
	}
	return app.Inspect.VersionLine(ctx, code)
}

// pending tells what applying would do, without writing.
func pending(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (applied, error) {
	if err := knownCodes(ctx, app, src); err != nil {
		return applied{}, err
	}
	if err := ownGroups(ctx, app, src); err != nil {
		return applied{}, err
	}
	row, err := askPending(ctx, app, src, o)
	var past inspect.PastError
	if errors.As(err, &past) {
		err = usagef("--effective-from %s lies in the past (now is %s): what was in force then cannot be changed; leave it out, or name a later instant", window.Text(past.From), window.Text(past.Now))
	}
	return newApplied(row), err
}

// askPending asks the database, or does without where there is none yet.
func askPending(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (view.SourceApplied, error) {
	if app != nil {
		return app.Inspect.Pending(ctx, src, o)
	}
	line, err := lineOf(ctx, nil, src.Code)
	if err != nil {
		return view.SourceApplied{}, err
	}
	return line.Pending(nil, src, o)
}

// newApplied is what became of a file, as it is shown.
func newApplied(a view.SourceApplied) applied {
	return applied{Rows: a.Rows, Outcome: string(a.Outcome), From: a.From, Until: a.Until, Superseded: a.Superseded, replaces: a.Replaces, waits: a.Waits}
}

// afterApply says what follows from a change.
func (e *env) afterApply(rows []applied) {
	for _, r := range rows {
		e.hintShared(r)
		e.hintSchedule(r)
		if r.Outcome != outcomeApplied && r.Outcome != outcomeScheduled {
			continue
		}
		e.hint("%s: plans that exist keep their settings, except the rate, which every task reads when it begins; plans made from %s on use the new ones, and the next harvest gives up one that got nowhere with the old ones", r.Source, window.Text(r.From))
		if r.replaces {
			e.hint("as it was before: patra source export %s --at %s", r.Source, window.Text(r.From.Add(-time.Microsecond)))
		}
	}
}

// hintSchedule says what becomes of versions that are scheduled.
func (e *env) hintSchedule(r applied) {
	if r.Outcome == outcomeUnchanged && r.waits {
		e.hint("%s: already scheduled from %s; nothing changed", r.Source, window.Text(r.From))
	}
	if r.Superseded > 0 && r.Outcome != outcomePending {
		e.hint("%s: %s that had been scheduled will not begin", r.Source, counted(r.Superseded, "version"))
	}
	if !r.Until.IsZero() {
		e.hint("%s: the version scheduled from %s stays and holds from then on; --cancel-scheduled takes it back", r.Source, window.Text(r.Until))
	}
}

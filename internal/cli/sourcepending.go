package cli

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// versionLine is the versions of a source that count: those that never begin are
// left out.
type versionLine struct {
	begins []time.Time // in order
	now    time.Time   // of the store
}

func lineOf(ctx context.Context, app *daemon.App, code string) (line versionLine, err error) {
	if app == nil {
		line.now = window.Instant(time.Now())
		return line, nil
	}
	versions, now, err := versionsOf(ctx, app, code)
	line.now = now
	for _, v := range versions {
		if !v.Superseded {
			line.begins = append(line.begins, v.From)
		}
	}
	return line, err
}

// since is when the version began that is in force at an instant.
func (l versionLine) since(at time.Time) time.Time {
	for _, begin := range slices.Backward(l.begins) {
		if !begin.After(at) {
			return begin
		}
	}
	return time.Time{}
}

// after lists the versions that begin after an instant.
func (l versionLine) after(at time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(l.begins), func(begin time.Time) bool { return !begin.After(at) })
}

func (l versionLine) scheduled() []time.Time { return l.after(l.now) }

// setTimes tells how long a file holds that was applied.
func (a *applied) setTimes(line versionLine) {
	a.waits = a.From.After(line.now)
	if later := line.after(a.From); len(later) > 0 {
		a.Until = later[0]
	}
}

// pending tells what applying would do, without writing. Rows are counted
// against the version that would end; those of scheduled versions that never
// begin are not among them.
func pending(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (applied, error) {
	if err := knownCodes(ctx, app, src); err != nil {
		return applied{}, err
	}
	if err := ownGroups(ctx, app, src); err != nil {
		return applied{}, err
	}
	line, err := lineOf(ctx, app, src.Code)
	if err != nil {
		return applied{}, err
	}
	row := applied{Outcome: outcomePending, From: o.From}
	if o.From.IsZero() {
		row.From = line.now
	}
	var stored *registry.Source
	if len(line.begins) > 0 {
		if stored, _, err = app.Store.LoadSourceAt(ctx, src.Code, row.From); err != nil {
			return row, err
		}
	}
	isSame := stored != nil && len(registry.Diff(stored, src)) == 0
	row.setTimes(line)
	row.supersede(line, o.CancelScheduled, isSame)
	isPast := row.From.Before(line.now)
	if isSame && row.Superseded == 0 && !(isPast && !line.since(line.now).Equal(line.since(row.From))) {
		row.Outcome, row.From = outcomeUnchanged, line.since(row.From)
		row.setTimes(line)
		return row, nil
	}
	if isPast {
		return row, usagef("--effective-from %s lies in the past (now is %s): what was in force then cannot be changed; leave it out, or name a later instant", window.Text(row.From), window.Text(line.now))
	}
	row.Rows, row.replaces = rowsBetween(stored, src), stored != nil && !isSame
	return row, nil
}

// supersede counts the scheduled versions that would never begin: the one whose
// place the file takes, and later ones if they are to be cancelled.
func (a *applied) supersede(line versionLine, cancel, isSame bool) {
	for _, begin := range line.scheduled() {
		if begin.Equal(a.From) && !isSame || cancel && begin.After(a.From) {
			a.Superseded++
		}
	}
	if cancel {
		a.Until = time.Time{}
	}
}

func rowsBetween(stored, src *registry.Source) int {
	wanted := registry.Rows(src)
	if stored == nil {
		return len(wanted)
	}
	held := registry.Rows(stored)
	return absent(wanted, held) + absent(held, wanted)
}

// absent counts rows of one list that the other does not have.
func absent(rows, other []registry.Row) int {
	n := 0
	for _, row := range rows {
		if !slices.ContainsFunc(other, func(o registry.Row) bool { return reflect.DeepEqual(o, row) }) {
			n++
		}
	}
	return n
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

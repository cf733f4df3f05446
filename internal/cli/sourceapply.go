package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// applied is what became of one file.
type applied struct {
	Source     string    `json:"source"`
	File       string    `json:"file"`
	Rows       int       `json:"rowsChanged"`
	Outcome    string    `json:"outcome"`
	From       time.Time `json:"from,omitzero"` // since when the source is as the file says
	Superseded int       `json:"superseded"`    // scheduled versions that now never begin

	replaces bool // another version ends
}

// Outcomes of applying a file.
const (
	outcomeApplied   = "applied"
	outcomeUnchanged = "unchanged"
	outcomeScheduled = "scheduled"
	outcomePending   = "pending" // with --dry-run
)

// applying are the flags of apply.
type applying struct {
	from, reason, actor string
	dry                 bool
}

func newSourceApply(e *env) *cobra.Command {
	var a applying
	c := &cobra.Command{
		Use:   "apply FILE…",
		Short: "Write source files into the database",
		Long: `Check all files, then write them into the registry of the database. If one file
has a problem, none is written. Rows that changed are closed and opened anew from
now on, or from --effective-from on; the same file twice changes nothing. A change
replaces those that were scheduled for later. Plans that exist keep the settings
they were made with.`,
		Example: `  patra source apply crossref.yaml --dry-run
  patra source apply crossref.yaml --reason "polite pool"
  patra source apply crossref.yaml --effective-from 2030-01-01T00:00:00Z`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, problems := checkFiles(args)
			if err := refuse(problems); err != nil {
				return err
			}
			options, err := a.options(time.Now())
			if err != nil {
				return err
			}
			rows, err := e.apply(cmd.Context(), files, options, a.dry)
			if len(rows) > 0 || err == nil {
				err = errors.Join(list(e, rows, appliedColumns()), err)
			}
			e.afterApply(rows)
			return err
		},
	}
	c.Flags().StringVar(&a.from, "effective-from", "", "when the files begin to hold: RFC 3339 or a date, not in the past (default now)")
	c.Flags().StringVar(&a.reason, "reason", "", "why; kept in the history")
	c.Flags().StringVar(&a.actor, "actor", "", "who; kept in the history (default: the user of this system)")
	c.Flags().BoolVar(&a.dry, "dry-run", false, "show what would change and write nothing")
	return c
}

func (a applying) options(now time.Time) (registry.ApplyOptions, error) {
	o := registry.ApplyOptions{Actor: cmp.Or(a.actor, systemUser()), Reason: a.reason}
	at, err := parseTime("effective-from", a.from, now)
	if at != nil {
		o.From = *at
	}
	return o, err
}

func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "cli"
}

func appliedColumns() columns[applied] {
	return columns[applied]{[]string{"source", "rows", "outcome", "since", "superseded", "file"}, func(a applied) []any {
		return []any{a.Source, a.Rows, a.Outcome, a.From, a.Superseded, a.File}
	}}
}

func (e *env) apply(ctx context.Context, files []checked, o registry.ApplyOptions, dry bool) (done []applied, err error) {
	// Whatever would be refused is refused before a database is made.
	err = e.registry(ctx, func(app *daemon.App) error {
		done, err = applyEach(files, func(src *registry.Source) (applied, error) { return pending(ctx, app, src, o.From) })
		return err
	})
	switch {
	case dry:
		return done, err
	case err != nil:
		return nil, err
	}
	app, err := e.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer app.Close()
	expected := done
	done, err = applyEach(files, func(src *registry.Source) (applied, error) { return applyOne(ctx, app, src, o) })
	for i := range done {
		done[i].replaces = expected[i].replaces
	}
	return done, err
}

// applyEach tells what was done also when a later file fails.
func applyEach(files []checked, apply func(*registry.Source) (applied, error)) (done []applied, err error) {
	for _, f := range files {
		row, err := apply(f.src)
		if err != nil {
			return done, fmt.Errorf("%s: %w", f.File, err)
		}
		row.Source, row.File = f.Source, f.File
		done = append(done, row)
	}
	return done, nil
}

func applyOne(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (applied, error) {
	did, err := app.Store.ApplySource(ctx, src, o)
	if err != nil {
		return applied{}, err
	}
	row := applied{Rows: did.Rows, Outcome: outcomeApplied, From: did.From, Superseded: did.Superseded}
	now, err := app.Store.Now(ctx)
	switch {
	case err != nil:
	case did.Rows == 0 && did.Superseded == 0:
		row.Outcome = outcomeUnchanged
		row.From, err = since(ctx, app, src.Code, did.From)
	case did.From.After(now):
		row.Outcome = outcomeScheduled
	}
	return row, err
}

// since is when the version began that is in force at an instant.
func since(ctx context.Context, app *daemon.App, code string, at time.Time) (time.Time, error) {
	versions, _, err := versionsOf(ctx, app, code)
	for _, v := range slices.Backward(versions) {
		if !v.Superseded && !v.From.After(at) {
			return v.From, err
		}
	}
	return time.Time{}, err
}

// knownCodes refuses codes that the dictionary of the database has switched off:
// no plan could be made of them.
func knownCodes(ctx context.Context, app *daemon.App, src *registry.Source) error {
	if app == nil {
		return nil
	}
	codes, err := app.Store.Dictionary(ctx)
	if err != nil || len(codes) == 0 {
		return err
	}
	return refuse(src.UnknownCodes(codes))
}

// pending tells what applying would do, without writing. Rows are counted
// against the version that would end; those of scheduled versions that never
// begin are not among them.
func pending(ctx context.Context, app *daemon.App, src *registry.Source, from time.Time) (applied, error) {
	if err := knownCodes(ctx, app, src); err != nil {
		return applied{}, err
	}
	versions, now, err := versionsOf(ctx, app, src.Code)
	if err != nil {
		return applied{}, err
	}
	if app == nil {
		now = window.Instant(time.Now())
	}
	begin := from
	if from.IsZero() {
		begin = now
	}
	row := applied{Outcome: outcomePending, From: begin}
	for _, v := range versions {
		if !v.Superseded && v.From.After(now) && !v.From.Before(begin) {
			row.Superseded++
		}
	}
	var stored *registry.Source
	if len(versions) > 0 {
		if stored, _, err = app.Store.LoadSourceAt(ctx, src.Code, begin); err != nil {
			return row, err
		}
	}
	if stored != nil && len(registry.Diff(stored, src)) == 0 && row.Superseded == 0 {
		row.Outcome = outcomeUnchanged
		row.From, err = since(ctx, app, src.Code, begin)
		return row, err
	}
	if begin.Before(now) {
		return row, usagef("--effective-from %s lies in the past (now is %s): what was in force then cannot be changed; leave it out, or name a later instant", window.Text(begin), window.Text(now))
	}
	row.Rows, row.replaces = rowsBetween(stored, src), stored != nil
	return row, nil
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
		if r.Outcome != outcomeApplied && r.Outcome != outcomeScheduled {
			continue
		}
		e.hint("%s: plans that exist keep their settings; plans made from %s on use the new ones", r.Source, window.Text(r.From))
		if r.Superseded > 0 {
			e.hint("%s: %s that was scheduled will not begin", r.Source, plural(r.Superseded, "version"))
		}
		if r.replaces {
			e.hint("as it was before: patra source export %s --at %s", r.Source, window.Text(r.From.Add(-time.Microsecond)))
		}
	}
}

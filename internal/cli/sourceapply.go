package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// applied is what became of one file.
type applied struct {
	Source     string    `json:"source"`
	File       string    `json:"file"`
	Rows       int       `json:"rowsChanged"`
	Outcome    string    `json:"outcome"`
	From       time.Time `json:"from,omitzero"`  // since when the source is as the file says
	Until      time.Time `json:"until,omitzero"` // when a version that was scheduled before takes over
	Superseded int       `json:"superseded"`     // scheduled versions that now never begin
	Warnings   []warned  `json:"warnings"`
	// SharesRate are the sources that share a rate with this one.
	SharesRate []view.SharedRate `json:"sharesRate,omitempty"`

	replaces bool // another version ends
	waits    bool // it begins later
}

// Outcomes of applying a file.
const (
	outcomeApplied   = string(view.Applied)
	outcomeUnchanged = string(view.Unchanged)
	outcomeScheduled = string(view.Scheduled)
	outcomePending   = string(view.Pending) // with --dry-run
)

// applying are the flags of apply.
type applying struct {
	from, reason, actor string
	dry, cancel, trust  bool
}

func newSourceApply(e *env) *cobra.Command {
	var a applying
	c := &cobra.Command{
		Use:   "apply FILE…",
		Short: "Write source files into the database",
		Long: `Check all files, then write them into the registry of the database. If one file
has a problem, none is written. Rows that changed are closed and opened anew from
now on, or from --effective-from on. Plans that exist keep the settings they were
made with, the rate section apart: tasks read it when they begin, and what waits for
a quota or for hours that have changed is tried again. A plan that gets nowhere with
the settings before is given up by the next harvest, and planned anew.

A file that says what is in force already changes nothing, however often it is
applied. Versions that are scheduled for later stay, and each holds from its date
on as a whole: what is applied before that date ends there. --cancel-scheduled
takes them back, also with a file that changes nothing else. Only a version
scheduled for the very instant of --effective-from is replaced without it.

Applying runs, reads and sends nothing. What a source wants of this machine is
warned of (W-EXEC, W-SECRET-FILE, W-SECRET-HOST); it is not harvested before somebody
agreed to that: on a terminal you are asked, --trust answers yes, and patra source
trust does it later.`,
		Example: `  patra source apply crossref.yaml --dry-run
  patra source apply crossref.yaml --reason "polite pool"
  patra source apply mine.yaml --trust --reason ours
  patra source apply crossref.yaml --effective-from 2030-01-01T00:00:00Z
  patra source apply crossref.yaml --cancel-scheduled --reason "not in 2030 after all"`,
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
			for _, f := range files {
				e.warnOf(f)
			}
			rows, err := e.apply(cmd.Context(), files, options, a.dry)
			if len(rows) > 0 || err == nil {
				err = errors.Join(list(e, rows, appliedColumns()), err)
			}
			e.afterApply(rows)
			if err != nil || a.dry {
				return err
			}
			return e.trustApplied(cmd.Context(), files, a)
		},
	}
	c.Flags().StringVar(&a.from, "effective-from", "", "when the files begin to hold: RFC 3339 or a date, not in the past (default now)")
	c.Flags().StringVar(&a.reason, "reason", "", "why; kept in the history")
	c.Flags().StringVar(&a.actor, "actor", "", "who; kept in the history (default: the user of this system)")
	c.Flags().BoolVar(&a.cancel, "cancel-scheduled", false, "take back the versions that are scheduled for later")
	c.Flags().BoolVar(&a.trust, "trust", false, "agree to what the files want of this machine, as patra source trust does")
	c.Flags().BoolVar(&a.dry, "dry-run", false, "show what would change and write nothing")
	return c
}

func (a applying) options(now time.Time) (registry.ApplyOptions, error) {
	o := registry.ApplyOptions{Actor: cmp.Or(a.actor, systemUser()), Reason: a.reason, CancelScheduled: a.cancel}
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
	return newColumns([]string{"source", "rows", "outcome", "since", "superseded", "file"}, func(a applied) []any {
		return []any{a.Source, a.Rows, a.Outcome, a.From, a.Superseded, a.File}
	})
}

func (e *env) apply(ctx context.Context, files []checked, o registry.ApplyOptions, dry bool) (done []applied, err error) {
	// Whatever would be refused is refused before a database is made.
	err = e.registry(ctx, func(app *daemon.App) error {
		done, err = applyEach(files, func(src *registry.Source) (applied, error) { return pending(ctx, app, src, o) })
		if err == nil && dry {
			err = nameShared(ctx, app, files, done)
		}
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
	if err == nil {
		err = nameShared(ctx, app, files, done)
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
		row.Source, row.File, row.Warnings = f.Source, f.File, f.Warnings
		done = append(done, row)
	}
	return done, nil
}

func applyOne(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (applied, error) {
	did, err := app.Definitions.Apply(ctx, src, o)
	if err != nil {
		return applied{}, err
	}
	line, err := lineOf(ctx, app, src.Code)
	if err != nil {
		return applied{}, err
	}
	return newApplied(line.Outcome(did)), nil
}

// knownCodes refuses codes that the dictionary of the database has switched off:
// no plan could be made of them.
func knownCodes(ctx context.Context, app *daemon.App, src *registry.Source) error {
	if app == nil {
		return nil
	}
	codes, err := app.Definitions.ListCodes(ctx)
	if err != nil || len(codes) == 0 {
		return err
	}
	return refuse(src.UnknownCodes(codes))
}

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// trustApplied agrees to what applied files want, if that was said, or asks. A file
// that is applied runs nothing, so without an answer it only says what is missing.
func trustApplied(ctx context.Context, e *term.Env, files []view.CheckedFile, a applying) error {
	return e.WithRecordedConsent(ctx, func(g *daemon.Guard) error {
		for _, f := range files {
			refused, err := g.Refused(ctx, daemon.Uses(f.Parsed))
			if err != nil {
				return err
			}
			if len(refused) == 0 {
				continue
			}
			stopped := &trust.Stopped{What: "source " + f.Source, Command: "patra source trust " + f.Source, Refused: refused}
			by := ingest.Act{Actor: cmp.Or(a.actor, term.SystemUser()), Reason: a.reason}
			if err := consent.Settle(ctx, e, g, stopped, by, a.trust); err != nil {
				return err
			}
		}
		return nil
	})
}

// Applied is what became of one file.
type Applied struct {
	Source     string             `json:"source"`
	File       string             `json:"file"`
	Rows       int                `json:"rowsChanged"`
	Outcome    string             `json:"outcome"`
	From       time.Time          `json:"from,omitzero"`  // since when the source is as the file says
	Until      time.Time          `json:"until,omitzero"` // when a version that was scheduled before takes over
	Superseded int                `json:"superseded"`     // scheduled versions that now never begin
	Warnings   []view.FileWarning `json:"warnings"`
	// SharesRate are the sources that share a rate with this one.
	SharesRate []view.SharedRate `json:"sharesRate,omitempty"`

	replaces bool // another version ends
	waits    bool // it begins later
}

// Outcomes of applying a file.
const (
	OutcomeApplied   = string(view.Applied)
	OutcomeUnchanged = string(view.Unchanged)
	OutcomeScheduled = string(view.Scheduled)
	OutcomePending   = string(view.Pending) // with --dry-run
)

// applying are the flags of apply.
type applying struct {
	from, reason, actor string
	dry, cancel, trust  bool
}

func newSourceApply(e *term.Env) *cobra.Command {
	var a applying
	c := &cobra.Command{
		Use:   "apply FILE…",
		Short: "Write source files into the database",
		Long: `Check all files, then write them into the registry of the database. If one file
has a problem, none is written. The new settings hold from now on, or from
--effective-from on. Existing plans keep the settings they were made with, except the
rate section: tasks read it when they begin, and if a quota or the hours changed,
work that waits for them is tried again. If the requests of a plan fail with the old
settings, the next harvest cancels it and plans again what it left.

Applying a file that matches what is already in force changes nothing, however often
you do it. Versions scheduled for later are kept. Each of them replaces the whole
definition on its date, so what you apply now holds only until then.
--cancel-scheduled cancels them, even if the file changes nothing else. Without it,
the only scheduled version that is replaced is one for exactly the instant of
--effective-from.

If partitions take their values from a file (valuesFile), these are stored as they
are now: apply the source again when that file changes. Applying runs no command,
reads no other file and sends no request.

A warning names what a source wants of this machine (W-EXEC, W-SECRET-FILE,
W-SECRET-HOST, W-RECORDS-HOST). The source is not harvested before a person agrees to
that: on a terminal you are asked, --trust answers yes, and patra source trust does
it later. If the partitions of a source are records of
another source, that source must be applied first, or together with it.`,
		Example: `  patra source apply crossref.yaml --dry-run
  patra source apply crossref.yaml --reason "polite pool"
  patra source apply mine.yaml --trust --reason ours
  patra source apply crossref.yaml --effective-from 2030-01-01T00:00:00Z
  patra source apply crossref.yaml --cancel-scheduled --reason "not in 2030 after all"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, problems := subject.CheckFiles(args)
			if err := subject.ProblemsError(problems); err != nil {
				return err
			}
			options, err := a.parseOptions(time.Now())
			if err != nil {
				return err
			}
			for _, f := range files {
				subject.WarnOfFile(e, f)
			}
			rows, err := applyFiles(cmd.Context(), e, files, options, a.dry)
			if len(rows) > 0 || err == nil {
				err = errors.Join(term.PrintList(e, rows, appliedColumns()), err)
			}
			afterApply(e, rows)
			if err != nil || a.dry {
				return err
			}
			return trustApplied(cmd.Context(), e, files, a)
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

func (a applying) parseOptions(now time.Time) (registry.ApplyOptions, error) {
	o := registry.ApplyOptions{Actor: cmp.Or(a.actor, term.SystemUser()), Reason: a.reason, CancelScheduled: a.cancel}
	at, err := term.ParseTime("effective-from", a.from, now)
	if at != nil {
		o.From = *at
	}
	return o, err
}

func appliedColumns() term.Columns[Applied] {
	return term.NewColumns([]string{"source", "rows", "outcome", "since", "superseded", "file"}, func(a Applied) []any {
		return []any{a.Source, a.Rows, a.Outcome, a.From, a.Superseded, a.File}
	})
}

func applyFiles(ctx context.Context, e *term.Env, files []view.CheckedFile, o registry.ApplyOptions, dry bool) (done []Applied, err error) {
	var all []*registry.Source
	for _, f := range files {
		all = append(all, f.Parsed)
	}
	// Whatever would be refused is refused before a database is made.
	err = e.ReadRegistry(ctx, func(app *daemon.App) error {
		done, err = applyEach(files, func(src *registry.Source) (Applied, error) { return previewApply(ctx, app, src, o, all) })
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
	app, err := e.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer app.Close()
	expected := done
	done, err = applyEach(files, func(src *registry.Source) (Applied, error) { return applyOne(ctx, app, src, o) })
	for i := range done {
		done[i].replaces = expected[i].replaces
	}
	if err == nil {
		err = nameShared(ctx, app, files, done)
	}
	return done, err
}

// applyEach tells what was done also when a later file fails.
func applyEach(files []view.CheckedFile, apply func(*registry.Source) (Applied, error)) (done []Applied, err error) {
	for _, f := range files {
		row, err := apply(f.Parsed)
		if err != nil {
			return done, fmt.Errorf("%s: %w", f.File, err)
		}
		row.Source, row.File, row.Warnings = f.Source, f.File, f.Warnings
		done = append(done, row)
	}
	return done, nil
}

func applyOne(ctx context.Context, app *daemon.App, src *registry.Source, o registry.ApplyOptions) (Applied, error) {
	row, err := app.ApplySource(ctx, src, o)
	if err != nil {
		return Applied{}, err
	}
	return newApplied(row), nil
}

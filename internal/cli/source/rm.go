package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Removed is what removing a source takes away and what it leaves.
type Removed struct {
	Source     string      `json:"source"`
	At         time.Time   `json:"at,omitzero"`
	Rows       int         `json:"rowsEnded"`
	Superseded int         `json:"scheduledVersionsDropped"`
	Bundled    bool        `json:"bundledCountsAgain"`
	NeededBy   []string    `json:"neededBy,omitempty"` // sources whose parts are its records
	Kept       view.Counts `json:"kept"`
	DryRun     bool        `json:"dryRun"`
}

func newSourceRemove(e *term.Env) *cobra.Command {
	var a term.Confirming
	var keep bool
	c := &cobra.Command{
		Use:   "rm SRC",
		Short: "Take the definition of a source out of the database",
		Long: `End the definition of an applied source. From then on nothing is planned, scheduled
or harvested under its name, and versions scheduled for later never begin. If a
source of that name comes with the program, that one counts again.

What was harvested stays: records, versions and rejected items, undelivered events,
watermarks and coverage, plans and runs, the history of the definition, the audit
log. patra data still reads and exports the records. Applying a file of the same
name later continues from the old watermark, if it asks for the same.

It is refused while tasks wait or run, or a backfill is not over. It is also refused
if there are records, which would stay without a definition: add --keep-records to
remove the definition all the same.`,
		Example: `  patra source rm mine --dry-run
  patra source rm mine --reason replaced
  patra source rm mine --keep-records --reason over --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.CheckReason(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				do := func(dry bool) (Removed, error) {
					by := a.Act()
					by.Rehearsal = dry
					return removeSource(cmd.Context(), app, args[0], by, keep || a.Dry)
				}
				return term.RehearseAndDo(e, a, do, func(r Removed) bool { return r.Rows > 0 }, func(r Removed) error { return showRemoved(e, r) })
			})
		},
	}
	a.Flags(c)
	c.Flags().BoolVar(&keep, "keep-records", false, "the records of the source stay, without a definition")
	return c
}

func removeSource(ctx context.Context, app *daemon.App, code string, by ingest.Act, keep bool) (Removed, error) {
	r := Removed{Source: code, Bundled: slices.Contains(catalog.List(), code), DryRun: by.Rehearsal}
	versions, err := app.Definitions.ListVersions(ctx, code)
	if err != nil {
		return r, err
	}
	if isOver(versions) {
		return r, notApplied(ctx, app, code)
	}
	if r.NeededBy, err = app.TakersOf(ctx, code); err != nil {
		return r, err
	}
	if r.Kept, err = app.Records.CountTotals(ctx, code); err != nil {
		return r, err
	}
	if r.Kept.Records > 0 && !keep {
		return r, fmt.Errorf("%w: source %s was not removed: %s of it would stay without a definition; add --keep-records to remove it all the same; --dry-run shows all that stays",
			fault.ErrConflict, code, wording.Count(int(r.Kept.Records), "record"))
	}
	done, err := app.Definitions.Remove(ctx, code, by)
	r.At, r.Rows, r.Superseded = done.At, done.Rows, done.Superseded
	return r, err
}

// isOver reports that no version of a source is in force or begins later.
func isOver(versions []registry.SourceVersion) bool {
	return !slices.ContainsFunc(versions, func(v registry.SourceVersion) bool { return !v.Superseded && v.To.IsZero() })
}

// notApplied says why there is nothing to remove.
func notApplied(ctx context.Context, app *daemon.App, code string) error {
	if _, _, err := app.Source(ctx, code); err != nil {
		return err
	}
	return fmt.Errorf("%w: source %s comes with the program and was not applied to this database, so there is nothing to remove; `patra source pause %s` keeps it from being harvested",
		fault.ErrConflict, code, code)
}

func showRemoved(e *term.Env, r Removed) error {
	then := "nothing is planned, scheduled or harvested under this name"
	if r.Bundled {
		then = "the " + r.Source + " that comes with the program counts again"
	}
	facts := []term.Fact{{"removes", fmt.Sprintf("the definition of %s: %s of settings", r.Source, wording.Count(r.Rows, "row"))}}
	if r.Superseded > 0 {
		facts = append(facts, term.Fact{"never begins", wording.Count(r.Superseded, "scheduled version")})
	}
	if len(r.NeededBy) > 0 {
		facts = append(facts, term.Fact{"stops", "the harvests of " + strings.Join(r.NeededBy, ", ") + ", whose partitions come from its records"})
	}
	err := term.PrintFacts(e, r, append(facts, []term.Fact{
		{"then", then},
		{"stays", term.Wrap(fmt.Sprintf("%s (%d of them gone upstream), %s, %s; watermarks and coverage, plans and runs, the history of the definition, the audit log",
			wording.Count(int(r.Kept.Records+r.Kept.Gone), "record"), r.Kept.Gone, wording.Count(int(r.Kept.Quarantined), "rejected item"), wording.Count(int(r.Kept.Outbox), "event")))},
		{"lost", "nothing that was stored"},
	}...))
	if !r.At.IsZero() {
		e.Hint("to have it back: patra source export %s --at %s > %s.yaml, patra source apply %s.yaml", r.Source, window.Text(r.At.Add(-time.Microsecond)), r.Source, r.Source)
	}
	return err
}

package coverage

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCoverageReadings(e *term.Env) *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:   "readings SRC[/ENDPOINT]",
		Short: "List the readings of a list that is read whole, the newest first",
		Long: `List the readings of a list that is read whole (snapshot in its source file), or of
windows whose readings replace each other (response.replaces: WINDOW).

COMPLETE   the whole list was read
SHRUNK     too few ids of the last complete reading came again. What came is stored,
           but the list does not count as read until you accept the reading (patra
           coverage accept; not for windows), or a reading most of a day later shows
           the same
ACCEPTED   it was shrunk, and a person said that this is the whole list
BROKEN     the list was not read to its end
READING    not at its end yet`,
		Example: `  patra coverage readings lists
  patra coverage readings lists/journals --limit 5 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return listOfCursor(cmd.Context(), e, args[0], readingColumns(), func(app *daemon.App, cursor int64) ([]view.WholeReading, error) {
				return app.Cursors.ListReadings(cmd.Context(), cursor, 0, limit)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "how many at most")
	return c
}

// listOfCursor prints what belongs to the watermark of the harvest that SRC[/ENDPOINT] names.
func listOfCursor[T any](ctx context.Context, e *term.Env, name string, columns term.Columns[T], list func(app *daemon.App, cursor int64) ([]T, error)) error {
	return e.ReadStore(ctx, func(app *daemon.App) error {
		of, err := harvestCursor(ctx, e, app, name)
		if err != nil {
			return err
		}
		found, err := list(app, of.ID)
		if err != nil {
			return err
		}
		return term.PrintList(e, found, columns)
	})
}

func readingColumns() term.Columns[view.WholeReading] {
	return term.NewColumns([]string{"id", "of", "as of", "state", "ids", "came again", "gone", "remark"}, func(r view.WholeReading) []any {
		again := "-"
		if r.Last > 0 {
			again = fmt.Sprintf("%d of %d", r.LastKept, r.Last)
		}
		remark := r.Why
		if r.Held != "" {
			remark = r.Held
		}
		return []any{r.ID, cmp.Or(r.Unit, "list"), wording.DateOrSecond(r.AsOf), r.State, r.Items, again, r.Gone, wording.Shorten(wording.OrDash(remark), 40)}
	})
}

func newCoverageAccept(e *term.Env) *cobra.Command {
	var a term.Confirming
	c := &cobra.Command{
		Use:   "accept SRC[/ENDPOINT]",
		Short: "Accept a shrunk reading as the whole list as it is now",
		Long: `Accept the newest reading of a list that is read whole as the list as it is now,
although it is shrunk: less of the last complete reading came again than
snapshot.minShare asks for. Your name and reason are kept. What was owed up to the
reading counts as done and is drawn as waived.

This does not mark the records that the list lacks as gone: further readings do, and
only if no more of them are lacking at once than snapshot.maxGone allows.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra coverage accept lists/journals --reason dropped-by-vendor --dry-run
  patra coverage accept lists/journals --reason dropped-by-vendor --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.CheckReason(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return acceptReading(cmd.Context(), e, app, args[0], a) })
		},
	}
	a.Flags(c)
	return c
}

// acceptReading accepts the newest reading of a list if it is one that waits for it.
func acceptReading(ctx context.Context, e *term.Env, app *daemon.App, name string, a term.Confirming) error {
	of, err := harvestCursor(ctx, e, app, name)
	if err != nil {
		return err
	}
	do := func(dry bool) (view.ReadingAccepted, error) {
		by := a.Act()
		by.Rehearsal = dry
		return app.Cursors.Accept(ctx, of.ID, by)
	}
	return term.RehearseAndDo(e, a, do, func(d view.ReadingAccepted) bool { return d.Changed }, func(d view.ReadingAccepted) error {
		return term.PrintFacts(e, d, []term.Fact{
			{"cursor", fmt.Sprintf("%d: %s %s", of.ID, of.Source, of.Endpoint)},
			{"reading", fmt.Sprintf("%d, as of %s: %d ids, %d of the %d before came again", d.ID, wording.DateOrSecond(d.AsOf), d.Items, d.LastKept, d.Last)},
			{"done by it", term.RangesText(ingest.CursorTime, d.Waived.Waived)},
			{"watermark", wording.OrDash(d.Waived.Before) + " → " + wording.OrDash(d.Waived.After)},
		})
	})
}

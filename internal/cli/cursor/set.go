package cursor

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCursorSet(e *term.Env) *cobra.Command {
	var a term.Confirming
	var to string
	c := &cobra.Command{
		Use:   "set ID",
		Short: "Set a watermark by hand; what it covered from there on is read again",
		Long: `Set a watermark by hand. It is an event of its ledger, with your name and reason.
Coverage begins anew at the value: everything from there on is owed again, and the
next harvest reads it. Stored records are kept.

No harvest reads what is owed below the value. It is marked as left behind:
` + "`patra coverage gaps`" + ` lists it until you read it with a backfill or waive it.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra cursor set 1 --to 2025-03-01 --reason index-rebuilt --dry-run
  patra cursor set 1 --to -7d --reason read-again --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return term.Usagef("--to is needed: the new value; `patra cursor reset` leaves none")
			}
			return setCursor(cmd.Context(), e, args[0], a, to)
		},
	}
	c.Flags().StringVar(&to, "to", "", "the new value: RFC 3339, a date, or -7d; a whole number for a cursor of ids")
	a.Flags(c)
	return c
}

func newCursorReset(e *term.Env) *cobra.Command {
	var a term.Confirming
	c := &cobra.Command{
		Use:   "reset ID",
		Short: "Remove the value of a watermark; the next harvest begins as the first did",
		Long: `Remove the value of a watermark. It is an event of its ledger, with your name and
reason. The next harvest begins as on the first day: at its --from, or one
window before now. All that was asked for until now is marked as left behind
until it is read again, backfilled or waived: ` + "`patra coverage gaps`" + ` shows it.
Stored records are kept.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra cursor reset 1 --reason start-over --dry-run
  patra cursor reset 1 --reason start-over --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return setCursor(cmd.Context(), e, args[0], a, "") },
	}
	a.Flags(c)
	return c
}

func setCursor(ctx context.Context, e *term.Env, text string, a term.Confirming, to string) error {
	id, err := term.ParseID("cursor", text)
	if err != nil {
		return err
	}
	if err := a.CheckReason(); err != nil {
		return err
	}
	return e.ReadStore(ctx, func(app *daemon.App) error {
		c, err := app.Cursors.Show(ctx, id)
		if err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		value, err := cursorValue(ctx, app, c, to)
		if err != nil {
			return err
		}
		do := func(dry bool) (view.CursorSet, error) {
			by := a.Act()
			by.Rehearsal = dry
			return app.Cursors.Set(ctx, id, value, by)
		}
		err = term.RehearseAndDo(e, a, do, func(d view.CursorSet) bool { return d.Changed }, func(d view.CursorSet) error { return showSet(e, c, d) })
		if err == nil && !a.Dry && c.Value != "" {
			e.Hint("to take it back: patra cursor set %d --to %s --reason … (what was open then is read again)", id, c.Value)
		}
		return err
	})
}

// cursorValue reads a value as the cursor compares it.
func cursorValue(ctx context.Context, app *daemon.App, c view.Cursor, text string) (time.Time, error) {
	if c.Line() == ingest.CursorID || text == "" {
		at, err := c.Line().Parse(text)
		if err != nil {
			return at, term.Usagef("--to: %v", err)
		}
		return at, nil
	}
	now, err := app.Now(ctx)
	if err != nil {
		return now, err
	}
	at, err := term.ParseTime("to", text, now)
	if err != nil {
		return now, err
	}
	return *at, nil
}

func showSet(e *term.Env, c view.Cursor, d view.CursorSet) error {
	return term.PrintFacts(e, d, []term.Fact{
		{"cursor", fmt.Sprintf("%d: %s %s %s by %s", c.ID, c.Source, c.Endpoint, c.Operation, c.Key)},
		{"before", wording.OrDash(d.Before)},
		{"after", term.TextOr(d.After, "none: the next harvest begins as the first did")},
		{"read again", term.RangesText(c.Line(), d.Reopened)},
		{"left behind", term.RangesText(c.Line(), d.Left)},
	})
}

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCursorSet(e *env) *cobra.Command {
	var a agreeing
	var to string
	c := &cobra.Command{
		Use:   "set ID",
		Short: "Set a watermark by hand; what it covered from there on is read again",
		Long: `Set a watermark by hand, as an event of its ledger with your name and reason.
The book of the watermark begins anew at the value: what was read from there on
is open again and the next harvest reads it. Records that are stored stay.

What is owed below the value is not read by any harvest. It stays known as left
behind: ` + "`patra coverage gaps`" + ` shows it until a backfill reads it or somebody
waives it.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra cursor set 1 --to 2025-03-01 --reason index-rebuilt --dry-run
  patra cursor set 1 --to -7d --reason read-again --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usagef("--to is needed: the new value; `patra cursor reset` leaves none")
			}
			return e.setCursor(cmd.Context(), args[0], a, to)
		},
	}
	c.Flags().StringVar(&to, "to", "", "the new value: RFC 3339, a date, or -7d; a whole number for a cursor of ids")
	a.flags(c)
	return c
}

func newCursorReset(e *env) *cobra.Command {
	var a agreeing
	c := &cobra.Command{
		Use:   "reset ID",
		Short: "Take the value of a watermark away; the next harvest begins as the first did",
		Long: `Take the value of a watermark away, as an event of its ledger with your name and
reason. The next harvest begins as on the first day: at its --from, or one
window before now. All that was asked for until now stays known as left behind
until it is read again, backfilled or waived: ` + "`patra coverage gaps`" + ` shows it.
Records that are stored stay.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra cursor reset 1 --reason start-over --dry-run
  patra cursor reset 1 --reason start-over --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return e.setCursor(cmd.Context(), args[0], a, "") },
	}
	a.flags(c)
	return c
}

func (e *env) setCursor(ctx context.Context, text string, a agreeing, to string) error {
	id, err := parseID("cursor", text)
	if err != nil {
		return err
	}
	if err := a.signed(); err != nil {
		return err
	}
	return e.ledger(ctx, func(app *daemon.App) error {
		c, err := app.Cursors.Show(ctx, id)
		if err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		value, err := cursorValue(ctx, app, c, to)
		if err != nil {
			return err
		}
		do := func(dry bool) (view.CursorSet, error) {
			by := a.act()
			by.Rehearsal = dry
			return app.Cursors.Set(ctx, id, value, by)
		}
		err = agree(e, a, do, func(d view.CursorSet) bool { return d.Changed }, func(d view.CursorSet) error { return e.showSet(c, d) })
		if err == nil && !a.dry && c.Value != "" {
			e.hint("to take it back: patra cursor set %d --to %s --reason … (what was open then is read again)", id, c.Value)
		}
		return err
	})
}

// cursorValue reads a value as the cursor compares it.
func cursorValue(ctx context.Context, app *daemon.App, c view.Cursor, text string) (time.Time, error) {
	if c.Line() == ingest.CursorID || text == "" {
		at, err := c.Line().Parse(text)
		if err != nil {
			return at, usagef("--to: %v", err)
		}
		return at, nil
	}
	now, err := app.Now(ctx)
	if err != nil {
		return now, err
	}
	at, err := parseTime("to", text, now)
	if err != nil {
		return now, err
	}
	return *at, nil
}

func (e *env) showSet(c view.Cursor, d view.CursorSet) error {
	return show(e, d, []fact{
		{"cursor", fmt.Sprintf("%d: %s %s %s by %s", c.ID, c.Source, c.Endpoint, c.Operation, c.Key)},
		{"before", dash(d.Before)},
		{"after", orText(d.After, "none: the next harvest begins as the first did")},
		{"read again", stretches(c.Line(), d.Reopened)},
		{"left behind", stretches(c.Line(), d.Left)},
	})
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// stretches writes windows one below the other, the first few of many.
func stretches(line ingest.CursorType, windows []window.Window) string {
	const most = 8
	text := ""
	for i, w := range windows {
		if i == most {
			return text + fmt.Sprintf("\nand %d more", len(windows)-most)
		}
		if i > 0 {
			text += "\n"
		}
		if line == ingest.CursorID {
			text += fmt.Sprintf("[%s, %s)", line.Text(w.From), line.Text(w.To))
			continue
		}
		text += brief(w)
	}
	return orText(text, "nothing")
}

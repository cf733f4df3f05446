package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCursor(e *env) *cobra.Command {
	return group("cursor", "Look at watermarks and the ledger behind them", newCursorList(e), newCursorShow(e), newCursorHistory(e), newCursorVerify(e),
		newCursorSet(e), newCursorReset(e))
}

func newCursorList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list [SRC]",
		Short: "List watermarks: up to where each source is complete",
		Example: `  patra cursor list
  patra cursor list crossref -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				cursors, err := e.cursors(cmd.Context(), app, args)
				if err != nil {
					return err
				}
				return list(e, cursors, newColumns(
					[]string{"id", "source", "endpoint", "operation", "field", "value", "origin", "lookback", "seen ahead"},
					func(c view.Cursor) []any {
						return []any{c.ID, short(c.Source, 14), short(c.Endpoint, 14), c.Operation, short(c.Key, 14), point(c, c.Instant), point(c, c.Origin), lookback(c), ahead(c)}
					},
				))
			})
		},
	}
}

// cursors reads the watermarks of all sources or of the one named. A source that
// nobody knows is an error; one that was never harvested is just empty.
func (e *env) cursors(ctx context.Context, app *daemon.App, args []string) ([]view.Cursor, error) {
	source := strings.Join(args, "")
	cursors, err := app.Cursors.List(ctx, source)
	if err != nil || len(cursors) > 0 {
		return cursors, err
	}
	if source != "" {
		if _, _, err := app.Source(ctx, source); err != nil {
			return nil, err
		}
	}
	e.hint("nothing was planned yet: `patra harvest %s` starts", dashSource(source))
	return nil, nil
}

func dashSource(code string) string {
	if code == "" {
		return "SRC"
	}
	return code
}

// point writes a value of a cursor for a table.
func point(c view.Cursor, at time.Time) string {
	if c.Line() == ingest.CursorID {
		return dash(c.Line().Text(at))
	}
	return moment(at)
}

// ahead is how far the largest value seen lies ahead of the watermark (C§6).
func ahead(c view.Cursor) string {
	switch {
	case c.AheadIDs != 0:
		return fmt.Sprintf("%d ids", c.AheadIDs)
	case c.AheadSec == 0:
		return "-"
	}
	return age(c.Ahead())
}

func lookback(c view.Cursor) string { return duration.Duration(c.Lookback()).String() }

func newCursorShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one watermark",
		Example: `  patra cursor show 1
  patra cursor show 1 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("cursor", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				c, err := app.Cursors.Show(cmd.Context(), id)
				if err != nil {
					return fmt.Errorf("cursor %d: %w", id, err)
				}
				return show(e, c, cursorFacts(c))
			})
		},
	}
}

func cursorFacts(c view.Cursor) []fact {
	return []fact{
		{"cursor", c.ID},
		{"source", c.Source + " " + c.Endpoint + " " + c.Operation},
		{"follows", c.Key},
		{"value", dash(c.Value)},
		{"origin", point(c, c.Origin)},
		{"lookback", lookback(c)},
		{"largest value seen", dash(c.ObservedMax)},
		{"seen ahead of the value", ahead(c)},
		{"left behind", stretches(c.Line(), c.Left)},
		{"last moved by", dash(lineageOf(c.Lineage))},
		{"namespace", c.Scope + " " + c.NamespaceKey},
		{"type", c.Type},
		{"updated", c.UpdatedAt},
		{"version", c.Version},
	}
}

func newCursorHistory(e *env) *cobra.Command {
	var after int64
	limit := pageSize
	c := &cobra.Command{
		Use:   "history ID",
		Short: "Show the ledger of a watermark, oldest event first",
		Long: `Show the ledger of a watermark, oldest event first. A watermark moves only when
everything below it is read: an event that moved nothing says "stays".`,
		Example: `  patra cursor history 1
  patra cursor history 1 --after 50 --limit 200 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("cursor", args[0])
			if err != nil {
				return err
			}
			if limit < 1 || limit > pageSizeMax {
				return usagef("--limit %d: expected 1 to %d", limit, pageSizeMax)
			}
			if after < 0 {
				return usagef("--after %d: expected the id of an event", after)
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.history(cmd.Context(), app, id, after, limit) })
		},
	}
	c.Flags().IntVar(&limit, "limit", pageSize, "how many events to show")
	c.Flags().Int64Var(&after, "after", 0, "only events after this one: the next page")
	return c
}

func (e *env) history(ctx context.Context, app *daemon.App, id, after int64, limit int) error {
	c, err := app.Cursors.Show(ctx, id)
	if err != nil {
		return fmt.Errorf("cursor %d: %w", id, err)
	}
	events, err := app.Cursors.ListEvents(ctx, id, after, limit+1)
	if err != nil {
		return err
	}
	return listPage(e, pageAfter(e, "events", events, limit, func(v view.CursorEvent) string { return strconv.FormatInt(v.ID, 10) }), newColumns(
		[]string{"id", "kind", "windows", "as of", "cursor", "plan/slice/task/run"},
		func(v view.CursorEvent) []any {
			return []any{v.ID, string(v.Kind), spansOf(c, v.Windows), moment(v.AsOf), move(v), lineage(v)}
		},
	))
}

// spansOf writes stretches as the cursor counts them.
func spansOf(c view.Cursor, windows []window.Window) string {
	if c.Line() == ingest.CursorID {
		return stretches(c.Line(), windows)
	}
	return spans(windows)
}

// spans writes the first of several windows; all of them are in the JSON.
func spans(windows []window.Window) string {
	if len(windows) == 0 {
		return "-"
	}
	text := fold(span(windows[0]), ", ", ",\n ")
	if more := len(windows) - 1; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

func move(v view.CursorEvent) string {
	before, after := instantText(v.Prev), instantText(v.New)
	if !v.Moved {
		return "stays " + before
	}
	return fold(before+" → "+after, " → ", "\n→ ")
}

// instantText shortens a stored instant where that loses nothing but fractions.
func instantText(text string) string {
	if at, err := window.ParseInstant(text); err == nil {
		return moment(at)
	}
	return dash(text)
}

// fold breaks a cell in two where one line would widen the table too much.
func fold(text, at, broken string) string {
	const most = 26
	if len([]rune(text)) <= most {
		return text
	}
	return strings.Replace(text, at, broken, 1)
}

func lineage(v view.CursorEvent) string {
	if v.Actor != "" {
		return short(v.Actor+": "+v.Reason, 28)
	}
	id := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	return strings.Join([]string{id(v.PlanID), id(v.SliceID), id(v.TaskID), id(v.RunID)}, "/")
}

// lineageOf names the rows something descends from.
func lineageOf(l ingest.Lineage) string {
	var parts []string
	for _, p := range []struct {
		name string
		id   int64
	}{{"plan", l.PlanID}, {"slice", l.SliceID}, {"task", l.TaskID}, {"run", l.RunID}} {
		if p.id != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.name, p.id))
		}
	}
	return strings.Join(parts, ", ")
}

func newCursorVerify(e *env) *cobra.Command {
	var repair bool
	var a agreeing
	c := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Rebuild watermarks from their ledger and compare",
		Long: `Fold the ledger of a watermark, or of all, from its first event on, and compare
the result with the watermark and the coverage that are stored. Changes nothing.
Exit code 9 if anything differs.

--repair makes them what the ledger gives, and logs it with your name and
reason. The change is shown first; on a terminal you are asked, elsewhere add
--yes.

Events that were archived are represented by a signed snapshot, which is checked.
With --archive the files are read too, and folded from the very first event on.`,
		Example: `  patra cursor verify
  patra cursor verify 1 -o json
  patra cursor verify --archive patra.db.archive
  patra cursor verify 1 --repair --reason restored --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var only int64
			if len(args) > 0 {
				id, err := parseID("cursor", args[0])
				if err != nil {
					return err
				}
				only = id
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				if repair {
					return e.repairCursors(cmd.Context(), app, only, a)
				}
				if a.dry || a.yes || a.reason != "" {
					return usagef("--reason, --dry-run and --yes go with --repair")
				}
				return e.verify(cmd.Context(), app, only)
			})
		},
	}
	c.Flags().StringVar(&e.archiveDir, "archive", "", "folder of archives: fold the events in them too")
	c.Flags().BoolVar(&repair, "repair", false, "make watermark and coverage what the ledger gives")
	a.flags(c)
	return c
}

// cursorIDs are all cursors, or the one that was named.
func (e *env) cursorIDs(ctx context.Context, app *daemon.App, only int64) (ids []int64, err error) {
	if only != 0 {
		return []int64{only}, nil
	}
	cursors, err := e.cursors(ctx, app, nil)
	for _, c := range cursors {
		ids = append(ids, c.ID)
	}
	return ids, err
}

func (e *env) verify(ctx context.Context, app *daemon.App, only int64) error {
	ids, err := e.cursorIDs(ctx, app, only)
	if err != nil {
		return err
	}
	var verdicts []view.Verdict
	var problems []string
	for _, id := range ids {
		v, err := app.Cursors.Verify(ctx, id)
		if err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		if err := e.verifyArchived(ctx, app, &v); err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		verdicts = append(verdicts, v)
		for _, p := range v.Problems {
			problems = append(problems, fmt.Sprintf("cursor %d: %s", id, p))
		}
	}
	if err := list(e, verdicts, verdictColumns()); err != nil {
		return err
	}
	if len(problems) > 0 {
		return findings("%d findings:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	return nil
}

func verdictColumns() columns[view.Verdict] {
	return newColumns([]string{"cursor", "source", "operation", "events", "value", "verdict"}, func(v view.Verdict) []any {
		verdict := "ok"
		if n := len(v.Problems); n > 0 {
			verdict = fmt.Sprintf("%d findings", n)
		}
		return []any{v.Cursor.ID, short(v.Cursor.Source, 14), v.Cursor.Operation, v.Events, dash(v.Cursor.Value), verdict}
	})
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCursor(e *env) *cobra.Command {
	return group("cursor", "Look at watermarks and the ledger behind them", newCursorList(e), newCursorShow(e), newCursorHistory(e), newCursorVerify(e))
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
				return list(e, cursors, columns[view.Cursor]{
					[]string{"id", "source", "endpoint", "operation", "field", "value", "origin", "lookback"},
					func(c view.Cursor) []any {
						return []any{c.ID, short(c.Source, 14), short(c.Endpoint, 14), c.Operation, short(c.Key, 14), moment(c.Instant), moment(c.Origin), lookback(c)}
					},
				})
			})
		},
	}
}

// cursors reads the watermarks of all sources or of the one named. A source that
// nobody knows is an error; one that was never harvested is just empty.
func (e *env) cursors(ctx context.Context, app *daemon.App, args []string) ([]view.Cursor, error) {
	source := strings.Join(args, "")
	cursors, err := app.Store.Cursors(ctx, source)
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
				c, err := app.Store.Cursor(cmd.Context(), id)
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
		{"origin", moment(c.Origin)},
		{"lookback", lookback(c)},
		{"largest stamp seen", dash(c.ObservedMax)},
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
	if _, err := app.Store.Cursor(ctx, id); err != nil {
		return fmt.Errorf("cursor %d: %w", id, err)
	}
	events, err := app.Store.CursorEvents(ctx, id, after, limit+1)
	if err != nil {
		return err
	}
	if len(events) > limit {
		events = events[:limit]
		e.hint("there are more: add --after %d", events[limit-1].ID)
	}
	return list(e, events, columns[view.CursorEvent]{
		[]string{"id", "kind", "windows", "as of", "cursor", "plan/slice/task/run"},
		func(v view.CursorEvent) []any {
			return []any{v.ID, string(v.Kind), spans(v.Windows), moment(v.AsOf), move(v), lineage(v)}
		},
	})
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

func newCursorVerify(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [ID]",
		Short: "Rebuild watermarks from their ledger and compare",
		Long: `Fold the ledger of a watermark, or of all, from its first event on, and compare
the result with the watermark and the coverage that are stored. Changes nothing.
Exit code 9 if anything differs.`,
		Example: `  patra cursor verify
  patra cursor verify 1 -o json`,
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
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.verify(cmd.Context(), app, only) })
		},
	}
}

func (e *env) verify(ctx context.Context, app *daemon.App, only int64) error {
	ids := []int64{only}
	if only == 0 {
		cursors, err := e.cursors(ctx, app, nil)
		if err != nil {
			return err
		}
		ids = nil
		for _, c := range cursors {
			ids = append(ids, c.ID)
		}
	}
	var verdicts []view.Verdict
	var problems []string
	for _, id := range ids {
		v, err := app.Store.Verify(ctx, id)
		if err != nil {
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
	return columns[view.Verdict]{[]string{"cursor", "source", "operation", "events", "value", "verdict"}, func(v view.Verdict) []any {
		verdict := "ok"
		if n := len(v.Problems); n > 0 {
			verdict = fmt.Sprintf("%d findings", n)
		}
		return []any{v.Cursor.ID, short(v.Cursor.Source, 14), v.Cursor.Operation, v.Events, dash(v.Cursor.Value), verdict}
	}}
}

package cursor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("cursor", "Look at watermarks and the ledger behind them", newCursorList(e), newCursorShow(e), newCursorHistory(e), newCursorVerify(e),
		newCursorSet(e), newCursorReset(e))
}

func newCursorList(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list [SRC]",
		Short: "List watermarks: up to where each source is complete",
		Example: `  patra cursor list
  patra cursor list crossref -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				cursors, err := List(cmd.Context(), e, app, args)
				if err != nil {
					return err
				}
				return term.PrintList(e, cursors, term.NewColumns(
					[]string{"id", "source", "endpoint", "operation", "field", "value", "origin", "lookback", "seen ahead"},
					func(c view.Cursor) []any {
						return []any{c.ID, wording.Shorten(c.Source, 14), wording.Shorten(c.Endpoint, 14), c.Operation, wording.Shorten(c.Key, 14), PointText(c, c.Instant), PointText(c, c.Origin), lookbackText(c), aheadText(c)}
					},
				))
			})
		},
	}
}

// List reads the watermarks of all sources or of the one named. A source that
// nobody knows is an error; one that was never harvested is just empty.
func List(ctx context.Context, e *term.Env, app *daemon.App, args []string) ([]view.Cursor, error) {
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
	e.Hint("nothing was planned yet: `patra harvest %s` starts", dashSource(source))
	return nil, nil
}

func dashSource(code string) string {
	if code == "" {
		return "SRC"
	}
	return code
}

// PointText writes a value of a cursor for a table.
func PointText(c view.Cursor, at time.Time) string {
	if c.Line() == ingest.CursorID {
		return wording.OrDash(c.Line().Text(at))
	}
	return wording.DateOrSecond(at)
}

// aheadText is how far the largest value seen lies ahead of the watermark (C§6).
func aheadText(c view.Cursor) string {
	switch {
	case c.AheadIDs != 0:
		return fmt.Sprintf("%d ids", c.AheadIDs)
	case c.AheadSec == 0:
		return "-"
	}
	return wording.DurationText(c.Ahead())
}

func lookbackText(c view.Cursor) string { return duration.Duration(c.Lookback()).String() }

func newCursorShow(e *term.Env) *cobra.Command {
	var partition string
	c := term.NewShow(e, "cursor", &cobra.Command{
		Short: "Show one watermark",
		Long: `Show one watermark. With --partition also up to where one part of the list is
complete: the watermark of the list is that of the part that is furthest behind.`,
		Example: `  patra cursor show 1
  patra cursor show 1 --partition set=cs
  patra cursor show 1 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error {
		return showCursor(ctx, e, app, id, partition)
	})
	c.Flags().StringVar(&partition, "partition", "", "also of this part of a list that is asked for in parts, such as set=cs")
	return c
}

func showCursor(ctx context.Context, e *term.Env, app *daemon.App, id int64, partition string) error {
	c, err := app.Cursors.Show(ctx, id)
	if err != nil {
		return fmt.Errorf("cursor %d: %w", id, err)
	}
	if partition == "" {
		return term.PrintFacts(e, c, cursorFacts(c))
	}
	of := view.PartCursor{Cursor: c}
	part, err := findPart(ctx, app, c.Source, c.Endpoint, partition)
	if err != nil {
		return err
	}
	of.Partition, of.Unread = part.Name, part.Unread
	segments, err := app.Cursors.ListSegments(ctx, c.ID)
	if err != nil {
		return err
	}
	if of.PartitionAt, err = app.Inspect.WatermarkFor(ctx, c, segments, of.Partition); err != nil {
		return err
	}
	if !part.Closed.IsZero() && part.Closed.Before(of.PartitionAt) {
		of.PartitionAt = part.Closed
	}
	return term.PrintFacts(e, of, append(cursorFacts(c), term.Fact{"value of " + of.Partition, partText(c, of, part)}))
}

// partText says up to where one part of a list is complete.
func partText(c view.Cursor, of view.PartCursor, part daemon.Part) string {
	switch {
	case part.Unread:
		return "not read yet: its record is new, and the next harvest reads it"
	case !part.Closed.IsZero():
		return PointText(c, of.PartitionAt) + ", and not asked for since: its record is gone"
	}
	return PointText(c, of.PartitionAt)
}

func cursorFacts(c view.Cursor) []term.Fact {
	return []term.Fact{
		{"cursor", c.ID},
		{"source", c.Source + " " + c.Endpoint + " " + c.Operation},
		{"follows", c.Key},
		{"value", wording.OrDash(c.Value)},
		{"origin", PointText(c, c.Origin)},
		{"lookback", lookbackText(c)},
		{"largest value seen", wording.OrDash(c.ObservedMax)},
		{"seen ahead of the value", aheadText(c)},
		{"left behind", term.RangesText(c.Line(), c.Left)},
		{"last moved by", wording.OrDash(lineageOf(c.Lineage))},
		{"namespace", c.Scope + " " + c.NamespaceKey},
		{"type", c.Type},
		{"updated", c.UpdatedAt},
		{"version", c.Version},
	}
}

func newCursorHistory(e *term.Env) *cobra.Command {
	var pages term.AfterFlags
	var span term.RangeFlags
	c := &cobra.Command{
		Use:   "history ID",
		Short: "Show the ledger of a watermark, oldest event first",
		Long: `Show the ledger of a watermark, oldest event first. A watermark moves only when
everything below it is read: an event that moved nothing says "stays". --from and
--to show only events that were written between two instants. Late items came behind
the watermark.`,
		Example: `  patra cursor history 1
  patra cursor history 1 --from -24h
  patra cursor history 1 --after 50 --limit 200 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID("cursor", args[0])
			if err != nil {
				return err
			}
			if err := pages.Check(); err != nil {
				return err
			}
			if err := span.Parse(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showHistory(cmd.Context(), e, app, id, pages, span) })
		},
	}
	span.Flags(c, "its first event", "now")
	pages.Flags(c, "only events after this one: the next page", "how many events to show")
	return c
}

func showHistory(ctx context.Context, e *term.Env, app *daemon.App, id int64, pages term.AfterFlags, span term.RangeFlags) error {
	c, err := app.Cursors.Show(ctx, id)
	if err != nil {
		return fmt.Errorf("cursor %d: %w", id, err)
	}
	events, err := readHistory(ctx, app, c, pages, span)
	if err != nil {
		return err
	}
	return term.PrintPage(e, term.PageAfter(e, "events", events, pages.Limit, func(v view.CursorEvent) string { return strconv.FormatInt(v.ID, 10) }), term.NewColumns(
		[]string{"id", "kind", "windows", "as of", "cursor", "plan/slice/task/run"},
		func(v view.CursorEvent) []any {
			return []any{v.ID, kindText(v), spansOf(c, v.Windows), wording.DateOrSecond(v.AsOf), moveText(v), whoText(v)}
		},
	))
}

// readHistory reads all of a ledger, or what was written in a range of time.
func readHistory(ctx context.Context, app *daemon.App, c view.Cursor, pages term.AfterFlags, span term.RangeFlags) ([]view.CursorEvent, error) {
	if !span.Named() {
		return app.Cursors.ListEvents(ctx, c.ID, pages.After, pages.Limit+1)
	}
	from, to := time.UnixMicro(0), time.Now().Add(24*time.Hour) // the clock of the store may be ahead
	if span.From != nil {
		from = *span.From
	}
	if span.To != nil {
		to = *span.To
	}
	return app.Cursors.ListTimeline(ctx, c, from, to, pages.After, pages.Limit+1)
}

func kindText(v view.CursorEvent) string {
	if v.Late > 0 {
		return fmt.Sprintf("%s, %d late", v.Kind, v.Late)
	}
	return string(v.Kind)
}

// spansOf writes stretches as the cursor counts them.
func spansOf(c view.Cursor, windows []window.Window) string {
	if c.Line() == ingest.CursorID {
		return term.RangesText(c.Line(), windows)
	}
	return firstWindow(windows)
}

// firstWindow writes the first of several windows; all of them are in the JSON.
func firstWindow(windows []window.Window) string {
	if len(windows) == 0 {
		return "-"
	}
	text := term.BreakOnce(term.WindowToMinute(windows[0]), ", ", ",\n ")
	if more := len(windows) - 1; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

func moveText(v view.CursorEvent) string {
	before, after := instantText(v.Prev), instantText(v.New)
	if !v.Moved {
		return "stays " + before
	}
	return term.BreakOnce(before+" → "+after, " → ", "\n→ ")
}

// instantText shortens a stored instant where that loses nothing but fractions.
func instantText(text string) string {
	if at, err := window.ParseInstant(text); err == nil {
		return wording.DateOrSecond(at)
	}
	return wording.OrDash(text)
}

func whoText(v view.CursorEvent) string {
	if v.Actor != "" {
		return wording.Shorten(v.Actor+": "+v.Reason, 28)
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

func newCursorVerify(e *term.Env) *cobra.Command {
	var repair bool
	var from, to string
	var a term.Confirming
	c := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Rebuild watermarks from their ledger and compare",
		Long: `Compute a watermark, or all of them, from the first event of the ledger on, and
compare the result with the stored watermark and coverage. Changes nothing. Exit
code 9 if anything differs.

--repair replaces the stored watermark and coverage by what the ledger gives, and
logs it with your name and reason. The change is shown first; on a terminal you are
asked, elsewhere add --yes.

--from and --to show which events between two instants contradict the ledger, and
where the watermark stood at the end of that time.

Events that were archived are represented by a signed snapshot, which is checked.
With --archive the files are read too, and folded from the very first event on.`,
		Example: `  patra cursor verify
  patra cursor verify 1 -o json
  patra cursor verify 1 --from 2025-03-01 --to 2025-03-08
  patra cursor verify --archive patra.db.archive
  patra cursor verify 1 --repair --reason restored --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var only int64
			if len(args) > 0 {
				id, err := term.ParseID("cursor", args[0])
				if err != nil {
					return err
				}
				only = id
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				if (from != "" || to != "") && (repair || e.ArchiveDir != "") {
					return term.Usagef("--from and --to only look at events in the database: leave --repair and --archive out")
				}
				if repair {
					return repairCursors(cmd.Context(), e, app, only, a)
				}
				if a.Dry || a.Yes || a.Reason != "" {
					return term.Usagef("--reason, --dry-run and --yes go with --repair")
				}
				within, err := parseWithin(cmd.Context(), app, from, to)
				if err != nil {
					return err
				}
				return verifyCursors(cmd.Context(), e, app, only, within)
			})
		},
	}
	c.Flags().StringVar(&e.ArchiveDir, "archive", "", "folder of archives: fold the events in them too")
	c.Flags().StringVar(&from, "from", "", "report only events since then")
	c.Flags().StringVar(&to, "to", "", "fold only events before then, and do not compare with what is stored now")
	c.Flags().BoolVar(&repair, "repair", false, "replace the stored watermark and coverage by what the ledger gives")
	a.Flags(c)
	return c
}

// cursorIDs are all cursors, or the one that was named.
func cursorIDs(ctx context.Context, e *term.Env, app *daemon.App, only int64) (ids []int64, err error) {
	if only != 0 {
		return []int64{only}, nil
	}
	cursors, err := List(ctx, e, app, nil)
	for _, c := range cursors {
		ids = append(ids, c.ID)
	}
	return ids, err
}

// parseWithin reads --from and --to; nil: the whole ledger.
func parseWithin(ctx context.Context, app *daemon.App, from, to string) (*window.Window, error) {
	if from == "" && to == "" {
		return nil, nil
	}
	now, err := app.Now(ctx)
	if err != nil {
		return nil, err
	}
	begin, err := term.ParseTime("from", from, now)
	if err != nil {
		return nil, err
	}
	end, err := term.ParseTime("to", to, now)
	if err != nil {
		return nil, err
	}
	w := window.Window{To: now}
	if begin != nil {
		w.From = *begin
	}
	if end != nil {
		w.To = *end
	}
	if !w.From.Before(w.To) {
		return nil, term.Usagef("--from %s is not before --to", from)
	}
	return &w, nil
}

func verifyCursors(ctx context.Context, e *term.Env, app *daemon.App, only int64, within *window.Window) error {
	ids, err := cursorIDs(ctx, e, app, only)
	if err != nil {
		return err
	}
	var verdicts []view.Verdict
	var problems []string
	for _, id := range ids {
		var v view.Verdict
		if within != nil {
			v, err = app.Cursors.VerifyBetween(ctx, id, *within)
		} else {
			v, err = app.Cursors.Verify(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("cursor %d: %w", id, err)
		}
		if within == nil {
			if err := verifyArchived(ctx, e, app, &v); err != nil {
				return fmt.Errorf("cursor %d: %w", id, err)
			}
		}
		verdicts = append(verdicts, v)
		for _, p := range v.Problems {
			problems = append(problems, fmt.Sprintf("cursor %d: %s", id, p))
		}
	}
	if err := term.PrintList(e, verdicts, verdictColumns()); err != nil {
		return err
	}
	if len(problems) > 0 {
		return term.Findingsf("%d findings:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	return nil
}

func verdictColumns() term.Columns[view.Verdict] {
	return term.NewColumns([]string{"cursor", "source", "operation", "events", "value", "verdict"}, func(v view.Verdict) []any {
		verdict := "ok"
		if n := len(v.Problems); n > 0 {
			verdict = fmt.Sprintf("%d findings", n)
		}
		return []any{v.Cursor.ID, wording.Shorten(v.Cursor.Source, 14), v.Cursor.Operation, v.Events, wording.OrDash(v.Cursor.Value), verdict}
	})
}

package coverage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/cursor"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("coverage", "See which ranges of time are complete, and which are not", newCoverageShow(e), newCoverageGaps(e), newCoverageFill(e),
		newCoverageReconcile(e), newCoverageWaive(e), newCoverageReadings(e), newCoverageAccept(e), newCoverageFiles(e))
}

func newCoverageShow(e *term.Env) *cobra.Command {
	var s term.RangeFlags
	var by, partition string
	c := &cobra.Command{
		Use:   "show [SRC]",
		Short: "Draw what is covered, one strip per watermark",
		Long: `Draw what is covered, one strip per watermark. A cell is done only if every
instant in it was read late enough for every plan that wanted it. What a
backfill has read with the same request is drawn with the harvest.

--by draws a cell for each day, week, month or year. A cell shows what is worst
in it. A day is thin if it had less than a quarter of the items of the same
weekday in the weeks around it.

--partition draws what is read of one part of a list that is asked for in parts.`,
		Example: `  patra coverage show
  patra coverage show crossref --from -90d --by day
  patra coverage show crossref --from 2015-01-01 --by month
  patra coverage show arxiv --partition set=cs
  patra coverage show crossref --from 2025-03-01 --to 2025-04-01 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.Parse(); err != nil {
				return err
			}
			z, err := parseZoom(by)
			if err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showCoverage(cmd.Context(), e, app, args, s, z, partition) })
		},
	}
	s.Flags(c, "the first instant ever planned", "what is safe to read now")
	addPartitionFlag(c, &partition)
	c.Flags().StringVar(&by, "by", "", "a cell for each "+zooms+" (default: one row for all)")
	return c
}

func showCoverage(ctx context.Context, e *term.Env, app *daemon.App, args []string, s term.RangeFlags, z zoom, partition string) error {
	cursors, err := cursor.List(ctx, e, app, args)
	if err != nil {
		return err
	}
	if cursors, partition, err = cursorsOf(ctx, app, cursors, partition); err != nil {
		return err
	}
	d := drawing{drawn: []view.Coverage{}, partition: partition}
	for _, c := range cursors {
		if err := d.addCursor(ctx, e, app, c, s, z); err != nil {
			if ctx.Err() != nil || errors.As(err, new(*term.Coded)) {
				return err
			}
			d.failed = errors.Join(d.failed, fmt.Errorf("cursor %d of %s: %w", c.ID, c.Source, err)) // the others are shown
		}
	}
	if s.Named() && len(d.empty) > 0 && len(d.empty) == len(cursors) {
		return term.Usagef("nothing lies in %s: choose other --from and --to", wording.WindowText(d.empty[0]))
	}
	if e.Output == "json" {
		return errors.Join(e.JSON(view.Whole(d.drawn)), d.failed)
	}
	fmt.Fprint(e.Out, d.text.String())
	if len(d.drawn) > 0 {
		e.Hint("%s", stripLegend(d.signs))
	}
	return d.failed
}

// drawing is what is drawn so far.
type drawing struct {
	drawn  []view.Coverage
	text   strings.Builder
	signs  string
	empty  []window.Window // ranges of watermarks with nothing in them
	failed error           // of watermarks that could not be drawn

	partition string // part of the list that is drawn; empty: all of it
}

// addCursor draws one watermark.
func (d *drawing) addCursor(ctx context.Context, e *term.Env, app *daemon.App, c view.Cursor, s term.RangeFlags, z zoom) error {
	segments, err := app.Cursors.ListSegments(ctx, c.ID)
	if err != nil {
		return err
	}
	if d.partition != "" {
		if segments, err = app.Inspect.SegmentsFor(ctx, c, segments, d.partition); err != nil {
			return err
		}
	}
	within := app.Inspect.StripRange(ctx, c, segments, inspect.RangeQuery{From: s.From, To: s.To}, s.Now)
	if within.Empty() {
		d.empty = append(d.empty, within)
		e.Hint("cursor %d, %s %s %s: nothing of it lies in %s", c.ID, c.Source, c.Endpoint, c.Operation, wording.WindowText(within))
		return nil
	}
	survey, err := app.Inspect.Survey(ctx, c, segments, within)
	if err != nil {
		return err
	}
	p := picture{survey}
	if c.Line() == ingest.CursorID {
		z = "" // ids have no calendar
	}
	cells, err := cutCells(within, z)
	if err != nil {
		return err
	}
	if len(d.drawn) > 0 {
		d.text.WriteString("\n")
	}
	if d.partition != "" {
		d.text.WriteString(term.Printable(d.partition) + " of ")
	}
	d.text.WriteString(p.drawCursor(c, within, z, cells))
	for _, cell := range cells {
		d.signs += string(p.signOfCell(cell))
	}
	d.drawn = append(d.drawn, p.coverageView(c, segments, within, cells))
	return nil
}

// cutCells is what a picture is drawn in: units of the calendar, or equal parts.
func cutCells(within window.Window, z zoom) ([]window.Window, error) {
	if z == "" {
		return inspect.EqualCells(within, stripWidth), nil
	}
	return z.cutCalendar(within)
}

func (p picture) drawCursor(c view.Cursor, within window.Window, z zoom, cells []window.Window) string {
	text := term.Printable(fmt.Sprintf("%s %s %s by %s  cursor %d at %s", c.Source, c.Endpoint, c.Operation, c.Key, c.ID, cursor.PointText(c, c.Instant))) + "\n"
	switch {
	case c.Line() == ingest.CursorID:
		text += term.RangesText(c.Line(), []window.Window{within}) + "\n" + p.drawStrip(within, stripWidth)
	case z == "":
		text += wording.WindowText(within) + "\n" + p.drawStrip(within, stripWidth)
	default:
		text += wording.WindowText(within) + " by " + string(z) + "\n" + strings.Join(z.drawRows(cells, p.signOfCell), "\n")
	}
	text += "\n" + sharesText(coverage.Measure(within, p.Stretches)) + "\n"
	for _, note := range p.noteLines(within) {
		text += note + "\n"
	}
	return text
}

// noteLines says what a sign cannot: how many, and where to look.
func (p picture) noteLines(within window.Window) (out []string) {
	if n := len(p.Thin); n > 0 {
		out = append(out, fmt.Sprintf("thin: %s, such as %s with %d items; `patra coverage reconcile` asks the upstream", wording.Count(n, "day"), wording.DateOrSecond(p.Thin[0].Window.From), p.Thin[0].Items))
	}
	items, windows := p.Quarantined(within)
	if items > 0 {
		out = append(out, fmt.Sprintf("quarantined: %s in %s", wording.Count(int(items), "item"), wording.Count(windows, "window")))
	}
	return out
}

// coverageView is the picture for programs.
func (p picture) coverageView(c view.Cursor, segments []coverage.Segment, within window.Window, cells []window.Window) view.Coverage {
	v := p.View(c, segments, within, cells)
	for i := range v.Cells {
		v.Cells[i].Sign = string(signOf(v.Cells[i].State))
	}
	return v
}

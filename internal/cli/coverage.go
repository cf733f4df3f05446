package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newCoverage(e *env) *cobra.Command {
	return group("coverage", "See which stretches of time are complete, and which are not", newCoverageShow(e), newCoverageGaps(e), newCoverageFill(e),
		newCoverageReconcile(e), newCoverageWaive(e))
}

// stretch are the flags that choose a range of time.
type stretch struct {
	fromText, toText string
	now              time.Time
	from, to         *time.Time
}

func (s *stretch) flags(c *cobra.Command, from, to string) {
	c.Flags().StringVar(&s.fromText, "from", "", "start, included: RFC 3339, a date, or -7d (default: "+from+")")
	c.Flags().StringVar(&s.toText, "to", "", "end, not included (default: "+to+")")
}

func (s *stretch) parse() (err error) {
	s.now = time.Now().UTC()
	if s.from, err = parseTime("from", s.fromText, s.now); err != nil {
		return err
	}
	if s.to, err = parseTime("to", s.toText, s.now); err != nil {
		return err
	}
	if s.from != nil && s.to != nil && !s.from.Before(*s.to) {
		return usagef("--from %s is not before --to %s", window.Text(*s.from), window.Text(*s.to))
	}
	return nil
}

// named reports whether somebody chose the range.
func (s *stretch) named() bool { return s.from != nil || s.to != nil }

func newCoverageShow(e *env) *cobra.Command {
	var s stretch
	var by string
	c := &cobra.Command{
		Use:   "show [SRC]",
		Short: "Draw what is covered, one strip per watermark",
		Long: `Draw what is covered, one strip per watermark. A cell is done only if every
instant in it was read late enough for every plan that wanted it. What a
backfill read that asked the same is drawn with its harvest.

--by draws a cell for each day, week, month or year. A cell shows what is worst
in it. A day is thin if it had less than a quarter of the items of the same
weekday in the weeks around it.`,
		Example: `  patra coverage show
  patra coverage show crossref --from -90d --by day
  patra coverage show crossref --from 2015-01-01 --by month
  patra coverage show crossref --from 2025-03-01 --to 2025-04-01 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.parse(); err != nil {
				return err
			}
			z, err := parseZoom(by)
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showCoverage(cmd.Context(), app, args, s, z) })
		},
	}
	s.flags(c, "the first instant ever planned", "what is safe to read now")
	c.Flags().StringVar(&by, "by", "", "a cell for each "+zooms+" (default: one row for all)")
	return c
}

func (e *env) showCoverage(ctx context.Context, app *daemon.App, args []string, s stretch, z zoom) error {
	cursors, err := e.cursors(ctx, app, args)
	if err != nil {
		return err
	}
	d := drawing{books: []view.Coverage{}}
	for _, c := range cursors {
		if err := d.add(ctx, e, app, c, s, z); err != nil {
			if ctx.Err() != nil || errors.As(err, new(*coded)) {
				return err
			}
			d.failed = errors.Join(d.failed, fmt.Errorf("cursor %d of %s: %w", c.ID, c.Source, err)) // the others are shown
		}
	}
	if s.named() && len(d.empty) > 0 && len(d.empty) == len(cursors) {
		return usagef("nothing lies in %s: choose other --from and --to", brief(d.empty[0]))
	}
	if e.output == "json" {
		return errors.Join(e.json(view.Whole(d.books)), d.failed)
	}
	fmt.Fprint(e.out, d.text.String())
	if len(d.books) > 0 {
		e.hint("%s", stripLegend(d.signs))
	}
	return d.failed
}

// drawing is what is drawn so far.
type drawing struct {
	books  []view.Coverage
	text   strings.Builder
	signs  string
	empty  []window.Window // ranges of watermarks with nothing in them
	failed error           // of watermarks that could not be drawn
}

// add draws one watermark.
func (d *drawing) add(ctx context.Context, e *env, app *daemon.App, c view.Cursor, s stretch, z zoom) error {
	segments, err := app.Cursors.ListSegments(ctx, c.ID)
	if err != nil {
		return err
	}
	within := app.Inspect.StripRange(ctx, c, segments, inspect.RangeQuery{From: s.from, To: s.to}, s.now)
	if within.Empty() {
		d.empty = append(d.empty, within)
		e.hint("cursor %d, %s %s %s: nothing of it lies in %s", c.ID, c.Source, c.Endpoint, c.Operation, brief(within))
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
	cells, err := cut(within, z)
	if err != nil {
		return err
	}
	if len(d.books) > 0 {
		d.text.WriteString("\n")
	}
	d.text.WriteString(p.draw(c, within, z, cells))
	for _, cell := range cells {
		d.signs += string(p.sign(cell))
	}
	d.books = append(d.books, p.view(c, segments, within, cells))
	return nil
}

// cut is what a picture is drawn in: units of the calendar, or equal parts.
func cut(within window.Window, z zoom) ([]window.Window, error) {
	if z == "" {
		return inspect.EqualCells(within, stripWidth), nil
	}
	return z.cells(within)
}

func (p picture) draw(c view.Cursor, within window.Window, z zoom, cells []window.Window) string {
	text := printable(fmt.Sprintf("%s %s %s by %s  cursor %d at %s", c.Source, c.Endpoint, c.Operation, c.Key, c.ID, point(c, c.Instant))) + "\n"
	switch {
	case c.Line() == ingest.CursorID:
		text += stretches(c.Line(), []window.Window{within}) + "\n" + p.strip(within, stripWidth)
	case z == "":
		text += brief(within) + "\n" + p.strip(within, stripWidth)
	default:
		text += brief(within) + " by " + string(z) + "\n" + strings.Join(z.rows(cells, p.sign), "\n")
	}
	text += "\n" + shares(coverage.Measure(within, p.Stretches)) + "\n"
	for _, note := range p.notes(within) {
		text += note + "\n"
	}
	return text
}

// notes says what a sign cannot: how many, and where to look.
func (p picture) notes(within window.Window) (out []string) {
	if n := len(p.Thin); n > 0 {
		out = append(out, fmt.Sprintf("thin: %s, such as %s with %d items; `patra coverage reconcile` asks the upstream", counted(n, "day"), moment(p.Thin[0].Window.From), p.Thin[0].Items))
	}
	items, windows := p.Quarantined(within)
	if items > 0 {
		out = append(out, fmt.Sprintf("quarantined: %s in %s", counted(int(items), "item"), counted(windows, "window")))
	}
	return out
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countedAre is "1 slice is" or "2 slices are".
func countedAre(n int, noun string) string { return counted(n, noun) + " " + isAre(int64(n)) }

// view is the picture for programs.
func (p picture) view(c view.Cursor, segments []coverage.Segment, within window.Window, cells []window.Window) view.Coverage {
	v := p.View(c, segments, within, cells)
	for i := range v.Cells {
		v.Cells[i].Sign = string(signOf(v.Cells[i].State))
	}
	return v
}

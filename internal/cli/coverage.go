package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCoverage(e *env) *cobra.Command {
	return group("coverage", "See which stretches of time are complete, and which are not", newCoverageShow(e), newCoverageGaps(e))
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

// within fills the ends that were not asked for.
func (s *stretch) within(from, to time.Time) (window.Window, error) {
	w := window.Window{From: from, To: to}
	if s.from != nil {
		w.From = *s.from
	}
	if s.to != nil {
		w.To = *s.to
	}
	if w.Empty() {
		return w, usagef("nothing lies in %s: choose other --from and --to", brief(w))
	}
	return w, nil
}

func newCoverageShow(e *env) *cobra.Command {
	var s stretch
	c := &cobra.Command{
		Use:   "show [SRC]",
		Short: "Draw what is covered, one strip per watermark",
		Long: `Draw what is covered, one strip per watermark. A cell is done only if every
instant in it was read late enough for every plan that wanted it.`,
		Example: `  patra coverage show
  patra coverage show crossref --from -30d
  patra coverage show crossref --from 2025-03-01 --to 2025-04-01 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.parse(); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showCoverage(cmd.Context(), app, args, s) })
		},
	}
	s.flags(c, "the first instant ever planned", "what is safe to read now")
	return c
}

func (e *env) showCoverage(ctx context.Context, app *daemon.App, args []string, s stretch) error {
	cursors, err := e.cursors(ctx, app, args)
	if err != nil {
		return err
	}
	books := []view.Coverage{}
	for _, c := range cursors {
		segments, err := app.Store.Segments(ctx, c.ID)
		if err != nil {
			return err
		}
		within, err := s.within(c.Origin, later(safeEnd(ctx, app, c, s.now), askedTo(c.Origin, segments)))
		if err != nil {
			return fmt.Errorf("cursor %d: %w", c.ID, err)
		}
		book := view.Coverage{Cursor: c, Segments: inside(segments, within)}
		if e.output == "table" {
			if len(books) > 0 {
				fmt.Fprintln(e.out)
			}
			e.draw(book, within)
		}
		books = append(books, book)
	}
	if e.output == "json" {
		return e.json(books)
	}
	if len(books) > 0 {
		e.hint("%s", stripLegend)
	}
	return nil
}

func (e *env) draw(book view.Coverage, within window.Window) {
	c := book.Cursor
	fmt.Fprintf(e.out, "%s  cursor %d at %s\n%s\n%s\n%s\n", printable(c.Source+" "+c.Endpoint+" "+c.Operation+" by "+c.Key), c.ID, moment(c.Instant),
		brief(within), strip(within, book.Segments, stripWidth), measure(within, book.Segments))
}

// inside keeps what touches the range that was asked for.
func inside(segments []coverage.Segment, within window.Window) []coverage.Segment {
	out := []coverage.Segment{}
	for _, s := range segments {
		if s.Window.Overlaps(within) {
			out = append(out, s)
		}
	}
	return out
}

// askedTo is the end of what any plan ever asked for.
func askedTo(origin time.Time, segments []coverage.Segment) time.Time {
	if n := len(segments); n > 0 {
		return later(origin, segments[n-1].Window.To)
	}
	return origin
}

// safeEnd is where a harvest that starts now would end. Coverage of a source
// that is no longer known can still be shown: up to now, then.
func safeEnd(ctx context.Context, app *daemon.App, c view.Cursor, now time.Time) time.Time {
	compiled, err := app.Compile(ctx, c.Source, c.Endpoint, ingest.Harvest, nil)
	if err != nil {
		return window.Instant(now)
	}
	return harvestEnd(compiled, now)
}

func harvestEnd(c *spec.Compiled, now time.Time) time.Time {
	total, err := window.Harvest(c.Snapshot.Window, window.Inputs{Now: now})
	if err != nil {
		return window.Instant(now)
	}
	return total.Window.To
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

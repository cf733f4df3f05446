package coverage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newCoverageGaps(e *term.Env) *cobra.Command {
	var q gapQuery
	c := &cobra.Command{
		Use:   "gaps SRC",
		Short: "List ranges of time that are not complete; exit code 9 if there are any",
		Long: `List ranges of time that are not complete, each with its reason.

By default the range is what was ever asked for: from the start of the first
harvest to the end of the newest. Time for which the source asked for something else
than it does now is a gap until it is read again. --all takes everything the source
has, from its declared earliest instant to what is safe to read now.

If a list is asked for in parts, only some of them may be missing: then the reason
names them. --partition lists what one of them is missing.

Exit code 0: no gaps. Exit code 9: there are gaps.`,
		Example: `  patra coverage gaps crossref
  patra coverage gaps crossref --from 2025-01-01 --to 2025-04-01
  patra coverage gaps arxiv --partition set=cs
  patra coverage gaps crossref --all -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.Parse(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showGaps(cmd.Context(), e, app, args[0], q) })
		},
	}
	q.Flags(c, "the start of the first harvest", "the end of the newest harvest")
	c.Flags().BoolVar(&q.all, "all", false, "from the declared earliest instant of the source to now")
	addPartitionFlag(c, &q.partition)
	return c
}

type gapQuery struct {
	term.RangeFlags
	all       bool
	partition string // part of a list; empty: all of it
}

// gapsOf returns what is missing of an endpoint, of one part of its list if one is named.
func (q gapQuery) gapsOf(b inspect.EndpointCoverage, within window.Window) []view.Gap {
	gaps := b.Gaps(within, q.rangeQuery().OnlyAsked())
	if q.partition != "" {
		return view.GapsOf(gaps, q.partition)
	}
	return gaps
}

// rangeQuery is the query for inspect.
func (q gapQuery) rangeQuery() inspect.RangeQuery {
	return inspect.RangeQuery{From: q.From, To: q.To, All: q.all}
}

func showGaps(ctx context.Context, e *term.Env, app *daemon.App, code string, q gapQuery) error {
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return err
	}
	covered, err := FindCoverage(ctx, e, app, src)
	if err == nil {
		covered, q.partition, err = withPartition(ctx, app, covered, q.partition)
	}
	if err != nil {
		return err
	}
	var gaps []view.Gap
	err = forEachCoverage(e, covered, q, func(b inspect.EndpointCoverage, within window.Window) error {
		found, err := app.Inspect.MarkPlanned(ctx, b, q.gapsOf(b, within))
		if err != nil {
			return err
		}
		gaps = append(gaps, found...)
		if len(found) == 0 && e.Output == "table" {
			fmt.Fprintf(e.Out, "no gaps in %s (%s by %s)\n", wording.WindowText(within), b.Endpoint, b.Field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(gaps) > 0 || e.Output == "json" {
		if err := term.PrintList(e, wording.TellGaps(gaps), gapColumns()); err != nil {
			return err
		}
	}
	if len(gaps) > 0 {
		return term.Findingsf("%s is not complete: gaps = %d; %s", code, len(gaps), nextStep(code, gaps))
	}
	return nil
}

// FindCoverage finds what is covered of a source, and says which cursors do not count.
func FindCoverage(ctx context.Context, e *term.Env, app *daemon.App, src *registry.Source) ([]inspect.EndpointCoverage, error) {
	covered, err := app.Inspect.CoverageOf(ctx, src)
	for _, i := range covered.Ignored {
		if i.OtherField {
			e.Hint("cursor %d follows %s, which the source no longer does; it does not count", i.Cursor.ID, i.Cursor.Key)
		} else {
			e.Hint("cursor %d asked for something else than the source does now; it does not count", i.Cursor.ID)
		}
	}
	return covered.All, err
}

// forEachCoverage does something for every endpoint, with the range that is meant.
func forEachCoverage(e *term.Env, covered []inspect.EndpointCoverage, q gapQuery, do func(b inspect.EndpointCoverage, within window.Window) error) error {
	var nothing []window.Window
	looked := 0
	for _, b := range covered {
		if q.rangeQuery().Skips(b, covered) {
			e.Hint("endpoint %s was never harvested; --from or --all includes it", b.Endpoint)
			continue
		}
		r, err := b.Range(q.rangeQuery())
		if err != nil {
			return err
		}
		hintRange(e, r)
		if looked++; r.Window.Empty() {
			nothing = append(nothing, r.Window)
			hintEmpty(e, b, r.Window)
			continue
		}
		if err := do(b, r.Window); err != nil {
			return err
		}
	}
	if q.Named() && looked > 0 && looked == len(nothing) { // a slip: "no gaps" would be taken for an answer
		return term.Usagef("nothing lies in %s: choose other --from and --to", wording.WindowText(nothing[0]))
	}
	return nil
}

// nextStep is the next step. A harvest reads what is owed; it goes back to what was
// never asked for only before its watermark exists.
func nextStep(code string, gaps []view.Gap) string {
	if gaps[0].CursorID == 0 {
		return fmt.Sprintf("`patra harvest %s --from %s` asks for it", code, gaps[0].Window.From.Format(time.DateOnly))
	}
	has := func(what func(view.Gap) bool) bool { return slices.ContainsFunc(gaps, what) }
	if !has(func(g view.Gap) bool { return g.Planned == nil }) {
		return fmt.Sprintf("all of them are planned: `patra serve` works on that, or the next `patra harvest %s`", code)
	}
	text := fmt.Sprintf("`patra harvest %s` fetches what is owed", code)
	if has(func(g view.Gap) bool { return g.Waits && g.Planned == nil }) {
		text += ", and what failed from its retry time on, or now with --retry"
	}
	if has(func(g view.Gap) bool { return g.BeforeStart && g.Planned == nil }) {
		text += "; time before its start needs a backfill"
	}
	if i := slices.IndexFunc(gaps, func(g view.Gap) bool { return g.Reason == view.GapCapped }); i >= 0 {
		text += "; " + wording.CappedNext(gaps[i].Window, code)
	}
	return text + fmt.Sprintf("; `patra coverage fill %s` plans exactly these", code)
}

func gapColumns() term.Columns[wording.ToldGap] {
	return term.NewColumns([]string{"endpoint", "window", "reason"}, func(g wording.ToldGap) []any {
		reason := g.Reason
		if g.Planned != "" {
			reason += "; " + g.Planned
		}
		return []any{wording.Shorten(g.Endpoint, 14), wording.WindowText(g.Window), reason}
	})
}

// hintRange says what a range leaves out, so that "no gaps" is not taken for more
// than it says.
func hintRange(e *term.Env, r inspect.Range) {
	if r.Cut != nil {
		e.Hint("%s is cut at %s: later instants are not safe to read yet", wording.WindowText(*r.Cut), window.Text(r.Window.To))
	}
	if r.Before {
		e.Hint("history before %s was never asked for; --from or --all includes it", wording.DateOrSecond(r.Window.From))
	}
	if !r.SafeTo.IsZero() {
		e.Hint("nothing after %s was asked for yet; a harvest now reads up to %s", wording.DateOrSecond(r.Window.To), wording.DateOrSecond(r.SafeTo))
	}
}

// hintEmpty says why there is nothing to look at, so that an empty answer is not
// taken for a complete source.
func hintEmpty(e *term.Env, b inspect.EndpointCoverage, w window.Window) {
	about := b.Source + "/" + b.Endpoint
	switch {
	case b.Cursor.Origin.IsZero():
		e.Hint("%s: its watermark has no value, so nothing is asked for: `patra harvest %s` begins as the first did", about, b.Source)
	case w.From.Equal(b.Cursor.Origin) && w.To.Equal(w.From):
		e.Hint("%s: nothing from %s on was asked for yet: `patra harvest %s` reads it", about, wording.DateOrSecond(w.From), b.Source)
	default:
		e.Hint("%s: nothing lies in %s", about, wording.WindowText(w))
	}
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// gap is a stretch that is not done, as it is shown: with its reason in words.
type gap struct {
	CursorID   int64         `json:"cursorId,omitempty"` // none if the endpoint was never harvested
	Source     string        `json:"source"`
	Endpoint   string        `json:"endpoint"`
	Field      string        `json:"cursorKey"`
	Window     window.Window `json:"window"`
	State      view.GapState `json:"state"`
	Reason     string        `json:"reason"`
	Fails      int           `json:"fails,omitempty"`
	RetryAfter time.Time     `json:"retryAt,omitzero"`

	Planned string `json:"planned,omitempty"` // who is to read it, where that is settled
}

// gapsShown puts gaps into words.
func gapsShown(gaps []view.Gap) []gap {
	out := []gap{}
	for _, g := range gaps {
		out = append(out, gap{g.CursorID, g.Source, g.Endpoint, g.Field, g.Window, g.State, gapReason(g), g.Fails, g.RetryAfter, gapPlanned(g)})
	}
	return out
}

func newCoverageGaps(e *env) *cobra.Command {
	var q gapQuery
	c := &cobra.Command{
		Use:   "gaps SRC",
		Short: "List stretches of time that are not complete; exit code 9 if there are any",
		Long: `List stretches of time that are not complete, each with its reason.

By default the range is what was ever asked for: from the start of the first
harvest to the end of the newest. If the source asked for something else then,
that time is a gap until it is asked again. --all takes everything the source has,
from its declared earliest instant to what is safe to read now.

Exit code 0: no gaps. Exit code 9: there are gaps.`,
		Example: `  patra coverage gaps crossref
  patra coverage gaps crossref --from 2025-01-01 --to 2025-04-01
  patra coverage gaps crossref --all -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.parse(); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.gaps(cmd.Context(), app, args[0], q) })
		},
	}
	q.flags(c, "the start of the first harvest", "the end of the newest harvest")
	c.Flags().BoolVar(&q.all, "all", false, "from the declared earliest instant of the source to now")
	return c
}

type gapQuery struct {
	stretch
	all bool
}

// asked is the query for inspect.
func (q gapQuery) asked() inspect.RangeQuery {
	return inspect.RangeQuery{From: q.from, To: q.to, All: q.all}
}

func (e *env) gaps(ctx context.Context, app *daemon.App, code string, q gapQuery) error {
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return err
	}
	books, err := e.books(ctx, app, src)
	if err != nil {
		return err
	}
	var gaps []view.Gap
	err = e.eachBook(books, q, func(b inspect.Book, within window.Window) error {
		found, err := app.Inspect.MarkPlanned(ctx, b, b.Gaps(within, q.asked().OnlyAsked()))
		if err != nil {
			return err
		}
		gaps = append(gaps, found...)
		if len(found) == 0 && e.output == "table" {
			fmt.Fprintf(e.out, "no gaps in %s (%s by %s)\n", brief(within), b.Endpoint, b.Field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(gaps) > 0 || e.output == "json" {
		if err := list(e, gapsShown(gaps), gapColumns()); err != nil {
			return err
		}
	}
	if len(gaps) > 0 {
		return findings("%s is not complete: gaps = %d; %s", code, len(gaps), remedy(code, gaps))
	}
	return nil
}

// books finds what is covered of a source, and says which cursors do not count.
func (e *env) books(ctx context.Context, app *daemon.App, src *registry.Source) ([]inspect.Book, error) {
	books, err := app.Inspect.Books(ctx, src)
	for _, i := range books.Ignored {
		if i.OtherField {
			e.hint("cursor %d follows %s, which the source no longer does; it does not count", i.Cursor.ID, i.Cursor.Key)
		} else {
			e.hint("cursor %d asked for something else than the source does now; it does not count", i.Cursor.ID)
		}
	}
	return books.All, err
}

// eachBook does something for every endpoint, with the range that is meant.
func (e *env) eachBook(books []inspect.Book, q gapQuery, do func(b inspect.Book, within window.Window) error) error {
	var nothing []window.Window
	looked := 0
	for _, b := range books {
		if q.asked().Skips(b, books) {
			e.hint("endpoint %s was never harvested; --from or --all includes it", b.Endpoint)
			continue
		}
		r, err := b.Range(q.asked())
		if err != nil {
			return err
		}
		e.hintRange(r)
		if looked++; r.Window.Empty() {
			nothing = append(nothing, r.Window)
			e.hintEmpty(b, r.Window)
			continue
		}
		if err := do(b, r.Window); err != nil {
			return err
		}
	}
	if q.named() && looked > 0 && looked == len(nothing) { // a slip: "no gaps" would be taken for an answer
		return usagef("nothing lies in %s: choose other --from and --to", brief(nothing[0]))
	}
	return nil
}

// remedy is the next step. A harvest reads what is owed; it goes back to what was
// never asked for only before its watermark exists.
func remedy(code string, gaps []view.Gap) string {
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
		text += "; " + cappedNext(gaps[i].Window, code)
	}
	return text + fmt.Sprintf("; `patra coverage fill %s` plans exactly these", code)
}

func gapColumns() columns[gap] {
	return newColumns([]string{"endpoint", "window", "reason"}, func(g gap) []any {
		reason := g.Reason
		if g.Planned != "" {
			reason += "; " + g.Planned
		}
		return []any{short(g.Endpoint, 14), brief(g.Window), reason}
	})
}

// hintRange says what a range leaves out, so that "no gaps" is not taken for more
// than it says.
func (e *env) hintRange(r inspect.Range) {
	if r.Cut != nil {
		e.hint("%s is cut at %s: later instants are not safe to read yet", brief(*r.Cut), window.Text(r.Window.To))
	}
	if r.Before {
		e.hint("history before %s was never asked for; --from or --all includes it", moment(r.Window.From))
	}
	if !r.SafeTo.IsZero() {
		e.hint("nothing after %s was asked for yet; a harvest now reads up to %s", moment(r.Window.To), moment(r.SafeTo))
	}
}

// hintEmpty says why there is nothing to look at, so that an empty answer is not
// taken for a complete source.
func (e *env) hintEmpty(b inspect.Book, w window.Window) {
	about := b.Source + "/" + b.Endpoint
	switch {
	case b.Cursor.Origin.IsZero():
		e.hint("%s: its watermark has no value, so nothing is asked for: `patra harvest %s` begins as the first did", about, b.Source)
	case w.From.Equal(b.Cursor.Origin) && w.To.Equal(w.From):
		e.hint("%s: nothing from %s on was asked for yet: `patra harvest %s` reads it", about, moment(w.From), b.Source)
	default:
		e.hint("%s: nothing lies in %s", about, brief(w))
	}
}

// gapReason says why a stretch is not done.
func gapReason(g view.Gap) string {
	switch g.Reason {
	case view.GapCapped:
		return fmt.Sprintf("failed %s: more than the upstream serves (CAPPED), no retry helps", times(g.Fails))
	case view.GapPaused:
		return fmt.Sprintf("failed %s, nothing is tried while the source is paused", times(g.Fails))
	case view.GapFailed:
		return fmt.Sprintf("failed %s, %s", times(g.Fails), retryText(g))
	case view.GapLeft:
		return fmt.Sprintf("owed when cursor %d was set by hand; no harvest goes back to it", g.CursorID)
	case view.GapOtherQuestion:
		return fmt.Sprintf("never asked for as the source asks now; cursor %d asked for something else", g.AskedBy)
	case view.GapOwed:
		return "never read, planned as of " + when(g.WantedAt)
	case view.GapReopened:
		return fmt.Sprintf("read as of %s, wanted again as of %s", when(g.ReadAt), when(g.WantedAt))
	}
	return "never asked for"
}

// retryText is when a failed stretch is tried again.
func retryText(g view.Gap) string {
	if g.Waits {
		return "retry from " + when(g.RetryAfter)
	}
	return "the next harvest tries it again"
}

// gapPlanned says who is to read a gap.
func gapPlanned(g view.Gap) string {
	switch {
	case g.Planned == nil:
		return ""
	case g.Planned.Campaign != "":
		return fmt.Sprintf("campaign %s is to read it", short(g.Planned.Campaign, 40))
	}
	return "planned, and waits for a worker or is worked on"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

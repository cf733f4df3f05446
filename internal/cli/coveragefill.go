package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// filled is a stretch that is planned, or would be.
type filled struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	Window    window.Window    `json:"window"`
	PlanID    int64            `json:"planId,omitempty"`
	Campaign  string           `json:"campaign,omitempty"`
	Slices    int              `json:"slices,omitempty"` // of the plan, over all its stretches
	Note      string           `json:"note,omitempty"`
	DryRun    bool             `json:"dryRun"`
}

func newCoverageFill(e *env) *cobra.Command {
	var q gapQuery
	var a acting
	var with settingsOf
	c := &cobra.Command{
		Use:   "fill SRC",
		Short: "Plan exactly what is missing, and nothing beside it",
		Long: `Plan exactly the gaps that ` + "`patra coverage gaps`" + ` lists for the same range. What
a harvest owes is planned as HARVEST, also where a retry is not due yet. Time
before the start of its watermark becomes a BACKFILL campaign, one for each
stretch, which never touches the watermark. What is being worked on already is
left out.

The plans are queued: ` + "`patra serve`" + ` works on them, or the next harvest.`,
		Example: `  patra coverage fill crossref --dry-run
  patra coverage fill crossref --reason their-outage
  patra coverage fill crossref --from 2020-01-01 --to 2021-01-01 --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.parse(); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.fillGaps(cmd.Context(), app, args[0], q, a, with) })
		},
	}
	q.flags(c, "the start of the first harvest", "the end of the newest harvest")
	c.Flags().BoolVar(&q.all, "all", false, "from the declared earliest instant of the source to now")
	a.flags(c)
	with.flags(c)
	return c
}

// settingsOf are overrides of commands that act on the watermark of a source: they
// may change how it is asked, never what.
type settingsOf struct{ set []string }

func (s *settingsOf) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.set, "set", nil, "override a setting for this run, such as contact.email=you@example.org")
}

// compile is the source of a book under the settings.
func (s settingsOf) compile(ctx context.Context, app *daemon.App, b inspect.Book, op ingest.Operation) (*spec.Compiled, error) {
	overrides, err := parseOverrides(s.set)
	if err != nil {
		return nil, err
	}
	compiled, err := app.Compile(ctx, b.Source, b.Endpoint, op, overrides)
	if err != nil {
		return nil, err
	}
	if at, err := compiled.Namespace(); err != nil || at != b.At {
		return nil, usagef("--set changes what is asked for: that has a watermark of its own")
	}
	return compiled, nil
}

func (e *env) fillGaps(ctx context.Context, app *daemon.App, code string, q gapQuery, a acting, with settingsOf) error {
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return err
	}
	books, err := e.books(ctx, app, src)
	if err != nil {
		return err
	}
	out := []filled{}
	err = e.eachBook(books, q, func(b inspect.Book, within window.Window) error {
		missing, err := e.missing(ctx, app, b, b.Gaps(within, q.asked().OnlyAsked()))
		if err != nil {
			return err
		}
		planned, err := e.fillOwed(ctx, app, b, missing.Owed, a, with)
		if err != nil {
			return err
		}
		begun, err := e.fillHistory(ctx, app, b, missing.History, a, with)
		out = append(out, append(planned, begun...)...)
		return err
	})
	if err != nil {
		return err
	}
	if len(out) == 0 {
		e.hint("there is nothing to fill")
	}
	if err := list(e, out, filledColumns()); err != nil {
		return err
	}
	if e.afterDry(a.dry); !a.dry && len(out) > 0 {
		e.hint("`patra serve` works on them, or the next `patra harvest %s`", code)
	}
	return nil
}

// missing finds what has to be planned, and says what is worked on already.
func (e *env) missing(ctx context.Context, app *daemon.App, b inspect.Book, gaps []view.Gap) (inspect.Missing, error) {
	missing, err := app.Inspect.Missing(ctx, b, gaps)
	if missing.Open > 0 {
		e.hint("%s of %s are worked on already and left out", counted(missing.Open, "window"), b.Endpoint)
	}
	return missing, err
}

func (e *env) fillOwed(ctx context.Context, app *daemon.App, b inspect.Book, owed []window.Window, a acting, with settingsOf) (out []filled, err error) {
	if len(owed) == 0 {
		return nil, nil
	}
	now, err := app.Now(ctx)
	if err != nil {
		return nil, err
	}
	compiled, err := with.compile(ctx, app, b, ingest.Harvest)
	if err != nil {
		return nil, err
	}
	plan, draft, err := app.Fill(ctx, compiled, owed, now, a.act())
	if err != nil {
		return nil, err
	}
	for _, w := range owed {
		one := filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Harvest, Window: w, PlanID: plan, Slices: len(draft.Slices), DryRun: a.dry}
		if draft.Empty {
			one.Note = draft.Reason
		}
		out = append(out, one)
	}
	return out, nil
}

// mostCampaigns: whoever has more holes than this wants one campaign over them all.
const mostCampaigns = 20

func (e *env) fillHistory(ctx context.Context, app *daemon.App, b inspect.Book, history []window.Window, a acting, with settingsOf) (out []filled, err error) {
	if len(history) == 0 {
		return nil, nil
	}
	if len(history) > mostCampaigns {
		return nil, usagef("%d stretches lie before the start of the watermark, more than %d campaigns: `patra backfill %s --from %s` reads them as one",
			len(history), mostCampaigns, b.Source, history[0].From.Format(time.DateOnly))
	}
	compiled, err := with.compile(ctx, app, b, ingest.Backfill)
	if err != nil {
		return nil, fmt.Errorf("time before %s needs a backfill: %w", moment(b.Cursor.Origin), err)
	}
	now, err := app.Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range history {
		wish := daemon.CampaignWish{From: &w.From, To: &w.To, Typed: window.Text(w.From) + ".." + window.Text(w.To), Now: now, By: a.act(), Overrides: with.set}
		one := filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Backfill, Window: w, DryRun: a.dry}
		if one.Campaign, err = wish.NameOf(compiled); err != nil {
			return out, err
		}
		if !a.dry {
			if _, one.Note, err = app.OpenCampaign(ctx, compiled, wish); err != nil {
				return out, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func filledColumns() columns[filled] {
	return newColumns([]string{"endpoint", "operation", "window", "planned as"}, func(f filled) []any {
		as := f.Note
		switch {
		case as != "":
		case f.Campaign != "":
			as = "campaign " + short(f.Campaign, 40)
		case f.PlanID != 0:
			as = fmt.Sprintf("plan %d, %s", f.PlanID, counted(f.Slices, "slice"))
		default:
			as = counted(f.Slices, "slice")
		}
		return []any{short(f.Endpoint, 14), string(f.Operation), brief(f.Window), as}
	})
}

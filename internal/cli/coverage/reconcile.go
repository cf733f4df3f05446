package coverage

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// Reconciled is one window, counted twice, with a word about what is not known.
type Reconciled struct {
	view.Reconciled
	Note string `json:"note,omitempty"`
}

// newReconciled says why a number is not known.
func newReconciled(r view.Reconciled) Reconciled {
	switch {
	case r.Read == nil:
		return Reconciled{r, "it was not read in slices that add up to it"}
	case r.Upstream == nil:
		return Reconciled{r, "the upstream did not tell a total"}
	}
	return Reconciled{Reconciled: r}
}

type reconciling struct {
	gapQuery
	SettingFlags
	by        string
	tolerance float64
	most      int
}

func newCoverageReconcile(e *term.Env) *cobra.Command {
	r := reconciling{}
	c := &cobra.Command{
		Use:   "reconcile SRC",
		Short: "Ask the upstream for counts and compare with what was read; exit code 9 if short",
		Long: `Ask the upstream how many items each day (or --by unit) has now, through the
rate gate like any other request, and compare with what the newest reading of
that time had.

The number read is the number of items in the last successful reading of each slice.
Items in quarantine count, items outside the window do not. Items that changed since
then have moved to a later date, so it is no finding if the upstream has fewer. If it
has more, the window is SHORT, and that is a finding. A window is UNKNOWN if the
upstream gives no total, or if the slices that were read do not add up to it. If the
upstream gave no total for a window, and none is SHORT, the exit code is 7.

What is SHORT stays a finding of ` + "`patra status`" + ` until it was read again and had
enough, or until a later comparison agrees.

Time that is not covered is not compared: it is a gap, see ` + "`patra coverage gaps`" + `.`,
		Example: `  patra coverage reconcile crossref --from -30d
  patra coverage reconcile crossref --from 2024-01-01 --to 2025-01-01 --by month
  patra coverage reconcile crossref --from -7d --tolerance 0.5 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.Parse(); err != nil {
				return err
			}
			z, err := parseZoom(r.by)
			if err != nil {
				return err
			}
			if r.tolerance < 0 || r.tolerance >= 100 {
				return term.Usagef("--tolerance %v: expected a percentage from 0 to below 100", r.tolerance)
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showReconciled(cmd.Context(), e, app, args[0], r, z) })
		},
	}
	r.gapQuery.Flags(c, "the start of the first harvest", "the end of the newest harvest")
	r.SettingFlags.addFlags(c)
	c.Flags().StringVar(&r.by, "by", string(inspect.Day), "length of the windows that are counted: "+zooms)
	c.Flags().Float64Var(&r.tolerance, "tolerance", 0, "percent that may be missing without a finding")
	c.Flags().IntVar(&r.most, "most", 400, "how many windows to ask for at most; each is one request")
	return c
}

func showReconciled(ctx context.Context, e *term.Env, app *daemon.App, code string, r reconciling, z zoom) error {
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return err
	}
	covered, err := FindCoverage(ctx, e, app, src)
	if err != nil {
		return err
	}
	out, short, silent := []Reconciled{}, 0, 0
	err = forEachCoverage(e, covered, r.gapQuery, func(b inspect.EndpointCoverage, within window.Window) error {
		found, err := reconcileEndpoint(ctx, e, app, b, within, r, z)
		for _, one := range found {
			if one.Verdict == view.CountsShort {
				short++
			}
			if one.Silent() {
				silent++
			}
		}
		out = append(out, found...)
		return err
	})
	if err != nil {
		return err
	}
	if err := term.PrintList(e, out, reconciledColumns()); err != nil {
		return err
	}
	e.Hint("what the upstream counts now was compared with the items that the newest reading of each window had, quarantined ones included")
	if short > 0 {
		return term.Findingsf("%s: %s short of what the upstream has; `patra status %s` names the command that reads them again", code, wording.Count(short, "window"), code)
	}
	if silent > 0 { // not compared is not the same as equal
		return term.WithCode(term.ExitUpstream, fmt.Errorf("%s: the upstream told no total for %s: try again later; `patra source test %s` shows whether it tells one at all",
			code, wording.Count(silent, "window"), code))
	}
	return nil
}

func reconcileEndpoint(ctx context.Context, e *term.Env, app *daemon.App, b inspect.EndpointCoverage, within window.Window, r reconciling, z zoom) (out []Reconciled, err error) {
	with, err := r.compileSource(ctx, app, b, ingest.Harvest)
	if err != nil {
		return nil, err
	}
	q := inspect.ReconcileQuery{Within: within, By: inspect.Unit(z), Tolerance: r.tolerance, Most: r.most, With: with}
	found, err := app.Inspect.Reconcile(ctx, b, q)
	if err != nil {
		return nil, orTooFine(err)
	}
	if err := app.Cursors.NoteCounts(ctx, found.Checks); err != nil {
		return nil, err
	}
	for _, one := range found.Windows {
		out = append(out, newReconciled(one))
	}
	if !found.Stopped.IsZero() {
		e.Hint("stopped after %d windows: allow more with --most, or continue with --from %s", r.most, wording.DateOrSecond(found.Stopped))
	}
	if found.Skipped > 0 {
		e.Hint("%s of %s: not covered, or waived, so not compared", wording.Count(found.Skipped, "window"), b.Endpoint)
	}
	return out, nil
}

func reconciledColumns() term.Columns[Reconciled] {
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return term.NewColumns([]string{"endpoint", "window", "upstream", "read", "missing", "verdict"}, func(r Reconciled) []any {
		missing := "-"
		if r.Upstream != nil && r.Read != nil {
			missing = fmt.Sprint(max(0, *r.Upstream-*r.Read))
		}
		verdict := string(r.Verdict)
		if r.Note != "" {
			verdict += ": " + r.Note
		}
		return []any{wording.Shorten(r.Endpoint, 14), wording.WindowText(r.Window), number(r.Upstream), number(r.Read), missing, verdict}
	})
}

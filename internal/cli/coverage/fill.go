package coverage

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// Filled is a range that is planned, or would be.
type Filled = view.Filled

func newCoverageFill(e *term.Env) *cobra.Command {
	var q gapQuery
	var a term.Acting
	var with SettingFlags
	c := &cobra.Command{
		Use:   "fill SRC",
		Short: "Plan exactly what is missing, and nothing else",
		Long: `Plan exactly the gaps that ` + "`patra coverage gaps`" + ` lists for the same range. What
a harvest owes is planned as HARVEST, also where a retry is not due yet. Time
before the start of its watermark becomes a BACKFILL campaign, one for each
range, which never touches the watermark. What is being worked on already is
left out.

With --partition only that part of a list is planned, where it is behind the others.

The plans are queued: ` + "`patra serve`" + ` works on them, or the next harvest.`,
		Example: `  patra coverage fill crossref --dry-run
  patra coverage fill crossref --reason their-outage
  patra coverage fill arxiv --partition set=cs
  patra coverage fill crossref --from 2020-01-01 --to 2021-01-01 --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.Parse(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return fillGaps(cmd.Context(), e, app, args[0], q, a, with) })
		},
	}
	q.Flags(c, "the start of the first harvest", "the end of the newest harvest")
	c.Flags().BoolVar(&q.all, "all", false, "from the declared earliest instant of the source to now")
	addPartitionFlag(c, &q.partition)
	a.Flags(c)
	with.addFlags(c)
	return c
}

// SettingFlags are overrides of commands that act on the watermark of a source: they
// may change how it is asked, never what.
type SettingFlags struct{ set []string }

func (s *SettingFlags) addFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.set, "set", nil, "override a setting for this run, such as contact.email=you@example.org")
}

// compileSource is the source of an endpoint under the settings.
func (s SettingFlags) compileSource(ctx context.Context, app *daemon.App, b inspect.EndpointCoverage, op ingest.Operation) (*spec.Compiled, error) {
	overrides, err := term.ParseOverrides(s.set)
	if err != nil {
		return nil, err
	}
	compiled, err := app.Compile(ctx, b.Source, b.Endpoint, op, overrides)
	if err != nil {
		return nil, err
	}
	if at, err := compiled.Namespace(); err != nil || at != b.At {
		return nil, term.Usagef("--set changes what is asked for, and that has a watermark of its own: leave out the setting that changes it")
	}
	return compiled, nil
}

func fillGaps(ctx context.Context, e *term.Env, app *daemon.App, code string, q gapQuery, a term.Acting, with SettingFlags) error {
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
	out := []Filled{}
	err = forEachCoverage(e, covered, q, func(b inspect.EndpointCoverage, within window.Window) error {
		missing, err := FindMissing(ctx, e, app, b, q.gapsOf(b, within))
		if err != nil {
			return err
		}
		if q.partition != "" {
			planned, _, err := app.FillSector(ctx, b, q.partition, missing.Owed, a.Act(), with.compileFor(app, b))
			out = append(out, planned...)
			return err
		}
		planned, err := FillOwed(ctx, app, b, missing.Owed, a, with)
		if err != nil {
			return err
		}
		begun, err := fillHistory(ctx, app, b, missing.History, a, with)
		out = append(out, append(planned, begun...)...)
		return err
	})
	if err != nil {
		return err
	}
	if len(out) == 0 {
		e.Hint("there is nothing to fill")
	}
	if err := term.PrintList(e, out, filledColumns()); err != nil {
		return err
	}
	if e.HintDryRun(a.Dry); !a.Dry && len(out) > 0 {
		e.Hint("`patra serve` works on them, or the next `patra harvest %s`", code)
	}
	return nil
}

// FindMissing finds what has to be planned, and says what is worked on already.
func FindMissing(ctx context.Context, e *term.Env, app *daemon.App, b inspect.EndpointCoverage, gaps []view.Gap) (inspect.Missing, error) {
	missing, err := app.Inspect.Missing(ctx, b, gaps)
	if missing.Open > 0 {
		e.Hint("%s of %s: worked on already, so left out", wording.Count(missing.Open, "window"), b.Endpoint)
	}
	return missing, err
}

// FillOwed plans what a harvest owes.
func FillOwed(ctx context.Context, app *daemon.App, b inspect.EndpointCoverage, owed []window.Window, a term.Acting, with SettingFlags) ([]Filled, error) {
	out, _, err := app.FillOwed(ctx, b, owed, a.Act(), with.compileFor(app, b))
	return out, err
}

// compileFor compiles the source of an endpoint under the settings.
func (s SettingFlags) compileFor(app *daemon.App, b inspect.EndpointCoverage) daemon.CompileOp {
	return func(ctx context.Context, op ingest.Operation) (*spec.Compiled, error) {
		return s.compileSource(ctx, app, b, op)
	}
}

func fillHistory(ctx context.Context, app *daemon.App, b inspect.EndpointCoverage, history []window.Window, a term.Acting, with SettingFlags) ([]Filled, error) {
	out, err := app.FillHistory(ctx, b, history, a.Act(), with.compileFor(app, b), with.set)
	var many daemon.TooManyRangesError
	if errors.As(err, &many) {
		return out, term.Usagef("%v", many)
	}
	return out, err
}

func filledColumns() term.Columns[Filled] {
	return term.NewColumns([]string{"endpoint", "operation", "window", "planned as"}, func(f Filled) []any {
		as := f.Note
		switch {
		case as != "":
		case f.Campaign != "":
			as = "campaign " + wording.Shorten(f.Campaign, 40)
		case f.PlanID != 0:
			as = fmt.Sprintf("plan %d, %s", f.PlanID, wording.Count(f.Slices, "slice"))
		default:
			as = wording.Count(f.Slices, "slice")
		}
		return []any{wording.Shorten(f.Endpoint, 14), string(f.Operation), wording.WindowText(f.Window), as}
	})
}

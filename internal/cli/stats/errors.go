package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

var levels = []fault.Level{fault.Transient, fault.Request, fault.Data, fault.Fatal}

func newErrors(e *term.Env) *cobra.Command {
	var a asked
	var level string
	var limit int
	c := &cobra.Command{
		Use:   "errors",
		Short: "Show the most frequent errors, with a run and batch that met each",
		Long: `Show the errors of runs that ended in the last 24 hours, or between --from and --to,
the most frequent first. L1 may work when tried again, L2 will not, L3 are
items that were rejected, L4 needs a person. RUN and BATCH met it last: see
patra run show RUN. An hour that is only partly in the range counts as a whole.`,
		Example: `  patra stats errors
  patra stats errors --level L4 --from -7d
  patra stats errors --source crossref --limit 5 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.parse(); err != nil {
				return err
			}
			if err := term.CheckLimit(limit); err != nil {
				return err
			}
			q := view.ErrorQuery{Source: a.source, Operation: ingest.Operation(a.operation), Level: fault.Level(strings.ToUpper(level))}
			if q.From, q.To = a.ends(); q.Level != "" && !slices.Contains(levels, q.Level) {
				return term.Usagef("--level %s: expected L1, L2, L3 or L4", level)
			}
			return e.ReadSource(cmd.Context(), a.source, func(app *daemon.App) error {
				found, err := app.Inspect.TopErrors(cmd.Context(), q)
				if err != nil {
					return err
				}
				return printErrors(e, found, limit)
			})
		},
	}
	a.flags(c)
	c.Flags().StringVar(&level, "level", "", "only L1, L2, L3 or L4")
	term.LimitFlag(c, &limit, "how many to show, the most frequent ones")
	return c
}

func printErrors(e *term.Env, found []view.ErrorSum, limit int) error {
	page := view.Whole(found)
	if len(found) > limit {
		e.Hint("%d more, each less frequent: a higher --limit shows them", len(found)-limit)
		page = view.List[view.ErrorSum]{Items: found[:limit], More: true}
	}
	if len(found) == 0 {
		e.Hint("no errors in this range")
	}
	return term.PrintPage(e, page, term.NewColumns(
		[]string{"level", "code", "source", "endpoint", "operation", "times", "last", "run", "batch"},
		func(s view.ErrorSum) []any {
			batch := "-"
			if s.BatchNo > 0 {
				batch = fmt.Sprint(s.BatchNo)
			}
			return []any{string(s.Level), s.Code, wording.Shorten(s.Source, 14), wording.Shorten(s.Endpoint, 12), string(s.Operation), s.Times, s.LastAt, s.RunID, batch}
		},
	))
}

package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// New makes the commands that add up many runs.
func New(e *term.Env) *cobra.Command {
	return term.NewGroup("stats", "Ask how the work goes: the queue, what was done over time, the most frequent errors", newQueue(e), newThroughput(e), newErrors(e))
}

// asked is what all of them can be narrowed to.
type asked struct {
	term.RangeFlags
	source, operation string
}

func (a *asked) flags(c *cobra.Command) {
	a.RangeFlags.Flags(c, "24 hours before the end", "now")
	c.Flags().StringVar(&a.source, "source", "", "only this source")
	c.Flags().StringVar(&a.operation, "operation", "", "only HARVEST, BACKFILL or UPDATE")
}

func (a *asked) parse() error {
	if a.operation = strings.ToUpper(a.operation); a.operation != "" && !slices.Contains(operations, ingest.Operation(a.operation)) {
		return term.Usagef("--operation %s: expected HARVEST, BACKFILL or UPDATE", a.operation)
	}
	return a.Parse()
}

var operations = []ingest.Operation{ingest.Harvest, ingest.Backfill, ingest.Update}

func (a *asked) ends() (from, to time.Time) {
	if a.From != nil {
		from = *a.From
	}
	if a.To != nil {
		to = *a.To
	}
	return from, to
}

func (a *asked) query() view.SumQuery {
	q := view.SumQuery{Source: a.source, Operation: ingest.Operation(a.operation)}
	q.From, q.To = a.ends()
	return q
}

func newQueue(e *term.Env) *cobra.Command {
	var a asked
	c := &cobra.Command{
		Use:   "queue",
		Short: "Show how the work of each source and operation stands, and how it went lately",
		Long: `Show the queue by source, endpoint and operation. WAIT and RUN are tasks now. The
other columns are about runs that ended in the last 24 hours, or between --from and
--to: how many an hour, the share that failed, the time within which the upstream
gave half of its answers (P50) and 95 of 100 (P95), and answers 429 over batches.
The mean and the slowest answer are in -o json.`,
		Example: `  patra stats queue
  patra stats queue --source crossref --from -1h
  patra stats queue -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.parse(); err != nil {
				return err
			}
			return e.ReadSource(cmd.Context(), a.source, func(app *daemon.App) error {
				rows, err := app.Inspect.Queue(cmd.Context(), a.query())
				if err != nil {
					return err
				}
				return term.PrintList(e, rows, queueColumns())
			})
		},
	}
	a.flags(c)
	return c
}

func queueColumns() term.Columns[view.QueueState] {
	heads := []string{"source", "endpoint", "operation", "wait", "run", "runs/h", "failed", "p50", "p95", "429"}
	return term.NewColumns(heads, func(q view.QueueState) []any {
		row := []any{wording.Shorten(q.Source, 14), wording.Shorten(q.Endpoint, 12), string(q.Operation), q.Waiting, q.Running}
		if q.Recent == nil {
			return append(row, "-", "-", "-", "-", "-")
		}
		r := q.Recent
		return append(row, fmt.Sprintf("%.1f", q.TakenPerHour), percent(r.FailureShare()), percentile(r, 50), percentile(r, 95), percent(r.ThrottledShare()))
	})
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// percentile says within which time so many of a hundred answers came, as far as it is known.
func percentile(s *view.WorkSum, percent float64) string {
	switch took := s.Percentile(percent); {
	case s.Latencies.Answers() == 0:
		return "-"
	case took < time.Millisecond:
		return "<1ms"
	default:
		return took.Round(time.Millisecond).String()
	}
}

func newThroughput(e *term.Env) *cobra.Command {
	var a asked
	var step string
	c := &cobra.Command{
		Use:   "throughput",
		Short: "Show what was read over time, by source and operation",
		Long: `Show what was done by runs that ended in the last 24 hours, or between --from and
--to: a row for each step of time, source and operation. A run counts where it ended.
NEW and UPD were stored, REJ rejected; ERR are errors of L1 and L2 over batches, 429
answers that asked to slow down over batches.

Steps under an hour are known for the last two days, at most six hours at once.`,
		Example: `  patra stats throughput
  patra stats throughput --source crossref --from -7d --step 1d
  patra stats throughput --from -2h --step 10m -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.parse(); err != nil {
				return err
			}
			q := a.query()
			var err error
			if q.Step, err = parseStep(step); err != nil {
				return err
			}
			return e.ReadSource(cmd.Context(), a.source, func(app *daemon.App) error {
				rows, err := app.Inspect.Throughput(cmd.Context(), q)
				if err != nil {
					return err
				}
				return term.PrintList(e, rows, throughputColumns())
			})
		},
	}
	a.flags(c)
	c.Flags().StringVar(&step, "step", "1h", "length of a step: 5m, 1h, 1d, or all for one row")
	return c
}

// parseStep reads a step of time; whole slots only, so that no run counts in two.
func parseStep(text string) (time.Duration, error) {
	if text == "all" {
		return 0, nil
	}
	d, err := term.ParseDuration(text)
	if err != nil {
		return 0, term.Usagef("--step %q: %v", text, err)
	}
	short, hour := time.Duration(view.ShortSlot), time.Duration(view.HourSlot)
	if d <= 0 || d < hour && d%short != 0 || d >= hour && d%hour != 0 {
		return 0, term.Usagef("--step %s: expected a multiple of 5 minutes up to an hour, or whole hours", text)
	}
	return d, nil
}

func throughputColumns() term.Columns[view.WorkSum] {
	heads := []string{"from", "source", "operation", "runs", "batches", "seen", "new", "upd", "rej", "requests", "err", "429"}
	return term.NewColumns(heads, func(s view.WorkSum) []any {
		return []any{
			s.From, wording.Shorten(s.Source, 12), string(s.Operation), s.Runs.Total(), s.Batches, s.Items.Seen, s.Items.Inserted, s.Items.Updated, s.Items.Quarantined,
			s.Requests, percent(s.ErrorShare()), percent(s.ThrottledShare()),
		}
	})
}

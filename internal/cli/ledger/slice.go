package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewSlice(e *term.Env) *cobra.Command {
	return term.NewGroup("slice", "Look at slices: the parts a plan is cut into", newSliceList(e), newSliceShow(e))
}

func newSliceList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Slice]{
		Noun: "slices", Statuses: sliceStatuses(),
		Columns: sliceColumns(),
		ID:      func(s view.Slice) int64 { return s.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Slice, error) {
			return app.Plans.ListSlices(ctx, f)
		},
	}
	c, f := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List slices, newest first",
		Example: `  patra slice list --plan 3
  patra slice list --source crossref --status FAILED
  patra slice list --source arxiv --partition set=cs --status FAILED
  patra slice list --limit 200 -o json`,
	})
	f.IDFlag(c, &f.PlanID, "plan")
	c.Flags().StringVar(&f.Sector, "partition", "", "only for this part of a list, such as set=cs")
	return c
}

func sliceColumns() term.Columns[view.Slice] {
	return term.NewColumns([]string{"id", "plan", "no", "source", "status", "window", "partition", "parent", "task"}, func(s view.Slice) []any {
		return []any{s.ID, s.PlanID, s.No, wording.Shorten(s.Source, 12), s.Status, term.WindowToMinuteOrDash(s.Window), wording.OrDash(wording.Shorten(s.Partition, 17)), term.IDOrDash(s.ParentID), term.IDOrDash(s.TaskID)}
	})
}

func newSliceShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "slice", &cobra.Command{
		Short: "Show one slice: what it asks for, its task and its runs",
		Long: `Show one slice: the range of time it owns, the expression it asks with, its limits
and what the planner expected of it, its task and all runs.`,
		Example: `  patra slice show 17
  patra slice show 17 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error { return showSlice(ctx, e, app, id) })
}

func showSlice(ctx context.Context, e *term.Env, app *daemon.App, id int64) error {
	s, err := app.Inspect.Slice(ctx, id)
	if err != nil {
		return err
	}
	if err := term.PrintFacts(e, s, sliceFacts(s)); err != nil || e.Output == "json" {
		return err
	}
	fmt.Fprintf(e.Out, "\nspecification\n%s\n", term.IndentJSON(s.Spec))
	if len(s.Runs) == 0 {
		_, err := fmt.Fprintln(e.Out, "\nno runs yet")
		return err
	}
	fmt.Fprintln(e.Out, "\nruns")
	return term.PrintList(e, s.Runs, runColumns())
}

func sliceFacts(s view.SliceReport) []term.Fact {
	owned := "no range of time"
	if s.Window != nil {
		owned = wording.WindowText(*s.Window)
	}
	task := "-"
	if s.Task != nil {
		task = fmt.Sprintf("%d %s, tried %d times, last error %s", s.Task.ID, s.Task.Status, s.Task.Attempts, wording.FailureText(s.Task.ErrorCode, s.Task.Error))
	}
	return []term.Fact{
		{"slice", s.ID},
		{"plan", fmt.Sprintf("%d (slice %d)", s.PlanID, s.No)},
		{"cut from slice", term.IDOrDash(s.ParentID)},
		{"source", s.Source},
		{"status", s.Status},
		{"owns", owned},
		{"ids", term.Wrap(rangeText(s.Range()))},
		{"partition", wording.OrDash(s.Partition)},
		{"expression", term.Wrap(s.Text)},
		{"expression hash", s.ExprHash},
		{"signature", s.Signature},
		{"expected", term.Wrap(expectedText(s.Spec))},
		{"task", term.Wrap(task)},
		{"remarks", term.Wrap(wording.OrDash(string(s.Remarks)))},
		{"created", s.CreatedAt},
		{"changed", s.UpdatedAt},
	}
}

// expectedText is what the planner expected of a slice, as it noted it.
func expectedText(stored json.RawMessage) string {
	var spec struct{ Telemetry json.RawMessage }
	if json.Unmarshal(stored, &spec) != nil || string(spec.Telemetry) == "{}" {
		return "-"
	}
	return wording.OrDash(string(spec.Telemetry))
}

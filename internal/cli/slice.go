package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSlice(e *env) *cobra.Command {
	return group("slice", "Look at slices: the parts a plan is cut into", newSliceList(e), newSliceShow(e))
}

func newSliceList(e *env) *cobra.Command {
	f := &filter{statuses: sliceStatuses()}
	c := &cobra.Command{
		Use:   "list",
		Short: "List slices, newest first",
		Example: `  patra slice list --plan 3
  patra slice list --source crossref --status FAILED
  patra slice list --limit 200 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				parts, err := app.Plans.ListSlices(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return listPage(e, page(e, "slices", parts, f.Limit, func(s view.Slice) int64 { return s.ID }), sliceColumns())
			})
		},
	}
	f.flags(c)
	f.idFlag(c, &f.PlanID, "plan")
	return c
}

func sliceColumns() columns[view.Slice] {
	return newColumns([]string{"id", "plan", "no", "source", "status", "window", "parent", "task", "signature"}, func(s view.Slice) []any {
		return []any{s.ID, s.PlanID, s.No, short(s.Source, 14), s.Status, maybeSpan(s.Window), idOrDash(s.ParentID), idOrDash(s.TaskID), short(s.Signature, 13)}
	})
}

func idOrDash(id int64) any {
	if id == 0 {
		return "-"
	}
	return id
}

// sliceDetail is a slice with its task and everything that was tried.
type sliceDetail struct {
	view.SliceDetail
	Text string     `json:"exprText"`
	Task *view.Task `json:"task"`
	Runs []view.Run `json:"runs"`
}

func newSliceShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one slice: what it asks for, its task and its runs",
		Long: `Show one slice: the stretch of time it owns, the expression it asks with, its limits
and what the planner expected of it, its task and all runs.`,
		Example: `  patra slice show 17
  patra slice show 17 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("slice", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showSlice(cmd.Context(), app, id) })
		},
	}
}

func (e *env) showSlice(ctx context.Context, app *daemon.App, id int64) error {
	stored, err := app.Plans.ShowSlice(ctx, id)
	if err != nil {
		return fmt.Errorf("slice %d: %w", id, err)
	}
	s := sliceDetail{SliceDetail: stored, Text: exprText(stored.Expr), Runs: []view.Run{}}
	if s.TaskID != 0 {
		tasks, err := app.Tasks.List(ctx, view.Filter{TaskID: s.TaskID, Limit: 1})
		if err != nil {
			return err
		}
		runs, err := app.Tasks.ListRuns(ctx, view.Filter{TaskID: s.TaskID, Limit: taskRuns})
		if err != nil {
			return err
		}
		for _, task := range tasks {
			s.Task = &task
		}
		s.Runs = append(s.Runs, runs...)
	}
	if err := show(e, s, sliceFacts(s)); err != nil || e.output == "json" {
		return err
	}
	fmt.Fprintf(e.out, "\nspecification\n%s\n", pretty(s.Spec))
	if len(s.Runs) == 0 {
		_, err := fmt.Fprintln(e.out, "\nno runs yet")
		return err
	}
	fmt.Fprintln(e.out, "\nruns")
	return list(e, s.Runs, runColumns())
}

func sliceFacts(s sliceDetail) []fact {
	owned := "no stretch of time"
	if s.Window != nil {
		owned = brief(*s.Window)
	}
	task := "-"
	if s.Task != nil {
		task = fmt.Sprintf("%d %s, tried %d times, last error %s", s.Task.ID, s.Task.Status, s.Task.Attempts, failure(s.Task.ErrorCode, s.Task.Error))
	}
	return []fact{
		{"slice", s.ID},
		{"plan", fmt.Sprintf("%d (slice %d)", s.PlanID, s.No)},
		{"cut from slice", idOrDash(s.ParentID)},
		{"source", s.Source},
		{"status", s.Status},
		{"owns", owned},
		{"expression", wrapped(s.Text)},
		{"expression hash", s.ExprHash},
		{"signature", s.Signature},
		{"expected", wrapped(telemetry(s.Spec))},
		{"task", wrapped(task)},
		{"remarks", wrapped(dash(string(s.Remarks)))},
		{"created", s.CreatedAt},
		{"changed", s.UpdatedAt},
	}
}

// telemetry is what the planner expected of a slice, as it noted it.
func telemetry(stored json.RawMessage) string {
	var spec struct{ Telemetry json.RawMessage }
	if json.Unmarshal(stored, &spec) != nil || string(spec.Telemetry) == "{}" {
		return "-"
	}
	return dash(string(spec.Telemetry))
}

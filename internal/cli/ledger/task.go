package ledger

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewTask(e *term.Env) *cobra.Command {
	return term.NewGroup("task", "Look at the queue, stop tasks and try them again: one task per slice of a plan",
		newTaskList(e), newTaskShow(e), newTaskCancel(e), newTaskRetry(e))
}

func newTaskList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Task]{
		Noun: "tasks", Statuses: term.StatusTexts(ingest.TaskScheduled, ingest.TaskQueued, ingest.TaskDispatched, ingest.TaskExecuting,
			ingest.TaskSucceeded, ingest.TaskFailed, ingest.TaskPartial, ingest.TaskCancelled),
		Columns: taskColumns(),
		ID:      func(t view.Task) int64 { return t.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Task, error) {
			return app.Tasks.List(ctx, f)
		},
	}
	c, f := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Example: `  patra task list
  patra task list --source crossref --status FAILED
  patra task list --plan 3 --limit 200 -o json`,
	})
	f.IDFlag(c, &f.PlanID, "plan")
	return c
}

func taskColumns() term.Columns[view.Task] {
	return term.NewColumns([]string{"id", "plan", "source", "operation", "status", "window", "tries", "waits", "error"}, func(t view.Task) []any {
		return []any{t.ID, t.PlanID, wording.Shorten(t.Source, 14), t.Operation, t.Status, term.WindowToMinute(t.Window), t.Attempts, wording.WaitCode(t.Waits), wording.OrDash(t.ErrorCode)}
	})
}

func newTaskShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "task", &cobra.Command{
		Short: "Show one task with its lease, its last error and its runs",
		Example: `  patra task show 17
  patra task show 17 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error { return showTask(ctx, e, app, id) })
}

func showTask(ctx context.Context, e *term.Env, app *daemon.App, id int64) error {
	detail, err := app.Inspect.Task(ctx, id)
	if err != nil {
		return err
	}
	if e.Output == "json" {
		return e.JSON(detail)
	}
	facts := append(taskFacts(detail.Task),
		term.Fact{"answers", term.Wrap(wording.OrDash(wording.StatusesText(detail.Stats.Statuses)))},
		term.Fact{"automatic", term.Wrap(wording.OrDash(wording.ActionsText(detail.Stats.Actions)))})
	facts = append(facts, memberFacts(detail.Stats.Members)...)
	if detail.Paused != nil {
		facts = append(facts, term.Fact{"paused", term.Wrap(detail.Paused.String())})
	}
	if detail.Waits != nil {
		facts = append(facts, term.Fact{"waits", term.Wrap(wording.TaskWaitText(*detail.Waits))})
	}
	if err := term.PrintFacts(e, detail.Task, append(facts, term.Fact{"next", term.Wrap(detail.Next)})); err != nil {
		return err
	}
	if len(detail.Runs) == 0 {
		_, err := fmt.Fprintln(e.Out, "\nno runs yet")
		return err
	}
	fmt.Fprintln(e.Out, "\nruns")
	return term.PrintList(e, detail.Runs, runColumns())
}

func taskFacts(t view.Task) []term.Fact {
	lease := fmt.Sprintf("none (epoch %d)", t.LeaseEpoch)
	if t.LeaseOwner != "" {
		lease = fmt.Sprintf("%s until %s (epoch %d)", t.LeaseOwner, wording.SecondText(t.LeasedUntil), t.LeaseEpoch)
	}
	return []term.Fact{
		{"task", t.ID},
		{"plan", t.PlanID},
		{"slice", t.SliceID},
		{"source", t.Source + " " + t.Endpoint + " " + t.Operation},
		{"status", t.Status},
		{"window", wording.WindowText(t.Window)},
		{"priority", t.Priority},
		{"due", t.ScheduledAt},
		{"attempts", t.Attempts},
		{"leased by", lease},
		{"started", t.StartedAt},
		{"finished", t.FinishedAt},
		{"last error", wording.FailureText(t.ErrorCode, t.Error)},
		{"fingerprint", t.Spec},
		{"key", t.Key},
	}
}

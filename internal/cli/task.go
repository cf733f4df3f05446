package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newTask(e *env) *cobra.Command {
	return group("task", "Look at the queue, stop tasks and try them again: one task per slice of a plan",
		newTaskList(e), newTaskShow(e), newTaskCancel(e), newTaskRetry(e))
}

func newTaskList(e *env) *cobra.Command {
	f := &filter{statuses: statusTexts(ingest.TaskScheduled, ingest.TaskQueued, ingest.TaskDispatched, ingest.TaskExecuting,
		ingest.TaskSucceeded, ingest.TaskFailed, ingest.TaskPartial, ingest.TaskCancelled)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Example: `  patra task list
  patra task list --source crossref --status FAILED
  patra task list --plan 3 --limit 200 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				tasks, err := app.Tasks.List(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return listPage(e, page(e, "tasks", tasks, f.Limit, func(t view.Task) int64 { return t.ID }), taskColumns())
			})
		},
	}
	f.flags(c)
	f.idFlag(c, &f.PlanID, "plan")
	return c
}

func taskColumns() columns[view.Task] {
	return newColumns([]string{"id", "plan", "source", "operation", "status", "window", "tries", "waits", "error"}, func(t view.Task) []any {
		return []any{t.ID, t.PlanID, short(t.Source, 14), t.Operation, t.Status, span(t.Window), t.Attempts, waitsFor(t.Waits), dash(t.ErrorCode)}
	})
}

// taskDetail is a task with everything that was tried.
type taskDetail struct {
	view.Task
	Paused *ingest.Pause `json:"paused,omitempty"` // why it waits
	Next   string        `json:"next"`             // what happens now
	Runs   []view.Run    `json:"runs"`
}

func partitionOf(t view.Task) ingest.Partition {
	return ingest.Partition{Dataset: ingest.Dataset{Source: t.Source, Endpoint: t.Endpoint}, Operation: ingest.Operation(t.Operation)}
}

func newTaskShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one task with its lease, its last error and its runs",
		Example: `  patra task show 17
  patra task show 17 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("task", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showTask(cmd.Context(), app, id) })
		},
	}
}

// taskRuns is how many runs a task's detail shows; a task is given up long before.
const taskRuns = 200

func (e *env) showTask(ctx context.Context, app *daemon.App, id int64) error {
	tasks, err := app.Tasks.List(ctx, view.Filter{TaskID: id, Limit: 1})
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		return fmt.Errorf("task %d: %w", id, fault.ErrNotFound)
	}
	t := tasks[0]
	runs, err := app.Tasks.ListRuns(ctx, view.Filter{TaskID: id, Limit: taskRuns})
	if err != nil {
		return err
	}
	pause, paused, err := app.Conditions.FindPause(ctx, partitionOf(t))
	if err != nil {
		return err
	}
	detail, facts := taskDetail{Task: t, Next: taskNext(t), Runs: append([]view.Run{}, runs...)}, taskFacts(t)
	if paused && !ingest.TaskStatus(t.Status).Terminal() {
		detail.Paused, detail.Next = &pause, pause.Resuming()
		facts = append(facts, fact{"paused", wrapped(pause.String())})
	}
	if t.Waits != nil {
		facts = append(facts, fact{"waits", wrapped(waiting(*t.Waits))})
	}
	if e.output == "json" {
		return e.json(detail)
	}
	if err := show(e, t, append(facts, fact{"next", wrapped(detail.Next)})); err != nil {
		return err
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(e.out, "\nno runs yet")
		return err
	}
	fmt.Fprintln(e.out, "\nruns")
	return list(e, runs, runColumns())
}

func taskFacts(t view.Task) []fact {
	lease := fmt.Sprintf("nobody (epoch %d)", t.LeaseEpoch)
	if t.LeaseOwner != "" {
		lease = fmt.Sprintf("%s until %s (epoch %d)", t.LeaseOwner, when(t.LeasedUntil), t.LeaseEpoch)
	}
	return []fact{
		{"task", t.ID},
		{"plan", t.PlanID},
		{"slice", t.SliceID},
		{"source", t.Source + " " + t.Endpoint + " " + t.Operation},
		{"status", t.Status},
		{"window", brief(t.Window)},
		{"priority", t.Priority},
		{"due", t.ScheduledAt},
		{"attempts", t.Attempts},
		{"leased by", lease},
		{"started", t.StartedAt},
		{"finished", t.FinishedAt},
		{"last error", failure(t.ErrorCode, t.Error)},
		{"fingerprint", t.Spec},
		{"key", t.Key},
	}
}

// failure writes a fault once: its text often begins with its code.
func failure(code, text string) string {
	switch {
	case text == "":
		return dash(code)
	case strings.HasPrefix(text, code):
		return text
	}
	return code + ": " + text
}

package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// picking are the flags that choose tasks.
type picking struct {
	term.Acting
	plan                      int64
	source, operation, status string
	yes                       bool
}

func (p *picking) addFlags(c *cobra.Command) {
	p.Acting.Flags(c)
	c.Flags().Int64Var(&p.plan, "plan", 0, "all of this plan")
	c.Flags().StringVar(&p.source, "source", "", "all of this source, or SRC/ENDPOINT")
	c.Flags().StringVar(&p.operation, "op", "", "with --source: only this operation")
	c.Flags().BoolVar(&p.yes, "yes", false, "do it to all that --plan or --source choose")
}

// parsePick reads what was chosen: ids, a plan or a source.
func (p picking) parsePick(ctx context.Context, app *daemon.App, args []string) (pick ingest.TaskPick, err error) {
	chosen := 0
	for _, is := range []bool{len(args) > 0, p.plan != 0, p.source != ""} {
		if is {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return pick, term.Usagef("name tasks by their ids, or all of a --plan, or all of a --source")
	case p.operation != "" && p.source == "":
		return pick, term.Usagef("--op goes with --source")
	case p.plan < 0:
		return pick, term.Usagef("--plan %d: expected an id, a whole number from 1", p.plan)
	case p.source != "":
		pick.Scope, err = subject.ParseScope(ctx, app, p.source, p.operation)
		return pick, err
	}
	pick.PlanID = p.plan
	for _, arg := range args {
		id, err := term.ParseID("task", arg)
		if err != nil {
			return pick, err
		}
		pick.IDs = append(pick.IDs, id)
	}
	return pick, nil
}

// performOnTasks shows what would be done to many tasks, and does it if that was agreed to.
func performOnTasks(e *term.Env, pick ingest.TaskPick, p picking, do func(ingest.Act) (view.TasksDone, error), facts func(view.TasksDone) []term.Fact) error {
	act := p.Act()
	unsure := !pick.Named() && !p.yes && !p.Dry
	act.Rehearsal = p.Dry || unsure
	done, err := do(act)
	if err != nil {
		return err
	}
	if err := term.PrintFacts(e, done, facts(done)); err != nil {
		return err
	}
	switch {
	case unsure && done.Changed() > 0:
		return term.Usagef("%s would be changed: add --yes to do it, or --dry-run to only look", wording.Count(done.Changed(), "task"))
	case done.Changed() == 0 && !pick.Named():
		e.Hint("no tasks match: nothing was changed")
	default:
		e.HintDryRun(p.Dry)
	}
	return nil
}

func newTaskCancel(e *term.Env) *cobra.Command {
	var p picking
	c := &cobra.Command{
		Use:   "cancel [ID…]",
		Short: "Stop tasks; what they have not read stays owed",
		Long: `Stop tasks: those with the given ids, or all of a plan or a source. Tasks without a
worker are cancelled at once; workers stop after the page they are reading. What was
read stays. What was not read stays owed: it shows as a gap, and a later plan asks
for it again. To go on with the same tasks, retry them.

If --plan or --source chooses several tasks, they are only counted unless you add
--yes. If you name tasks by id, all are cancelled or none: the exit code is 5 if one
is unknown, 6 if one has ended. Cancelling a cancelled task changes nothing.`,
		Example: `  patra task cancel 17 18 --reason "wrong range"
  patra task cancel --plan 3 --dry-run
  patra task cancel --source crossref/works --op BACKFILL --yes --reason "not now"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				pick, err := p.parsePick(cmd.Context(), app, args)
				if err != nil {
					return err
				}
				do := func(by ingest.Act) (view.TasksDone, error) { return app.Operator.Cancel(cmd.Context(), pick, by) }
				err = performOnTasks(e, pick, p, do, func(d view.TasksDone) []term.Fact {
					return []term.Fact{
						{"cancelled", wording.Count(d.Cancelled, "task") + " without a worker"},
						{"stopping", wording.Count(d.Stopping, "task") + " whose worker stops after the page it reads"},
						{"cancelled before", wording.Count(d.Unchanged, "task")},
					}
				})
				if err == nil && !p.Dry {
					e.Hint("what was not read stays owed. To take it back: %s", p.undoCommand("retry", args, " --status CANCELLED"))
				}
				return err
			})
		},
	}
	p.addFlags(c)
	return c
}

// undoCommand is the command that takes an act back.
func (p picking) undoCommand(verb string, args []string, more string) string {
	switch {
	case p.plan != 0:
		return fmt.Sprintf("patra task %s --plan %d%s --yes", verb, p.plan, more)
	case p.source != "" && p.operation != "":
		return fmt.Sprintf("patra task %s --source %s --op %s%s --yes", verb, p.source, p.operation, more)
	case p.source != "":
		return fmt.Sprintf("patra task %s --source %s%s --yes", verb, p.source, more)
	}
	return "patra task " + verb + " " + strings.Join(args, " ")
}

func newTaskRetry(e *term.Env) *cobra.Command {
	var p picking
	c := &cobra.Command{
		Use:   "retry [ID…]",
		Short: "Try tasks again that failed or were cancelled",
		Long: `Put tasks that failed or were cancelled back into the queue: those with the given
ids, or all of a plan or a source. Each gets its full number of attempts again, with
the settings it was planned with. Interrupted work continues after its last committed
page; if what was read was faulty, the slice is read from its start. A plan that had
ended is open again.

If --plan or --source chooses several tasks, they are only counted unless you add
--yes. If you name tasks by id, all are tried again or none: the exit code is 5 if
one is unknown, 6 if one succeeded, is PARTIAL or belongs to a cancelled plan. A task
that waits or is worked on is left as it is.`,
		Example: `  patra task retry 17
  patra task retry --plan 3 --dry-run
  patra task retry --source crossref --status CANCELLED --yes --reason "after all"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				pick, err := p.parsePick(cmd.Context(), app, args)
				if err != nil {
					return err
				}
				if pick.Status = ingest.TaskStatus(strings.ToUpper(p.status)); pick.Status != ingest.TaskFailed && pick.Status != ingest.TaskCancelled {
					return term.Usagef("--status %s: expected FAILED or CANCELLED", p.status)
				}
				do := func(by ingest.Act) (view.TasksDone, error) { return app.Operator.Retry(cmd.Context(), pick, by) }
				err = performOnTasks(e, pick, p, do, func(d view.TasksDone) []term.Fact {
					return []term.Fact{{"queued", wording.Count(d.Queued, "task")}, {"left as they are", wording.Count(d.Unchanged, "task")}}
				})
				if err != nil || p.Dry {
					return err
				}
				e.Hint("`patra serve` works on them, or the next harvest. To take it back: %s", p.undoCommand("cancel", args, ""))
				return hintPausedOf(cmd.Context(), e, app, pick)
			})
		},
	}
	p.addFlags(c)
	c.Flags().StringVar(&p.status, "status", string(ingest.TaskFailed), "with --plan or --source: FAILED or CANCELLED")
	return c
}

// hintPausedOf says that tasks wait because their source is paused.
func hintPausedOf(ctx context.Context, e *term.Env, app *daemon.App, pick ingest.TaskPick) error {
	source := pick.Scope.Source
	if source == "" {
		f := view.Filter{PlanID: pick.PlanID, Limit: 1}
		if pick.Named() {
			f.TaskID = pick.IDs[0]
		}
		tasks, err := app.Tasks.List(ctx, f)
		if err != nil || len(tasks) == 0 {
			return err
		}
		source = tasks[0].Source
	}
	pauses, err := app.Conditions.ListPauses(ctx, source)
	for _, p := range pauses {
		reason.HintPause(e, p)
	}
	return err
}

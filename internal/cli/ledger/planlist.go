package ledger

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// NewPlanVerbs are the verbs for plans that are stored. Beside them `patra plan SRC`
// makes one, so no source can be planned that is called like a verb.
func NewPlanVerbs(e *term.Env) []*cobra.Command {
	return []*cobra.Command{newPlanList(e), newPlanShow(e), newPlanTree(e), newPlanTriggers(e), newPlanCancel(e)}
}

func newPlanList(e *term.Env) *cobra.Command {
	var operation string
	l := term.Lister[view.PlanRow]{
		Noun: "plans", Statuses: term.StatusTexts(ingest.PlanDraft, ingest.PlanSlicing, ingest.PlanReady, ingest.PlanPartial, ingest.PlanFailed,
			ingest.PlanCancelled, ingest.PlanCompleted),
		Columns: planColumns(),
		ID:      func(p view.PlanRow) int64 { return p.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.PlanRow, error) {
			return app.Plans.ListRows(ctx, view.PlanFilter{Filter: f, Operation: strings.ToUpper(operation)})
		},
		Check: func() error {
			if operation == "" {
				return nil
			}
			if _, err := ingest.ParseOperation(strings.ToUpper(operation)); err != nil {
				return term.Usagef("--op: %w", err)
			}
			return nil
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List stored plans, newest first",
		Example: `  patra plan list
  patra plan list --source crossref --op HARVEST --status READY
  patra plan list --limit 200 -o json`,
	})
	c.Flags().StringVar(&operation, "op", "", "only of this operation: HARVEST, BACKFILL or UPDATE")
	return c
}

func planColumns() term.Columns[view.PlanRow] {
	return term.NewColumns([]string{"id", "source/endpoint", "operation", "status", "window", "slices", "as of, created"}, func(p view.PlanRow) []any {
		return []any{
			p.ID, wording.Shorten(p.Source+"/"+p.Endpoint, 20), p.Operation, p.Status, term.BreakOnce(term.WindowToMinuteOrDash(p.Window), ", ", ",\n "),
			wording.OrDash(strings.Join(byStatus(p.Slices), "\n")), wording.SecondText(p.AsOf) + "\n" + wording.SecondText(p.CreatedAt),
		}
	})
}

// byStatus lists how many slices there are of each status, in the order of a
// slice's life.
func byStatus(counts map[string]int) (out []string) {
	for _, status := range sliceStatuses() {
		if n := counts[status]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, strings.ToLower(status)))
		}
	}
	return out
}

// sliceStatuses are the states of a slice in the order it goes through them.
func sliceStatuses() []string {
	return term.StatusTexts(ingest.SlicePending, ingest.SliceReady, ingest.SliceSucceeded, ingest.SliceFailed, ingest.SlicePartial, ingest.SliceCancelled)
}

func newPlanCancel(e *term.Env) *cobra.Command {
	var actor, reason string
	var dry bool
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop a plan; what it has not read stays owed",
		Long: `Stop a plan. Slices without a worker are cancelled; workers stop after the page
they are reading. What was read stays. What was not read stays owed: it shows as a
gap, and a later plan asks for it again, after the same wait as after a failure.

Cancelling a cancelled plan changes nothing, and finishes a cancellation that was
interrupted. A plan that has ended is refused with exit code 6.`,
		Example: `  patra plan cancel 3 --dry-run
  patra plan cancel 3 --reason misconfigured`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID("plan", args[0])
			if err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				return cancelPlan(cmd.Context(), e, app, id, cmp.Or(actor, term.SystemUser()), reason, dry)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	c.Flags().StringVar(&actor, "actor", "", "who; kept in the audit log (default: the user of this system)")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be cancelled and write nothing")
	return c
}

// Cancelled is what a cancellation came to, or would.
type Cancelled struct {
	view.PlanCancel
	DryRun bool `json:"dryRun"`
}

func cancelPlan(ctx context.Context, e *term.Env, app *daemon.App, id int64, actor, reason string, dry bool) error {
	did, err := app.Plans.PreviewCancel(ctx, id)
	if err != nil {
		return fmt.Errorf("plan %d: %w", id, err)
	}
	before := ingest.PlanStatus(did.Status)
	switch {
	case before == ingest.PlanCancelled:
		e.Hint("plan %d was cancelled already", id)
	case !before.CanBecome(ingest.PlanCancelled):
		return term.WithCode(term.ExitConflict, fmt.Errorf("plan %d is %s: nothing is left to cancel", id, before))
	}
	if !dry {
		if did, err = app.Plans.Cancel(ctx, id, actor, reason); err != nil {
			return fmt.Errorf("plan %d: %w", id, err)
		}
	}
	err = term.PrintFacts(e, Cancelled{did, dry}, []term.Fact{
		{"plan", did.PlanID},
		{"status", did.Status},
		{"cancelled", wording.Count(did.Cancelled, "slice") + " without a worker"},
		{"stopping", wording.Count(did.Stopping, "slice") + " whose worker stops after the page it reads"},
		{"ended before", wording.Count(did.Ended, "slice")},
	})
	switch {
	case err != nil:
	case dry:
		e.Hint("nothing was written: leave out --dry-run to cancel")
	case did.Cancelled+did.Stopping > 0:
		e.Hint("what was not read stays owed: a later plan asks for it again")
	}
	return err
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// planVerbs are the verbs for plans that are stored. Beside them `patra plan SRC`
// makes one, so no source can be planned that is called like a verb.
func planVerbs(e *env) []*cobra.Command {
	return []*cobra.Command{newPlanList(e), newPlanShow(e), newPlanCancel(e)}
}

func newPlanList(e *env) *cobra.Command {
	var operation string
	f := &filter{statuses: statusTexts(ingest.PlanDraft, ingest.PlanSlicing, ingest.PlanReady, ingest.PlanPartial, ingest.PlanFailed,
		ingest.PlanCancelled, ingest.PlanCompleted)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List stored plans, newest first",
		Example: `  patra plan list
  patra plan list --source crossref --op HARVEST --status READY
  patra plan list --limit 200 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			wanted := view.PlanFilter{Filter: f.ahead(), Operation: strings.ToUpper(operation)}
			if wanted.Operation != "" {
				if _, err := ingest.ParseOperation(wanted.Operation); err != nil {
					return usagef("--op: %w", err)
				}
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				plans, err := app.Plans.ListRows(cmd.Context(), wanted)
				if err != nil {
					return err
				}
				return listPage(e, page(e, "plans", plans, f.Limit, func(p view.PlanRow) int64 { return p.ID }), planColumns())
			})
		},
	}
	f.flags(c)
	c.Flags().StringVar(&operation, "op", "", "only of this operation: HARVEST, BACKFILL or UPDATE")
	return c
}

func planColumns() columns[view.PlanRow] {
	return newColumns([]string{"id", "source/endpoint", "operation", "status", "window", "slices", "as of, created"}, func(p view.PlanRow) []any {
		return []any{
			p.ID, short(p.Source+"/"+p.Endpoint, 20), p.Operation, p.Status, fold(maybeSpan(p.Window), ", ", ",\n "),
			dash(strings.Join(byStatus(p.Slices), "\n")), when(p.AsOf) + "\n" + when(p.CreatedAt),
		}
	})
}

// maybeSpan writes a window that may be absent.
func maybeSpan(w *window.Window) string {
	if w == nil {
		return "-"
	}
	return span(*w)
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
	return statusTexts(ingest.SlicePending, ingest.SliceReady, ingest.SliceSucceeded, ingest.SliceFailed, ingest.SlicePartial, ingest.SliceCancelled)
}

func newPlanCancel(e *env) *cobra.Command {
	var actor, reason string
	var dry bool
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop a plan; what it has not read stays owed",
		Long: `Stop a plan. Slices that nobody works on are cancelled; workers stop after the page
they are reading. What was read stays. What was not read stays owed: it shows as a
gap, and a later plan asks for it again, after the same wait as after a failure.

Cancelling a cancelled plan changes nothing, and finishes a cancellation that was
interrupted. A plan that has ended is refused with exit code 6.`,
		Example: `  patra plan cancel 3 --dry-run
  patra plan cancel 3 --reason misconfigured`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("plan", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				return e.cancelPlan(cmd.Context(), app, id, cmp.Or(actor, systemUser()), reason, dry)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	c.Flags().StringVar(&actor, "actor", "", "who; kept in the audit log (default: the user of this system)")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be cancelled and write nothing")
	return c
}

// cancelled is what a cancellation came to, or would.
type cancelled struct {
	view.PlanCancel
	DryRun bool `json:"dryRun"`
}

func (e *env) cancelPlan(ctx context.Context, app *daemon.App, id int64, actor, reason string, dry bool) error {
	did, err := app.Plans.PreviewCancel(ctx, id)
	if err != nil {
		return fmt.Errorf("plan %d: %w", id, err)
	}
	before := ingest.PlanStatus(did.Status)
	switch {
	case before == ingest.PlanCancelled:
		e.hint("plan %d was cancelled before", id)
	case !before.CanBecome(ingest.PlanCancelled):
		return withCode(exitConflict, fmt.Errorf("plan %d is %s: nothing is left to cancel", id, before))
	}
	if !dry {
		if did, err = app.Plans.Cancel(ctx, id, actor, reason); err != nil {
			return fmt.Errorf("plan %d: %w", id, err)
		}
	}
	err = show(e, cancelled{did, dry}, []fact{
		{"plan", did.PlanID},
		{"status", did.Status},
		{"cancelled", counted(did.Cancelled, "slice") + " that nobody works on"},
		{"stopping", counted(did.Stopping, "slice") + " whose worker stops after the page it reads"},
		{"ended before", counted(did.Ended, "slice")},
	})
	switch {
	case err != nil:
	case dry:
		e.hint("nothing was written: leave out --dry-run to cancel")
	case did.Cancelled+did.Stopping > 0:
		e.hint("what was not read stays owed: a later plan asks for it again")
	}
	return err
}

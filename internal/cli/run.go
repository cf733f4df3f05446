package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRun(e *env) *cobra.Command {
	return group("run", "Look at attempts at tasks and what came of them", newRunList(e), newRunShow(e))
}

func newRunList(e *env) *cobra.Command {
	f := &filter{statuses: statusTexts(ingest.RunPlanned, ingest.RunRunning, ingest.RunSucceeded, ingest.RunFailed, ingest.RunPartial, ingest.RunCancelled)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Example: `  patra run list
  patra run list --source crossref --status FAILED
  patra run list --task 17 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				runs, err := app.Store.Runs(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return list(e, page(e, "runs", runs, f.Limit, func(r view.Run) int64 { return r.ID }), runColumns())
			})
		},
	}
	f.flags(c)
	f.idFlag(c, &f.PlanID, "plan")
	f.idFlag(c, &f.TaskID, "task")
	return c
}

// runColumns show rejects beside the status, so that a success with rejects is seen as one (D§5.16).
func runColumns() columns[view.Run] {
	return columns[view.Run]{[]string{"id", "task", "try", "source", "status", "window", "seen", "stored", "rej", "error"}, func(r view.Run) []any {
		return []any{r.ID, r.TaskID, r.Attempt, short(r.Source, 10), r.Status, span(r.Window), r.Stats.Seen, r.Stats.Inserted + r.Stats.Updated, r.Stats.Quarantined, dash(r.ErrorCode)}
	}}
}

// runDetail is a run with its newest pages, in the order they were read.
type runDetail struct {
	view.Run
	Batches []view.Batch `json:"batches"`
}

func newRunShow(e *env) *cobra.Command {
	limit := pageSize
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one run with the account of every page it read",
		Long: `Show one run: what it read, and for each batch (one page of the upstream) what
became of every item seen. The numbers of a batch add up: seen = new + updated +
unchanged + gone + stale + duplicate + outside + rejected.`,
		Example: `  patra run show 42
  patra run show 42 --limit 500 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("run", args[0])
			if err != nil {
				return err
			}
			if limit < 1 || limit > pageSizeMax {
				return usagef("--limit %d: expected 1 to %d", limit, pageSizeMax)
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showRun(cmd.Context(), app, id, limit) })
		},
	}
	c.Flags().IntVar(&limit, "limit", pageSize, "how many batches to show, the newest ones")
	return c
}

func (e *env) showRun(ctx context.Context, app *daemon.App, id int64, limit int) error {
	runs, err := app.Store.Runs(ctx, view.Filter{RunID: id, Limit: 1})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("run %d: %w", id, fault.ErrNotFound)
	}
	batches, err := app.Store.Batches(ctx, view.Filter{RunID: id, Limit: limit + 1})
	if err != nil {
		return err
	}
	if len(batches) > limit {
		batches = batches[:limit]
		e.hint("the run has older batches: patra batch list --run %d --before %d", id, batches[limit-1].ID)
	}
	slices.Reverse(batches)
	if e.output == "json" {
		return e.json(runDetail{runs[0], append([]view.Batch{}, batches...)})
	}
	if err := show(e, runs[0], runFacts(runs[0])); err != nil {
		return err
	}
	if len(batches) == 0 {
		_, err := fmt.Fprintln(e.out, "\nno batches: nothing was read")
		return err
	}
	fmt.Fprintln(e.out, "\nbatches")
	return list(e, batches, batchColumns())
}

func runFacts(r view.Run) []fact {
	s := r.Stats
	return []fact{
		{"run", r.ID},
		{"task", fmt.Sprintf("%d (attempt %d, epoch %d)", r.TaskID, r.Attempt, r.Epoch)},
		{"plan", r.PlanID},
		{"source", r.Source + " " + r.Operation},
		{"status", r.Status},
		{"window", brief(r.Window)},
		{"worker", dash(r.Worker)},
		{"started", r.StartedAt},
		{"finished", when(r.FinishedAt) + " (took " + took(r.StartedAt, r.FinishedAt) + ")"},
		{"error", failure(r.ErrorCode, r.Error)},
		{"items", account(s.BatchStats)},
		{"requests", fmt.Sprintf("%d for %d pages: %d retries, %d times told to slow down, %d passes started over", s.Requests, s.Pages, s.Retries, s.Throttled, s.Restarts)},
		{"received", fmt.Sprintf("%d bytes, waited %d ms for the rate gate", s.BytesIn, s.WaitMS)},
	}
}

// account says what became of every item seen, and what nobody accounts for (I4).
func account(s ingest.BatchStats) string {
	var parts []string
	total := 0
	for _, part := range []struct {
		n    int
		name string
	}{
		{s.Inserted, "new"}, {s.Updated, "updated"}, {s.Unchanged, "unchanged"}, {s.Gone, "gone"}, {s.Stale, "stale"},
		{s.Duplicate, "duplicate"}, {s.Outside, "outside the window"}, {s.Quarantined, "rejected"},
	} {
		total += part.n
		if part.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	text := fmt.Sprintf("%d seen", s.Seen)
	if len(parts) > 0 {
		text += " = " + strings.Join(parts, " + ")
	}
	if !s.Balanced() {
		text += fmt.Sprintf("; DOES NOT ADD UP: %d are not accounted for", s.Seen-total)
	}
	return text
}

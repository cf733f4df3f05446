package ledger

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewRun(e *term.Env) *cobra.Command {
	return term.NewGroup("run", "Look at attempts at tasks and what came of them", newRunList(e), newRunShow(e), newRunDiff(e))
}

func newRunList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Run]{
		Noun: "runs", Statuses: term.StatusTexts(ingest.RunPlanned, ingest.RunRunning, ingest.RunSucceeded, ingest.RunFailed, ingest.RunPartial, ingest.RunCancelled),
		Columns: runColumns(),
		ID:      func(r view.Run) int64 { return r.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Run, error) {
			return app.Tasks.ListRuns(ctx, f)
		},
	}
	c, f := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Example: `  patra run list
  patra run list --source crossref --status FAILED
  patra run list --task 17 -o json`,
	})
	f.IDFlag(c, &f.PlanID, "plan")
	f.IDFlag(c, &f.TaskID, "task")
	return c
}

// runColumns show rejects beside the status, so that a success with rejects is seen as one (D§5.16).
func runColumns() term.Columns[view.Run] {
	return term.NewColumns([]string{"id", "task", "try", "source", "status", "window", "seen", "stored", "rej", "error"}, func(r view.Run) []any {
		return []any{r.ID, r.TaskID, r.Attempt, wording.Shorten(r.Source, 10), r.Status, term.WindowToMinute(r.Window), r.Stats.Seen, r.Stats.Inserted + r.Stats.Updated, r.Stats.Quarantined, wording.OrDash(r.ErrorCode)}
	})
}

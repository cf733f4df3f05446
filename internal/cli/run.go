package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRun(e *env) *cobra.Command {
	return group("run", "Look at attempts at tasks and what came of them", newRunList(e), newRunShow(e), newRunDiff(e))
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
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				runs, err := app.Tasks.ListRuns(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return listPage(e, page(e, "runs", runs, f.Limit, func(r view.Run) int64 { return r.ID }), runColumns())
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
	return newColumns([]string{"id", "task", "try", "source", "status", "window", "seen", "stored", "rej", "error"}, func(r view.Run) []any {
		return []any{r.ID, r.TaskID, r.Attempt, short(r.Source, 10), r.Status, span(r.Window), r.Stats.Seen, r.Stats.Inserted + r.Stats.Updated, r.Stats.Quarantined, dash(r.ErrorCode)}
	})
}

// outsideText tells what lay outside: dropped where the list is filtered here, kept
// where the upstream chose it (D§5.11).
func outsideText(dropped, kept int) string {
	text := fmt.Sprintf("%d outside the window", dropped+kept)
	switch {
	case kept > 0 && dropped > 0:
		text += fmt.Sprintf(" (%d of them kept)", kept)
	case kept > 0:
		text += " (kept)"
	}
	return text
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
	if s.OutsideKept > 0 {
		text += fmt.Sprintf("; %d of them outside of what was asked for, kept", s.OutsideKept)
	}
	if s.Late > 0 {
		text += fmt.Sprintf("; %d came late", s.Late)
	}
	if !s.Balanced() {
		text += fmt.Sprintf("; DOES NOT ADD UP: %d are not accounted for", s.Seen-total)
	}
	return text
}

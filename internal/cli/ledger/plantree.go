package ledger

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPlanTree(e *term.Env) *cobra.Command {
	var pages term.AfterFlags
	c := &cobra.Command{
		Use:   "tree ID",
		Short: "Show what came of a plan: its slices, tasks, runs and batches in one answer",
		Long: `Show a plan from its slices down to its batches, in the order of slices, a page of
slices at a time. Of a run the first 100 batches are listed; patra batch list --run
has them all. In the table batches that went well are counted, and others are listed
with what went wrong; -o json has all of them.`,
		Example: `  patra plan tree 3
  patra plan tree 3 --after 50 --limit 50
  patra plan tree 3 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID("plan", args[0])
			if err != nil {
				return err
			}
			if err := pages.Check(); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				slices, err := app.Inspect.PlanLineage(cmd.Context(), id, int(pages.After), pages.Limit+1)
				if err != nil {
					return fmt.Errorf("plan %d: %w", id, err)
				}
				page := term.PageAfter(e, "slices", slices, pages.Limit, func(s view.SliceTree) string { return strconv.Itoa(s.No) })
				if e.Output == "json" {
					return e.JSON(page)
				}
				for _, s := range page.Items {
					printSlice(e.Out, s)
				}
				return nil
			})
		},
	}
	pages.Flags(c, "only slices after this number of a slice: the next page", "how many slices to show")
	return c
}

func printSlice(out io.Writer, s view.SliceTree) {
	extent := "-"
	if s.Window != nil {
		extent = wording.WindowText(*s.Window)
	}
	if s.Partition != "" {
		extent += " of " + term.Printable(s.Partition)
	}
	fmt.Fprintf(out, "slice %d (no %d) %s %s\n", s.ID, s.No, s.Status, extent)
	if s.Task == nil {
		return
	}
	fmt.Fprintf(out, "  task %d %s%s\n", s.Task.ID, s.Task.Status, because(s.Task.ErrorCode))
	for _, r := range s.Task.Runs {
		fmt.Fprintf(out, "    run %d (attempt %d) %s%s: %s\n", r.ID, r.Attempt, r.Status, because(r.ErrorCode), batchesText(r))
		for _, b := range r.Batches {
			if b.Status != string(ingest.BatchSucceeded) || b.Retries > 0 || b.Throttled > 0 {
				fmt.Fprintf(out, "      batch %d (no %d) %s: %s\n", b.ID, b.No, b.Status, troubleText(b))
			}
		}
	}
}

func because(code string) string {
	if code == "" {
		return ""
	}
	return " " + code
}

// batchesText adds up the batches of a run.
func batchesText(r view.RunTree) string {
	var seen, stored int
	for _, b := range r.Batches {
		seen, stored = seen+b.Seen, stored+b.Stored
	}
	text := fmt.Sprintf("%d batches, %d items seen, %d stored", len(r.Batches), seen, stored)
	if r.More {
		return "the first " + text + fmt.Sprintf(" (all: patra batch list --run %d)", r.ID)
	}
	return text
}

func troubleText(b view.BatchLeaf) string {
	text := fmt.Sprintf("%d retries, %d times told to slow down", b.Retries, b.Throttled)
	if b.Error != "" {
		text += ", " + wording.Shorten(b.Error, 100)
	}
	return text
}

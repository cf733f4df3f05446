package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewBatch(e *term.Env) *cobra.Command {
	return term.NewGroup("batch", "Look at single pages: what was asked, what came, what became of it", newBatchList(e), newBatchShow(e), newBatchRaw(e), newBatchExport(e), newBatchReplay(e))
}

func newBatchList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Batch]{
		Noun: "batches", Statuses: term.StatusTexts(ingest.BatchRunning, ingest.BatchSucceeded, ingest.BatchFailed, ingest.BatchSkipped),
		Columns: batchColumns(),
		ID:      func(b view.Batch) int64 { return b.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Batch, error) {
			return app.Tasks.ListBatches(ctx, f)
		},
	}
	c, f := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List batches, newest first",
		Long: `List batches, newest first. Columns after the status account for every item seen:
NEW and UPD were stored, SAME had equal content, GONE are deletions, STALE were
older than what is stored, DUP came twice, OUT lay outside the window and were
dropped, REJ are in quarantine. NEXT is the start of the token of the following page.`,
		Example: `  patra batch list --run 42
  patra batch list --source crossref --status FAILED
  patra batch list --task 17 --before 900 -o json`,
	})
	f.IDFlag(c, &f.PlanID, "plan")
	f.IDFlag(c, &f.TaskID, "task")
	f.IDFlag(c, &f.RunID, "run")
	return c
}

func batchColumns() term.Columns[view.Batch] {
	heads := []string{"id", "run", "no", "pass", "page", "status", "seen", "new", "upd", "same", "gone", "stale", "dup", "out", "left", "rej", "next"}
	return term.NewColumns(heads, func(b view.Batch) []any {
		s := b.Stats
		next := wording.Shorten(wording.OrDash(b.AfterToken), 12)
		if b.Error != "" {
			next = wording.Shorten("error: "+b.Error, 18)
		}
		return []any{b.ID, b.RunID, b.No, b.Pass, b.Page, b.Status, s.Seen, s.Inserted, s.Updated, s.Unchanged, s.Gone, s.Stale, s.Duplicate, s.Outside, s.Excluded, s.Quarantined, next}
	})
}

func newBatchShow(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one batch with the request that was sent and the answer that came",
		Example: `  patra batch show 1
  patra batch show 1 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return oneBatch(cmd.Context(), e, args[0], func(_ context.Context, app *daemon.App, b view.BatchDetail) error { return showBatch(e, app, b) })
		},
	}
	term.RawDirFlag(c, &e.RawDir)
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

// oneBatch looks a batch up.
func oneBatch(ctx context.Context, e *term.Env, arg string, use func(context.Context, *daemon.App, view.BatchDetail) error) error {
	id, err := term.ParseID("batch", arg)
	if err != nil {
		return err
	}
	return e.ReadStore(ctx, func(app *daemon.App) error {
		b, err := app.Inspect.Batch(ctx, id)
		if err != nil {
			return err
		}
		if b.Archive != "" {
			e.Hint("batch %d is archived, in %s", id, b.Archive)
		}
		return use(ctx, app, b)
	})
}

func showBatch(e *term.Env, app *daemon.App, b view.BatchDetail) error {
	if err := term.PrintFacts(e, b, append(batchFacts(b.Batch), term.Fact{"body", bodyText(app, b)})); err != nil || e.Output == "json" {
		return err
	}
	fmt.Fprintf(e.Out, "\nrequest\n%s\n\nresponse\n%s\n", term.IndentJSON(b.Request), term.IndentJSON(b.Response))
	return nil
}

// bodyText says where the body is and what it weighs.
func bodyText(app *daemon.App, b view.BatchDetail) string {
	switch b.Body.State {
	case view.BodyNotKept:
		return "was not kept"
	case view.BodyGone:
		return b.Raw + "\n" + goneText(app, b.Body.Error)
	case view.BodyUnknown:
		return b.Raw + "\n" + b.Body.Error.Error()
	}
	if b.RawLean {
		return fmt.Sprintf("%s\n%s, stored in %s; its items are stored with their records", b.Raw, term.SizeText(b.Body.Bytes), term.SizeText(b.RawStored))
	}
	return fmt.Sprintf("%s\n%s, stored in %s", b.Raw, term.SizeText(b.Body.Bytes), term.SizeText(b.RawStored))
}

// goneText says why a body is not there any more.
func goneText(app *daemon.App, why error) string {
	switch {
	case errors.Is(why, view.ErrItemsRemoved):
		return "is not there any more: " + view.ErrItemsRemoved.Error()
	case app.Bodies.Dir() == "":
		return "is not in the database, and no folder of raw bodies is known: name it with --raw-dir or PATRA_RAW_DIR"
	}
	return "is not in the database, and not in " + app.Bodies.Dir() + " any more"
}

func batchFacts(b view.Batch) []term.Fact {
	return []term.Fact{
		{"batch", b.ID},
		{"run", fmt.Sprintf("%d (batch %d, pass %d, page %d)", b.RunID, b.No, b.Pass, b.Page)},
		{"task", b.TaskID},
		{"slice", b.SliceID},
		{"plan", b.PlanID},
		{"source", b.Source + " " + b.Operation},
		{"status", b.Status},
		{"committed", b.CommittedAt},
		{"items", wording.ItemsText(b.Stats)},
		{"requests", term.Wrap(wording.RequestsText(b.Exchange))},
		{"rate gate", term.Wrap(wording.GateText(b.Exchange))},
		{"upstream's time", wording.UpstreamTimeText(b.Exchange)},
		{"automatic", term.Wrap(wording.AutomaticText(b.Exchange))},
		{"next page", term.Wrap(wording.NextPageText(b))},
		{"token asked with", wording.Shorten(wording.OrDash(b.BeforeToken), tokenWidth)},
		{"token of the next page", wording.Shorten(wording.OrDash(b.AfterToken), tokenWidth)},
		{"error", wording.OrDash(b.Error)},
	}
}

// tokenWidth: real tokens have a thousand characters; all of them are in the JSON.
const tokenWidth = 64

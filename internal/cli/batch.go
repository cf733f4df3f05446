package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBatch(e *env) *cobra.Command {
	return group("batch", "Look at single pages: what was asked, what came, what became of it", newBatchList(e), newBatchShow(e), newBatchRaw(e), newBatchExport(e), newBatchReplay(e))
}

func newBatchList(e *env) *cobra.Command {
	f := &filter{statuses: statusTexts(ingest.BatchRunning, ingest.BatchSucceeded, ingest.BatchFailed, ingest.BatchSkipped)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List batches, newest first",
		Long: `List batches, newest first. Columns after the status account for every item seen:
NEW and UPD were stored, SAME had equal content, GONE are deletions, STALE were
older than what is stored, DUP came twice, OUT lay outside the window and were
dropped, REJ are in quarantine. NEXT is the start of the token of the following page.`,
		Example: `  patra batch list --run 42
  patra batch list --source crossref --status FAILED
  patra batch list --task 17 --before 900 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				batches, err := app.Tasks.ListBatches(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				steadyAnswers(batches)
				return listPage(e, page(e, "batches", batches, f.Limit, func(b view.Batch) int64 { return b.ID }), batchColumns())
			})
		},
	}
	f.flags(c)
	f.idFlag(c, &f.PlanID, "plan")
	f.idFlag(c, &f.TaskID, "task")
	f.idFlag(c, &f.RunID, "run")
	return c
}

func batchColumns() columns[view.Batch] {
	heads := []string{"id", "run", "no", "pass", "page", "status", "seen", "new", "upd", "same", "gone", "stale", "dup", "out", "rej", "next"}
	return newColumns(heads, func(b view.Batch) []any {
		s := b.Stats
		next := short(dash(b.AfterToken), 12)
		if b.Error != "" {
			next = short("error: "+b.Error, 20)
		}
		return []any{b.ID, b.RunID, b.No, b.Pass, b.Page, b.Status, s.Seen, s.Inserted, s.Updated, s.Unchanged, s.Gone, s.Stale, s.Duplicate, s.Outside, s.Quarantined, next}
	})
}

func newBatchShow(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one batch with the request that was sent and the answer that came",
		Example: `  patra batch show 1
  patra batch show 1 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.oneBatch(cmd.Context(), args[0], func(ctx context.Context, app *daemon.App, b view.Batch) error { return e.showBatch(ctx, app, b) })
		},
	}
	rawDirFlag(c, &e.rawDir)
	archiveDirFlag(c, &e.archiveDir)
	return c
}

// oneBatch looks a batch up.
func (e *env) oneBatch(ctx context.Context, arg string, use func(context.Context, *daemon.App, view.Batch) error) error {
	id, err := parseID("batch", arg)
	if err != nil {
		return err
	}
	return e.ledger(ctx, func(app *daemon.App) error {
		b, err := app.Tasks.ShowBatch(ctx, id)
		if daemon.IsMissing(err) {
			var file string
			if b, file, err = app.ArchivedBatch(ctx, id); err == nil {
				e.hint("batch %d is archived, in %s", id, file)
			}
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", id, err)
		}
		return use(ctx, app, b)
	})
}

// batchDetail is a batch with the room its body takes; absent where it is not kept.
type batchDetail struct {
	view.Batch
	RawStored int64 `json:"rawStored,omitempty"`
}

// steadyAnswers gives kept answers the names that are written today: older ones say
// how long they took in milliseconds.
func steadyAnswers(batches []view.Batch) {
	for i, b := range batches {
		var kept exchange.ResponseDigest
		if len(b.Response) == 0 || json.Unmarshal(b.Response, &kept) != nil {
			continue
		}
		if text, err := json.Marshal(kept); err == nil {
			batches[i].Response = text
		}
	}
}

func (e *env) showBatch(ctx context.Context, app *daemon.App, b view.Batch) error {
	one := []view.Batch{b}
	steadyAnswers(one)
	b = one[0]
	stored, raw := rawFact(ctx, app, b)
	if err := show(e, batchDetail{b, stored}, append(batchFacts(b), fact{"body", raw})); err != nil || e.output == "json" {
		return err
	}
	fmt.Fprintf(e.out, "\nrequest\n%s\n\nresponse\n%s\n", pretty(b.Request), pretty(b.Response))
	return nil
}

// rawFact says where the body is and what it weighs.
func rawFact(ctx context.Context, app *daemon.App, b view.Batch) (stored int64, text string) {
	if b.Raw == "" {
		return 0, "was not kept"
	}
	stored, err := app.Bodies.Measure(ctx, b.Raw)
	switch {
	case daemon.IsMissing(err):
		return 0, b.Raw + "\nis not in " + app.Bodies.Dir() + " any more"
	case err != nil:
		return 0, b.Raw + "\n" + err.Error()
	}
	var answer struct{ Bytes int64 }
	_ = json.Unmarshal(b.Response, &answer) // without it the size is not known
	return stored, fmt.Sprintf("%s\n%s, stored in %s", b.Raw, size(answer.Bytes), size(stored))
}

func batchFacts(b view.Batch) []fact {
	return []fact{
		{"batch", b.ID},
		{"run", fmt.Sprintf("%d (batch %d, pass %d, page %d)", b.RunID, b.No, b.Pass, b.Page)},
		{"task", b.TaskID},
		{"slice", b.SliceID},
		{"plan", b.PlanID},
		{"source", b.Source + " " + b.Operation},
		{"status", b.Status},
		{"committed", b.CommittedAt},
		{"items", account(b.Stats)},
		{"token asked with", short(dash(b.BeforeToken), tokenWidth)},
		{"token of the next page", short(dash(b.AfterToken), tokenWidth)},
		{"error", dash(b.Error)},
	}
}

// tokenWidth: real tokens have a thousand characters; all of them are in the JSON.
const tokenWidth = 64

// pretty indents evidence; what is no JSON is shown as it is.
func pretty(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "  nothing was kept"
	}
	indented, err := jsontext.AppendFormat(nil, raw, jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  "),
		jsontext.PreserveRawStrings(false), jsontext.EscapeForHTML(false))
	if err != nil {
		return "  " + printable(string(raw))
	}
	return "  " + printable(string(indented))
}

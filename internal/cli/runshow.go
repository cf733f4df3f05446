package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// runDetail is a run with what comes after it and its newest pages, in the order
// they were read.
type runDetail struct {
	view.Run
	Class   string       `json:"errorClass,omitempty"`
	Next    string       `json:"next"`
	Batches []view.Batch `json:"batches"`
}

func newRunShow(e *env) *cobra.Command {
	limit := pageSize
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one run and explain every page it read",
		Long: `Show one run: what it read, how it ended and what happens next. For each batch (one
page of the upstream) it says what was asked, without secrets, what came back and how
long that took, what became of every item seen, and where the next page begins. The
numbers of a batch add up: seen = new + updated + unchanged + gone + stale +
duplicate + outside + rejected.`,
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
	detail, older, err := explainRun(ctx, app, id, limit)
	if err != nil {
		return err
	}
	if older > 0 {
		e.hint("the run has older batches: patra batch list --run %d --before %d", id, older)
	}
	if e.output == "json" {
		return e.json(detail)
	}
	if err := show(e, detail, runFacts(detail)); err != nil {
		return err
	}
	if len(detail.Batches) == 0 {
		_, err := fmt.Fprintln(e.out, "\nno batches: nothing was read")
		return err
	}
	for i, b := range detail.Batches {
		fmt.Fprintf(e.out, "\nbatch %d\n", b.No)
		if err := show(e, b, exchangeFacts(b, detail.Run, i == len(detail.Batches)-1)); err != nil {
			return err
		}
	}
	e.hint("all that was kept of a batch: patra batch show %d", detail.Batches[len(detail.Batches)-1].ID)
	return nil
}

// explainRun reads a run. Older is the first batch that is shown, if there are
// others before it.
func explainRun(ctx context.Context, app *daemon.App, id int64, limit int) (d runDetail, older int64, err error) {
	runs, err := app.Tasks.ListRuns(ctx, view.Filter{RunID: id, Limit: 1})
	if err != nil {
		return d, 0, err
	}
	if len(runs) == 0 {
		return d, 0, fmt.Errorf("run %d: %w", id, fault.ErrNotFound)
	}
	d.Run = runs[0]
	if d.ErrorCode != "" {
		d.Class = class(d.ErrorCode)
	}
	if d.Next, err = runNext(ctx, app, d.Run); err != nil {
		return d, 0, err
	}
	batches, err := app.Tasks.ListExchanges(ctx, view.Filter{RunID: id, Limit: limit + 1})
	if len(batches) > limit {
		batches = batches[:limit]
		older = batches[limit-1].ID
	}
	steadyAnswers(batches)
	slices.Reverse(batches)
	d.Batches = append([]view.Batch{}, batches...)
	return d, older, err
}

// runNext says what comes after a run: of its task, if that has not moved on.
func runNext(ctx context.Context, app *daemon.App, r view.Run) (string, error) {
	if r.Status == string(ingest.RunRunning) {
		return "it is at work", nil
	}
	tasks, err := app.Tasks.List(ctx, view.Filter{TaskID: r.TaskID, Limit: 1})
	if err != nil || len(tasks) == 0 {
		return "", err
	}
	if t := tasks[0]; t.LeaseEpoch == r.Epoch {
		return fmt.Sprintf("task %d: %s", t.ID, taskNext(t)), nil
	}
	return fmt.Sprintf("task %d was tried again: patra task show %d", r.TaskID, r.TaskID), nil
}

func runFacts(d runDetail) []fact {
	r, s := d.Run, d.Stats
	failed := failure(r.ErrorCode, r.Error)
	if d.Class != "" {
		failed += " (" + d.Class + ")"
	}
	return append([]fact{
		{"run", r.ID},
		{"task", fmt.Sprintf("%d (attempt %d, epoch %d)", r.TaskID, r.Attempt, r.Epoch)},
		{"plan", r.PlanID},
		{"source", r.Source + " " + r.Operation},
		{"status", r.Status},
		{"window", brief(r.Window)},
		{"worker", dash(r.Worker)},
		{"started", r.StartedAt},
		{"finished", when(r.FinishedAt) + " (took " + took(r.StartedAt, r.FinishedAt) + ")"},
		{"error", wrapped(failed)},
		{"next", wrapped(d.Next)},
		{"items", wrapped(account(s.BatchStats))},
		{"requests", wrapped(fmt.Sprintf("%d for %d pages: %d retries, %d times told to slow down, %d passes started over", s.Requests, s.Pages, s.Retries, s.Throttled, s.Restarts))},
		{"started over", wrapped(dash(s.RestartedBy))},
		{"breaker", wrapped(circuit(r))},
		{"received", fmt.Sprintf("%d bytes, waited %d ms for the rate gate", s.BytesIn, s.WaitMS)},
	}, healing(r.Remarks)...)
}

// circuit says whether a run opened the breaker of its endpoint.
func circuit(r view.Run) string {
	if r.Stats.CircuitOpen == 0 {
		return "-"
	}
	return string(gate.Breaker) + ": this failure opened it; nothing of the endpoint is taken until one run has looked whether the upstream is back (patra rate list)"
}

// healing is what the run did about conditions by itself, one line each.
func healing(remarks []health.Remark) (out []fact) {
	name := "by itself"
	for _, r := range remarks {
		text := string(r.Condition) + ": " + r.Text
		if r.Page > 0 {
			text += fmt.Sprintf(" (after page %d)", r.Page)
		}
		out = append(out, fact{name, wrapped(text)})
		name = ""
	}
	return out
}

// exchangeFacts explain one page.
func exchangeFacts(b view.Batch, r view.Run, last bool) []fact {
	facts := []fact{
		{"  page", fmt.Sprintf("%d of pass %d: %s", b.Page, b.Pass, b.Status)},
		{"  asked", asked(b.Request)},
		{"  answer", answered(b.Response)},
	}
	if b.Status == string(ingest.BatchFailed) {
		text := b.Error
		if r.ErrorCode != "" {
			text += " (" + class(r.ErrorCode) + ")"
		}
		return append(facts, fact{"  error", wrapped(text)})
	}
	next := "at " + short(b.AfterToken, tokenWidth)
	if b.AfterToken == "" || last && r.Status == string(ingest.RunSucceeded) {
		next = "none: this was the last one"
	}
	if last && r.Status == string(ingest.RunPartial) {
		next = "not asked for: what is left is cut smaller"
	}
	return append(facts, fact{"  items", wrapped(account(b.Stats))}, fact{"  next page", wrapped(next + ruled(b.Request))})
}

// ruled is the rule that told whether there is a next page.
func ruled(kept json.RawMessage) string {
	var evidence blackbox.Evidence
	if json.Unmarshal(kept, &evidence) != nil || evidence.Context == nil || evidence.Context.Why == "" {
		return ""
	}
	return ", because of: " + evidence.Context.Why
}

// asked is a request in a few lines; real tokens have a thousand characters, and
// all of them are in the JSON. It was redacted before it was kept (I12).
func asked(kept json.RawMessage) string {
	var r exchange.RequestDigest
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil {
		return "nothing was kept"
	}
	address, query, _ := strings.Cut(r.URL, "?")
	lines := []string{r.Method + " " + address}
	mark := "?"
	for part := range strings.SplitSeq(query, "&") {
		name, value, valued := strings.Cut(part, "=")
		if valued {
			part = name + "=" + short(value, tokenWidth)
		}
		if part == "" {
			continue
		}
		if last := len(lines) - 1; len(lines[last])+len(part) < 96 {
			lines[last] += mark + part
		} else {
			lines = append(lines, mark+part)
		}
		mark = "&"
	}
	if r.RedirectedTo != "" {
		lines = append(lines, "sent on to "+short(r.RedirectedTo, 2*tokenWidth))
	}
	if r.Body != "" {
		lines = append(lines, wrapped(short(r.Body, 400)))
	}
	return strings.Join(lines, "\n")
}

// answered is an answer in one line.
func answered(kept json.RawMessage) string {
	var r exchange.ResponseDigest
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil {
		return "none came"
	}
	return fmt.Sprintf("HTTP %d, %s, %d bytes in %d ms", r.Status, cmp.Or(r.Headers["Content-Type"], "no type"), r.Bytes, r.TookMS)
}

package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRunShow(e *term.Env) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one run and explain every page it read",
		Long: `Show one run: what it read, how it ended and what happens next. For each batch (one
page of the upstream) it says what was asked, without secrets, what came back and how
long that took, what became of every item seen, and where the next page begins. The
numbers of a batch add up: seen = new + updated + unchanged + gone + stale +
duplicate + outside + left out (response.where) + rejected.

"answers" counts every answer by its HTTP status, those of repeated requests too;
"automatic" tells what was done about conditions without a person, how often and why.
A dash means that nothing was done, or that nothing is known. Runs of older versions
kept no statuses.`,
		Example: `  patra run show 42
  patra run show 42 --limit 500 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID("run", args[0])
			if err != nil {
				return err
			}
			if err := term.CheckLimit(limit); err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showRun(cmd.Context(), e, app, id, limit) })
		},
	}
	term.LimitFlag(c, &limit, "how many batches to show, the newest ones")
	return c
}

func showRun(ctx context.Context, e *term.Env, app *daemon.App, id int64, limit int) error {
	detail, err := app.Inspect.Run(ctx, id, 0, limit)
	if err != nil {
		return err
	}
	if detail.Older > 0 {
		e.Hint("the run has older batches: patra batch list --run %d --before %d", id, detail.Older)
	}
	if e.Output == "json" {
		return e.JSON(detail)
	}
	if err := term.PrintFacts(e, detail, runFacts(detail)); err != nil {
		return err
	}
	if len(detail.Batches) == 0 {
		_, err := fmt.Fprintln(e.Out, "\nno batches: nothing was read")
		return err
	}
	for i, b := range detail.Batches {
		fmt.Fprintf(e.Out, "\nbatch %d\n", b.No)
		if err := term.PrintFacts(e, b, exchangeFacts(b, detail.Run, i == len(detail.Batches)-1)); err != nil {
			return err
		}
	}
	e.Hint("all that was kept of a batch: patra batch show %d", detail.Batches[len(detail.Batches)-1].ID)
	return nil
}

func runFacts(d view.RunDetail) []term.Fact {
	r, s := d.Run, d.Stats
	failed := wording.FailureText(r.ErrorCode, r.Error)
	if d.Class != "" {
		failed += " (" + d.Class + ")"
	}
	return append([]term.Fact{
		{"run", r.ID},
		{"task", fmt.Sprintf("%d (attempt %d, epoch %d)", r.TaskID, r.Attempt, r.Epoch)},
		{"plan", r.PlanID},
		{"source", r.Source + " " + r.Operation},
		{"status", r.Status},
		{"window", wording.WindowText(r.Window)},
		{"ids", term.Wrap(rangeText(d.Range))},
		{"worker", wording.OrDash(r.Worker)},
		{"started", r.StartedAt},
		{"finished", wording.SecondText(r.FinishedAt) + " (took " + term.TookText(r.StartedAt, r.FinishedAt) + ")"},
		{"error", term.Wrap(failed)},
		{"next", term.Wrap(d.Next)},
		{"items", term.Wrap(wording.ItemsText(s.BatchStats))},
		{"requests", term.Wrap(fmt.Sprintf("%d for %d pages: %d retries, %d times told to slow down, %d passes started over", s.Requests, s.Pages, s.Retries, s.Throttled, s.Restarts))},
		{"answers", term.Wrap(wording.OrDash(wording.StatusesText(s.Statuses)))},
		{"started over", term.Wrap(wording.OrDash(s.RestartedBy))},
		{"breaker", term.Wrap(breakerText(r))},
		{"received", fmt.Sprintf("%d bytes, waited %d ms for the rate gate", s.BytesIn, s.WaitMS)},
		{"upstream's time", runLatencyText(s)},
		{"errors", term.Wrap(errorsText(s.Errors))},
		{"shares", term.Wrap(sharesText(s))},
		{"last page", lastPageText(s)},
	}, slices.Concat(memberFacts(s.Members), traceFacts(r), healingFacts(r))...)
}

// memberFacts is which credentials of a pool signed the requests; nothing without a pool.
func memberFacts(t ingest.MemberTally) []term.Fact {
	if len(t) == 0 {
		return nil
	}
	return []term.Fact{{"credentials", term.Wrap(wording.MembersText(t))}}
}

// traceFacts is where the spans of a run are found, if somebody recorded them.
func traceFacts(r view.Run) []term.Fact {
	if r.Trace() == "" {
		return nil
	}
	return []term.Fact{{"trace", r.Trace()}}
}

// breakerText says whether a run opened the breaker of its endpoint.
func breakerText(r view.Run) string {
	if r.Stats.CircuitOpen == 0 {
		return "-"
	}
	return string(gate.Breaker) + ": this failure opened it; no task of the endpoint is taken until one run has checked whether the upstream is back (patra rate list)"
}

// healingFacts is what the run did about conditions by itself: how often, then one line each.
func healingFacts(r view.Run) (out []term.Fact) {
	done := wording.ActionsText(r.Stats.Actions)
	if done != "" || len(r.Remarks) == 0 {
		out = append(out, term.Fact{"automatic", term.Wrap(wording.OrDash(done))})
	}
	for _, one := range r.Remarks {
		text, name := string(one.Condition)+": "+one.Text, ""
		if one.Page > 0 {
			text += fmt.Sprintf(" (after page %d)", one.Page)
		}
		if len(out) == 0 {
			name = "automatic"
		}
		out = append(out, term.Fact{name, term.Wrap(text)})
	}
	return out
}

// exchangeFacts explain one page.
func exchangeFacts(b view.Batch, r view.Run, last bool) []term.Fact {
	facts := []term.Fact{
		{"  page", fmt.Sprintf("%d of pass %d: %s", b.Page, b.Pass, b.Status)},
		{"  asked", requestText(b.Request)},
		{"  answer", answerText(b.Response)},
	}
	if b.Status == string(ingest.BatchFailed) {
		text := b.Error
		if r.ErrorCode != "" {
			text += " (" + wording.FaultClassText(r.ErrorCode) + ")"
		}
		return append(facts, term.Fact{"  error", term.Wrap(text)})
	}
	next := "at " + wording.Shorten(b.AfterToken, tokenWidth)
	if b.AfterToken == "" || last && r.Status == string(ingest.RunSucceeded) {
		next = "none: this was the last one"
	}
	if last && r.Status == string(ingest.RunPartial) {
		next = "not asked for: the rest is cut into smaller slices"
	}
	facts = append(facts, term.Fact{"  items", term.Wrap(wording.ItemsText(b.Stats))})
	if b.Exchange != nil {
		facts = append(facts, term.Fact{"  requests", term.Wrap(wording.RequestsText(b.Exchange) + "; " + wording.GateText(b.Exchange))})
	}
	return append(facts, term.Fact{"  next page", term.Wrap(next + wording.NextRule(b.Request))})
}

// requestText is a request in a few lines; real tokens have a thousand characters, and
// all of them are in the JSON. It was redacted before it was kept (I12).
func requestText(kept json.RawMessage) string {
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
			part = name + "=" + wording.Shorten(value, tokenWidth)
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
	if r.Credential != "" {
		lines = append(lines, "signed with the credential "+r.Credential)
	}
	if r.RedirectedTo != "" {
		lines = append(lines, "sent on to "+wording.Shorten(r.RedirectedTo, 2*tokenWidth))
	}
	if r.Body != "" {
		lines = append(lines, term.Wrap(wording.Shorten(r.Body, 400)))
	}
	return strings.Join(lines, "\n")
}

// answerText is an answer in one line.
func answerText(kept json.RawMessage) string {
	var r exchange.ResponseDigest
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil {
		return "none came"
	}
	return fmt.Sprintf("HTTP %d, %s, %d bytes in %d ms", r.Status, cmp.Or(r.Headers["Content-Type"], "no type"), r.Bytes, r.TookMS)
}

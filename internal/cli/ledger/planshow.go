package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPlanShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "plan", &cobra.Command{
		Short: "Show one plan: how its window came about and how far it has come",
		Long: `Show one plan: who asked for it, every step that led to its window, what was skipped,
what the source cannot do, and what its runs have read so far.`,
		Example: `  patra plan show 3
  patra plan show 3 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error { return showPlan(ctx, e, app, id) })
}

func showPlan(ctx context.Context, e *term.Env, app *daemon.App, id int64) error {
	p, err := app.Inspect.Plan(ctx, id)
	if err != nil {
		return err
	}
	if err := term.PrintFacts(e, p.PlanDetail, planFacts(p)); err != nil || e.Output == "json" {
		return err
	}
	if err := showRemarks(e, p); err != nil {
		return err
	}
	return showConditions(e, p.Conditions)
}

// showConditions prints what is wrong with the partition of a plan right now.
func showConditions(e *term.Env, of []view.Condition) error {
	if len(of) == 0 {
		return nil
	}
	fmt.Fprintln(e.Out, "\nin force now")
	return term.PrintList(e, of, term.NewColumns([]string{"condition", "level", "since", "actions", "detail"}, func(c view.Condition) []any {
		var actions []string
		for _, a := range c.Actions {
			actions = append(actions, string(a))
		}
		return []any{c.Condition, c.Level, c.Since, strings.Join(actions, " "), wording.OrDash(c.Detail)}
	}))
}

func planFacts(p view.PlanReport) []term.Fact {
	extent := "none: there was nothing to do"
	if p.Window != nil {
		extent = wording.WindowText(*p.Window)
	}
	s := p.Stats
	facts := []term.Fact{
		{"plan", p.ID},
		{"source", p.Source + " " + p.Endpoint + " " + p.Operation},
		{"status", p.Status},
		{"window", extent},
		{"as of", p.AsOf},
		{"slices", sliceTotal(p.Slices)},
		{"items", wording.ItemsText(s.BatchStats)},
		{"requests", fmt.Sprintf("%d for %d pages, %d bytes", s.Requests, s.Pages, s.BytesIn)},
		{"answers", term.Wrap(wording.OrDash(wording.StatusesText(s.Statuses)))},
		{"automatic", term.Wrap(wording.OrDash(wording.ActionsText(s.Actions)))},
		{"trigger", fmt.Sprintf("%d: %s by %s at %s%s", p.Trigger.ID, p.Trigger.Type, p.Trigger.Scheduler, wording.SecondText(p.Trigger.At), callerText(p.Trigger.JobID, p.Trigger.LogID))},
		{"asked for", term.Wrap(wording.OrDash(string(p.Trigger.Params)))},
		{"reason", term.Wrap(wording.OrDash(p.Trigger.Reason()))},
		{"sliced by", term.Wrap(strings.TrimSpace(p.Strategy + " " + string(p.SliceParams)))},
		{"cursor", p.CursorID},
		{"expression", term.Wrap(p.Text)},
		{"expression hash", p.ExprProtoHash},
		{"fingerprint", p.SpecFingerprint},
		{"key", p.Key},
		{"created", p.CreatedAt},
		{"changed", p.UpdatedAt},
	}
	if text := wording.ParentsText(s.Parents); text != "" {
		facts = append(facts, term.Fact{"records asked", text})
	}
	if p.Limit != nil {
		facts = append(facts, term.Fact{"limit", term.Wrap(limitText(p.PlanDetail))})
	}
	return facts
}

// limitText says how much of what may be spent on a plan was, and how a plan goes on that
// waits for more.
func limitText(p view.PlanDetail) string {
	text := fmt.Sprintf("%d of %s taken (--max-requests)", p.Limit.Taken, wording.Count(p.Limit.Max, "request"))
	switch status := ingest.PlanStatus(p.Status); {
	case !p.Limit.UsedUp() || status != ingest.PlanSlicing && status != ingest.PlanPartial && status != ingest.PlanReady:
		return text
	}
	return text + fmt.Sprintf("; used up at %s: what is left waits and stays owed. The next `patra %s %s` goes on with it", wording.SecondText(p.Limit.UsedUpAt), strings.ToLower(p.Operation), p.Source)
}

func sliceTotal(counts map[string]int) string {
	total := 0
	for _, n := range counts {
		total += n
	}
	text := fmt.Sprint(total)
	if parts := byStatus(counts); len(parts) > 0 {
		text += " = " + strings.Join(parts, " + ")
	}
	return text
}

// expectedLines say what the planner expected of the plan.
func expectedLines(r view.PlanRemarks) (lines []string) {
	if r.Estimated != nil {
		least := ""
		if r.Estimated.AtLeast {
			least = "at least "
		}
		lines = append(lines, fmt.Sprintf("expected: %s%.0f items (%s)", least, r.Estimated.Value, r.Estimated.Source))
	}
	if r.Average > 0 {
		lines = append(lines, "average window of a slice: "+wording.DurationText(r.Average.Std()))
	}
	if b := r.Budget; b != nil {
		lines = append(lines, fmt.Sprintf("budget: about %.0f requests at %g per second", b.Requests, b.PerSecond),
			fmt.Sprintf("budget of a slice: at most %d requests", b.MaxRequests))
	}
	return lines
}

// showRemarks prints what led to a plan. Remarks of another shape are printed raw.
func showRemarks(e *term.Env, p view.PlanReport) error {
	if p.Noted == nil {
		_, err := fmt.Fprintf(e.Out, "\nremarks\n%s\n", term.IndentJSON(p.Remarks))
		return err
	}
	r := *p.Noted
	if len(r.Explain) > 0 {
		fmt.Fprintln(e.Out, "\nhow the window came about")
		steps := term.NewColumns([]string{"step", "value", "why"}, func(s window.Step) []any { return []any{s.Name, s.Value, s.Why} })
		if err := term.PrintList(e, r.Explain, steps); err != nil {
			return err
		}
	}
	lines := expectedLines(r)
	if r.Reason != "" {
		lines = append(lines, "nothing to do: "+r.Reason)
	}
	for _, w := range r.Skipped {
		lines = append(lines, wording.WindowText(w)+"  skipped: settled")
	}
	for _, w := range r.Waiting {
		lines = append(lines, wording.WindowText(w)+"  skipped: failed, waited for its retry time")
	}
	if w := r.Suspended; w != nil {
		lines = append(lines, fmt.Sprintf("slicing stopped before slice %d: %s", w.NextSlice, w.Reason))
	}
	for _, w := range r.Degradation {
		lines = append(lines, "warning: "+w.String())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rest)) {
		lines = append(lines, name+": "+string(r.Rest[name]))
	}
	if len(lines) > 0 {
		fmt.Fprintln(e.Out, "\nremarks")
	}
	for _, line := range lines {
		fmt.Fprintln(e.Out, term.Printable(strings.ReplaceAll(term.Wrap(line), "\n", "\n  ")))
	}
	return nil
}

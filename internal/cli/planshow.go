package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPlanShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one plan: how its window came about and how far it has come",
		Long: `Show one plan: who asked for it, every step that led to its window, what of it was
skipped, what the source cannot do, and what its runs have read so far.`,
		Example: `  patra plan show 3
  patra plan show 3 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("plan", args[0])
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showPlan(cmd.Context(), app, id) })
		},
	}
}

func (e *env) showPlan(ctx context.Context, app *daemon.App, id int64) error {
	p, err := app.Plans.Show(ctx, id)
	if err != nil {
		return fmt.Errorf("plan %d: %w", id, err)
	}
	if err := show(e, p, planFacts(p)); err != nil || e.output == "json" {
		return err
	}
	if err := e.showRemarks(p.Remarks); err != nil {
		return err
	}
	return e.showConditions(ctx, app, p)
}

// showConditions prints what is wrong with the partition of a plan right now.
func (e *env) showConditions(ctx context.Context, app *daemon.App, p view.PlanDetail) error {
	all, err := app.Conditions.List(ctx)
	if err != nil {
		return err
	}
	of := slices.DeleteFunc(all, func(c view.Condition) bool {
		return c.Source != p.Source || c.Endpoint != "" && c.Endpoint != p.Endpoint || c.Operation != "" && c.Operation != p.Operation
	})
	if len(of) == 0 {
		return nil
	}
	fmt.Fprintln(e.out, "\nin force now")
	return list(e, of, newColumns([]string{"condition", "level", "since", "actions", "detail"}, func(c view.Condition) []any {
		var actions []string
		for _, a := range c.Actions {
			actions = append(actions, string(a))
		}
		return []any{c.Condition, c.Level, c.Since, strings.Join(actions, " "), dash(c.Detail)}
	}))
}

func planFacts(p view.PlanDetail) []fact {
	extent := "none: there was nothing to do"
	if p.Window != nil {
		extent = brief(*p.Window)
	}
	s := p.Stats
	return []fact{
		{"plan", p.ID},
		{"source", p.Source + " " + p.Endpoint + " " + p.Operation},
		{"status", p.Status},
		{"window", extent},
		{"as of", p.AsOf},
		{"slices", sliceTotal(p.Slices)},
		{"items", account(s.BatchStats)},
		{"requests", fmt.Sprintf("%d for %d pages, %d bytes", s.Requests, s.Pages, s.BytesIn)},
		{"trigger", fmt.Sprintf("%d: %s by %s at %s", p.Trigger.ID, p.Trigger.Type, p.Trigger.Scheduler, when(p.Trigger.At))},
		{"asked for", wrapped(dash(string(p.Trigger.Params)))},
		{"reason", wrapped(dash(p.Trigger.Reason()))},
		{"sliced by", wrapped(strings.TrimSpace(p.Strategy + " " + string(p.SliceParams)))},
		{"cursor", p.CursorID},
		{"expression", wrapped(exprText(p.ExprProto))},
		{"expression hash", p.ExprProtoHash},
		{"fingerprint", p.SpecFingerprint},
		{"key", p.Key},
		{"created", p.CreatedAt},
		{"changed", p.UpdatedAt},
	}
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

// exprText writes a stored expression as people write one. What cannot be read
// is shown as it is stored: a detail view hides nothing.
func exprText(stored json.RawMessage) string {
	var snapshot struct{ Where json.RawMessage }
	if json.Unmarshal(stored, &snapshot) == nil {
		if where, err := query.ParseJSON(snapshot.Where); err == nil {
			return where.String()
		}
	}
	return dash(string(stored))
}

// wrapped breaks a text without line breaks so that it fits beside its name.
func wrapped(text string) string {
	const width = 96
	var out []string
	for runes := []rune(text); ; {
		if len(runes) <= width {
			return strings.Join(append(out, string(runes)), "\n")
		}
		at := width
		if blank := strings.LastIndexAny(string(runes[:width]), " ,"); blank > 0 {
			at = len([]rune(string(runes[:width])[:blank+1]))
		}
		out, runes = append(out, string(runes[:at])), runes[at:]
	}
}

// remarks are what the planner noted. Members this view has no words for are
// kept and shown as they are.
type remarks struct {
	Explain     []window.Step
	Reason      string
	Skipped     []window.Window
	Waiting     []window.Window
	Degradation []spec.Warning
	Suspended   *ingest.Suspension
	rest        map[string]json.RawMessage
}

func readRemarks(stored json.RawMessage) (r remarks, err error) {
	if len(stored) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(stored, &r); err != nil {
		return r, err
	}
	if err := json.Unmarshal(stored, &r.rest); err != nil {
		return r, err
	}
	for _, known := range []string{"explain", "reason", "skipped", "waiting", "degradation", "suspended"} {
		delete(r.rest, known)
	}
	return r, nil
}

// showRemarks prints what led to a plan. Remarks of another shape are printed raw.
func (e *env) showRemarks(stored json.RawMessage) error {
	r, err := readRemarks(stored)
	if err != nil {
		_, err := fmt.Fprintf(e.out, "\nremarks\n%s\n", pretty(stored))
		return err
	}
	if len(r.Explain) > 0 {
		fmt.Fprintln(e.out, "\nhow the window came about")
		steps := newColumns([]string{"step", "value", "why"}, func(s window.Step) []any { return []any{s.Name, s.Value, s.Why} })
		if err := list(e, r.Explain, steps); err != nil {
			return err
		}
	}
	var lines []string
	if r.Reason != "" {
		lines = append(lines, "nothing to do: "+r.Reason)
	}
	for _, w := range r.Skipped {
		lines = append(lines, brief(w)+"  skipped: settled")
	}
	for _, w := range r.Waiting {
		lines = append(lines, brief(w)+"  skipped: failed, waited for its retry time")
	}
	if w := r.Suspended; w != nil {
		lines = append(lines, fmt.Sprintf("slicing stopped before slice %d: %s", w.NextSlice, w.Reason))
	}
	for _, w := range r.Degradation {
		lines = append(lines, "warning: "+w.String())
	}
	for _, name := range slices.Sorted(maps.Keys(r.rest)) {
		lines = append(lines, name+": "+string(r.rest[name]))
	}
	if len(lines) > 0 {
		fmt.Fprintln(e.out, "\nremarks")
	}
	for _, line := range lines {
		fmt.Fprintln(e.out, printable(strings.ReplaceAll(wrapped(line), "\n", "\n  ")))
	}
	return nil
}

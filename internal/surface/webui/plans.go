package webui

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Plans tells what was planned and what came of it, and cancels it.
type Plans interface {
	// ListRows lists plans, newest first.
	ListRows(ctx context.Context, f view.PlanFilter) ([]view.PlanRow, error)
	// Plan tells of one plan.
	Plan(ctx context.Context, id int64) (view.PlanReport, error)
	// PlanLineage tells what came of some slices of a plan, down to batches.
	PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error)
	// ListSlices lists slices, newest first.
	ListSlices(ctx context.Context, f view.Filter) ([]view.Slice, error)
	// CancelPlan stops a plan, or tells what that would come to.
	CancelPlan(ctx context.Context, id int64, by ingest.Act) (view.PlanCancel, error)
}

// planList is the page of all plans.
type planList struct {
	listed[planRow]
	Source     string
	Statuses   []choice
	Operations []choice
	Narrowed   bool // by something
}

// planRow is a plan in the list.
type planRow struct {
	view.PlanRow
	Total, Done, Failed int
}

func newPlanRow(p view.PlanRow) planRow {
	r := planRow{PlanRow: p, Failed: p.Slices[string(ingest.SliceFailed)]}
	for status, n := range p.Slices {
		if r.Total += n; ingest.SliceStatus(status) != ingest.SlicePending && ingest.SliceStatus(status) != ingest.SliceReady {
			r.Done += n
		}
	}
	return r
}

var planStatuses = []ingest.PlanStatus{ingest.PlanReady, ingest.PlanPartial, ingest.PlanFailed, ingest.PlanCancelled, ingest.PlanCompleted}

// listPlans answers which plans there are, newest first.
func (s *site) listPlans(a *ask) (page, error) {
	source, err := a.wantedSource()
	if err != nil {
		return page{}, err
	}
	status, operation := a.FormValue("status"), a.FormValue("operation")
	if status != "" && !slices.Contains(planStatuses, ingest.PlanStatus(status)) {
		return page{}, fmt.Errorf("%w: status: %q is no state of plans", fault.ErrInvalid, status)
	}
	if operation != "" {
		if _, err := ingest.ParseOperation(operation); err != nil {
			return page{}, fmt.Errorf("%w: operation: %w", fault.ErrInvalid, err)
		}
	}
	all, err := readSeen(a, view.Filter{Source: source, Status: status}, func(p view.PlanRow) int64 { return p.ID }, func(ctx context.Context, f view.Filter) ([]view.PlanRow, error) {
		return s.Work.Plans.ListRows(ctx, view.PlanFilter{Filter: f, Operation: operation})
	})
	if err != nil {
		return page{}, err
	}
	l := planList{Source: source, Narrowed: source+status+operation != "", Operations: a.choices("operation", "HARVEST", "BACKFILL", "UPDATE")}
	l.listed = listed[planRow]{Older: all.Older, Begun: all.Begun}
	for _, p := range all.Rows {
		l.Rows = append(l.Rows, newPlanRow(p))
	}
	var names []string
	for _, one := range planStatuses {
		names = append(names, string(one))
	}
	l.Statuses = a.choices("status", names...)
	for i, c := range l.Statuses {
		if said, known := saidStatuses["plan"][c.Text]; known {
			l.Statuses[i].Text = said.word
		}
	}
	return page{Template: "plans", Title: l.title(), Body: l, Live: liveAll}, nil
}

func (l planList) title() string {
	troubled, open := 0, 0
	for _, p := range l.Rows {
		switch ingest.PlanStatus(p.Status) {
		case ingest.PlanDraft, ingest.PlanSlicing, ingest.PlanPartial, ingest.PlanReady:
			open++
		default:
			if p.Failed > 0 || p.Status == string(ingest.PlanFailed) {
				troubled++
			}
		}
	}
	switch {
	case len(l.Rows) == 0 && l.Narrowed:
		return "No plan is like this"
	case len(l.Rows) == 0:
		return "Nothing was planned yet"
	}
	which := "newest plan"
	if l.Begun {
		which = "older plan"
	}
	return fmt.Sprintf("%s: %d open, %d ended with failures", capitalise(countText(len(l.Rows), which)), open, troubled)
}

// slicePart is how many slices of a plan are in one state, with their part of the strip.
type slicePart struct {
	Status string
	Count  int
	Tone   string
	X, W   float64 // of the strip, in percent
}

// sliceParts counts the slices of a plan by state, in the order people ask.
func sliceParts(counts map[string]int) (out []slicePart, total int) {
	order := []ingest.SliceStatus{ingest.SliceSucceeded, ingest.SlicePartial, ingest.SliceFailed, ingest.SliceCancelled, ingest.SliceReady, ingest.SlicePending}
	tones := map[ingest.SliceStatus]string{ingest.SliceSucceeded: "done", ingest.SlicePartial: "doubt", ingest.SliceFailed: "fail", ingest.SliceCancelled: "waived", ingest.SliceReady: "way-soft", ingest.SlicePending: "way-soft"}
	for _, n := range counts {
		total += n
	}
	at := 0.0
	for _, status := range order {
		n := counts[string(status)]
		if n == 0 {
			continue
		}
		width := 100 * float64(n) / float64(total)
		out = append(out, slicePart{string(status), n, tones[status], at, max(width, 0.5)})
		at += width
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		if !slices.Contains(order, ingest.SliceStatus(status)) {
			out = append(out, slicePart{Status: status, Count: counts[status], Tone: "none"})
		}
	}
	return out, total
}

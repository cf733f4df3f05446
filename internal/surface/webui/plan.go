package webui

import (
	"context"
	"fmt"
	"html/template"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Tasks tells what was tried, and stops or repeats it.
type Tasks interface {
	// Task tells of one task, with what happens now.
	Task(ctx context.Context, id int64) (view.TaskDetail, error)
	// Run tells of one run and its newest pages before one of them; zero is before none.
	Run(ctx context.Context, id, before int64, pages int) (view.RunDetail, error)
	// Batch tells of one page with its evidence.
	Batch(ctx context.Context, id int64) (view.BatchDetail, error)
	// FindBatch finds a page by its run and its number there.
	FindBatch(ctx context.Context, run int64, no int) (int64, error)
	Cancel(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error)
	Retry(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error)
}

// planPage is a plan down to one page of the upstream.
type planPage struct {
	Plan    view.PlanReport
	Parts   []slicePart
	Total   int
	Failed  int
	Open    bool // it can be cancelled
	Asker   string
	Reason  string
	Items   string
	Tally   runTally // of all runs
	Trees   part[[]view.SliceTree]
	Chart   template.HTML
	Earlier string // pages of slices
	Later   string
	Slice   *view.SliceTree // the chosen one
	Task    part[view.TaskDetail]
	Run     *view.RunTree
	Ran     *runTally            // of the run; nil: not known
	Older   int                  // runs of the slice that are not shown
	Batches part[view.RunDetail] // of the run, where it has more than a tree shows
	Before  string               // pages of its batches
	Newest  string
	BatchID int64
	Proof   part[*evidence]
}

const (
	slicesOfPlan = 24 // that a page shows, with all that came of them
	slicesBefore = 4  // the chosen one
	runsOfSlice  = 20 // newest, in the table
	batchesOfRun = 100
	failedLooked = 500
)

// runTally is what the upstream answered to a run, or to several, and what was done about it
// without a person. Statuses and Actions are empty where nothing is known or was done.
type runTally struct {
	Statuses, Actions                      string
	Requests, Retries, Throttled, Restarts int
}

func tallyOf(s ingest.RunStats) runTally {
	return runTally{
		Statuses: wording.StatusesText(s.Statuses), Actions: wording.ActionsText(s.Actions),
		Requests: s.Requests, Retries: s.Retries, Throttled: s.Throttled, Restarts: s.Restarts,
	}
}

// showPlan answers what came of a plan, opened at what failed first.
func (s *site) showPlan(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	plan, err := s.planSeen(a, id)
	if err != nil {
		return page{}, err
	}
	p := planPage{Plan: plan, Asker: askerText(plan.Trigger), Reason: plan.Trigger.Reason(), Items: wording.ItemsText(plan.Stats.BatchStats), Tally: tallyOf(plan.Stats), Failed: plan.Slices[string(ingest.SliceFailed)]}
	p.Parts, p.Total = sliceParts(plan.Slices)
	p.Open = ingest.PlanStatus(plan.Status).CanBecome(ingest.PlanCancelled)
	after, chosen, err := s.chooseSlice(a, plan)
	if err != nil {
		return page{}, err
	}
	p.Trees = load(a, "what came of the slices", func(ctx context.Context) ([]view.SliceTree, error) {
		return s.Work.Plans.PlanLineage(ctx, id, after, slicesOfPlan+1)
	})
	p.page(a, after)
	p.chooseRun(a, chosen)
	s.pageBatches(a, &p)
	p.chooseBatch(a)
	p.Chart = drawRuns(p.Trees.Value, chosen, a.Now, func(slice, run int64) string {
		return local(a.URL.Path, "slice", slice, "run", run) + "#evidence"
	})
	s.openBatch(a, &p)
	way := []crumb{{"Plans", "/plans"}, {plan.Source, local("/plans", "source", plan.Source)}, {Name: fmt.Sprintf("plan %d", id)}}
	return page{Template: "plan", Title: p.title(), Lead: fmt.Sprintf("%s/%s %s %s", plan.Source, plan.Endpoint, plan.Operation, windowOrNone(plan)), Crumbs: way, Body: p, Live: liveOf(plan.Source)}, nil
}

// planSeen reads a plan that the caller may know of.
func (s *site) planSeen(a *ask, id int64) (view.PlanReport, error) {
	plan, err := s.Work.Plans.Plan(a.Context(), id)
	if err == nil && !a.Caller.Sees(plan.Source) {
		return view.PlanReport{}, unseen("plan", id)
	}
	return plan, err
}

// askerText says by which way a plan was asked for, and by whom.
func askerText(t view.Trigger) string {
	text := t.Scheduler
	if text == ingest.SchedulerAPI {
		text = "HTTP"
	}
	if by := t.Actor(); by != "" {
		text += " (" + by + ")"
	}
	return text
}

func windowOrNone(p view.PlanReport) string {
	if p.Window == nil {
		return ""
	}
	return wording.WindowText(*p.Window)
}

// chooseSlice returns the slice that the page is open at, and where its list of slices
// begins: at the one that is asked for, else at the first one that failed.
func (s *site) chooseSlice(a *ask, plan view.PlanReport) (after int, chosen int64, err error) {
	from := int64(0)
	if a.FormValue("after") != "0" {
		if from, err = a.numberOf("after"); err != nil {
			return 0, 0, err
		}
	}
	if chosen, err = a.numberOf("slice"); err != nil {
		return 0, 0, err
	}
	if a.FormValue("after") != "" || chosen == 0 && plan.Slices[string(ingest.SliceFailed)] == 0 {
		return int(from), chosen, nil
	}
	f := view.Filter{PlanID: plan.ID, Limit: failedLooked}
	if chosen == 0 {
		f.Status = string(ingest.SliceFailed)
	} else {
		f.Before, f.Limit = chosen+1, 1
	}
	found, err := s.Work.Plans.ListSlices(a.Context(), f)
	if err != nil || len(found) == 0 {
		return 0, chosen, err
	}
	first := found[0]
	for _, one := range found {
		if one.No < first.No {
			first = one
		}
	}
	return max(first.No-1-slicesBefore, 0), first.ID, nil
}

// page cuts the slices that were read to a page, with the addresses of those beside it.
func (p *planPage) page(a *ask, after int) {
	if all := p.Trees.Value; len(all) > slicesOfPlan {
		p.Trees.Value = all[:slicesOfPlan]
		p.Later = a.with("after", strconv.Itoa(all[slicesOfPlan-1].No), "slice", "", "run", "", "batch", "")
	}
	if after > slicesOfPlan {
		p.Earlier = a.with("after", strconv.Itoa(after-slicesOfPlan), "slice", "", "run", "", "batch", "")
	} else if after > 0 {
		p.Earlier = a.with("after", "0", "slice", "", "run", "", "batch", "")
	}
}

// chooseRun opens a slice at one of its runs: that which is asked for, else the last.
func (p *planPage) chooseRun(a *ask, slice int64) {
	for i := range p.Trees.Value {
		if p.Trees.Value[i].ID == slice {
			p.Slice = &p.Trees.Value[i]
		}
	}
	if p.Slice == nil || p.Slice.Task == nil {
		return
	}
	task := *p.Slice.Task // the tree is shared with the timeline, which shows all runs
	if n := len(task.Runs); n > runsOfSlice {
		p.Older, task.Runs = n-runsOfSlice, task.Runs[n-runsOfSlice:]
	}
	opened := *p.Slice
	opened.Task, p.Slice = &task, &opened
	wanted, _ := a.numberOf("run") // another one is none of this slice's
	for i := range task.Runs {
		if r := &task.Runs[i]; r.ID == wanted || wanted == 0 || p.Run == nil && i == len(task.Runs)-1 {
			p.Run = r
		}
	}
}

// pageBatches reads the newest batches of a run that has more than a tree shows, or those up to the
// one that is asked for: what failed is at the end of a run.
func (s *site) pageBatches(a *ask, p *planPage) {
	if p.Run == nil || !p.Run.More {
		return
	}
	before, _ := a.numberOf("before")
	if batch, _ := a.numberOf("batch"); before == 0 && batch != 0 {
		before = batch + 1
	}
	p.Batches = load(a, "the batches of the run", func(ctx context.Context) (view.RunDetail, error) {
		return s.Work.Tasks.Run(ctx, p.Run.ID, before, batchesOfRun)
	})
	run := *p.Run // the tree is shared with the timeline
	run.Batches = nil
	for _, b := range p.Batches.Value.Batches {
		run.Batches = append(run.Batches, b.Leaf())
	}
	p.Run = &run
	if older := p.Batches.Value.Older; older != 0 {
		p.Before = a.with("run", strconv.FormatInt(run.ID, 10), "before", strconv.FormatInt(older, 10), "batch", "")
	}
	if before != 0 {
		p.Newest = a.with("run", strconv.FormatInt(run.ID, 10), "before", "", "batch", "")
	}
}

// chooseBatch opens the run at the batch that is asked for, else at the one that failed, else at
// the last.
func (p *planPage) chooseBatch(a *ask) {
	if p.Run == nil {
		return
	}
	p.BatchID, _ = a.numberOf("batch")
	known := false
	for _, b := range p.Run.Batches {
		known = known || b.ID == p.BatchID
	}
	for _, b := range p.Run.Batches {
		if known {
			return
		}
		p.BatchID, known = b.ID, b.Status == string(ingest.BatchFailed)
	}
}

// openBatch reads what happens to the task of the slice, and the evidence of the batch.
func (s *site) openBatch(a *ask, p *planPage) {
	if p.Slice == nil || p.Slice.Task == nil {
		return
	}
	p.Task = load(a, "what happens to the task", func(ctx context.Context) (view.TaskDetail, error) {
		return s.Work.Tasks.Task(ctx, p.Slice.Task.ID)
	})
	for _, r := range p.Task.Value.Runs {
		if p.Run != nil && r.ID == p.Run.ID {
			tally := tallyOf(r.Stats)
			p.Ran = &tally
		}
	}
	if p.BatchID != 0 {
		p.Proof = load(a, "the evidence of the batch", func(ctx context.Context) (*evidence, error) { return s.readEvidence(ctx, a, p.BatchID) })
	}
}

func (p planPage) title() string {
	read := p.Plan.Slices[string(ingest.SliceSucceeded)]
	head := fmt.Sprintf("Plan %d: ", p.Plan.ID)
	switch {
	case p.Total == 0 && p.Plan.Window == nil:
		return head + "there was nothing to do"
	case p.Total == 0:
		return head + "it has no slices yet"
	case read == p.Total:
		return head + fmt.Sprintf("all %s read", countText(p.Total, "slice"))
	}
	return head + fmt.Sprintf("%s of %s read%s", groupDigits(read), countText(p.Total, "slice"), unreadText(p.Failed, p.Plan.Slices[string(ingest.SliceCancelled)]))
}

// findRun leads to the plan of a run, opened at it, or to one of its batches: errors and
// alerts know these numbers alone.
func (s *site) findRun(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	run, err := s.Work.Tasks.Run(a.Context(), id, 0, 1)
	if err != nil {
		return page{}, err
	}
	if !a.Caller.Sees(run.Source) {
		return page{}, unseen("run", id)
	}
	no, err := a.numberOf("no")
	if err != nil {
		return page{}, err
	}
	if no > 0 {
		if batch, err := s.Work.Tasks.FindBatch(a.Context(), id, int(no)); err == nil {
			return page{To: fmt.Sprintf("/batches/%d", batch)}, nil
		}
	}
	task, err := s.Work.Tasks.Task(a.Context(), run.TaskID)
	if err != nil {
		return page{}, err
	}
	return page{To: local(fmt.Sprintf("/plans/%d", run.PlanID), "slice", task.SliceID, "run", id) + "#evidence"}, nil
}

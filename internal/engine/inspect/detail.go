package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Pages reads what plans came to, down to single pages.
type Pages interface {
	Slice(ctx context.Context, id int64) (view.SliceDetail, error)
	// Exchanges lists pages with what was asked and what came back, newest first.
	Exchanges(ctx context.Context, f view.Filter) ([]view.Batch, error)
	// Batch reads one page with its evidence.
	Batch(ctx context.Context, id int64) (view.Batch, error)
}

// Bodies knows the bodies of answers that were kept.
type Bodies interface {
	// Measure tells the room that a body takes. fault.ErrNotFound: it is not there any more.
	Measure(ctx context.Context, ref string) (bytes int64, lean bool, err error)
}

// taskRuns is how many runs a task's detail shows; a task is given up long before.
const taskRuns = 200

// Task tells of one task: what was tried, and what happens now.
func (i *Inspector) Task(ctx context.Context, id int64) (d view.TaskDetail, err error) {
	tasks, err := i.from.Work.Tasks(ctx, view.Filter{TaskID: id, Limit: 1})
	if err != nil {
		return d, err
	}
	if len(tasks) == 0 {
		return d, fmt.Errorf("task %d: %w", id, fault.ErrNotFound)
	}
	d.Task, d.Next = tasks[0], wording.TaskNext(tasks[0])
	runs, err := i.from.Ended.Runs(ctx, view.Filter{TaskID: id, Limit: taskRuns})
	if err != nil {
		return d, err
	}
	d.Runs = append([]view.Run{}, runs...)
	for _, r := range runs {
		d.Stats = d.Stats.Add(r.Stats)
	}
	pause, paused, err := i.from.Failed.Paused(ctx, d.Partition())
	if err != nil {
		return d, err
	}
	if paused && !ingest.TaskStatus(d.Status).Terminal() {
		d.Paused, d.Next = &pause, pause.Resuming()
	}
	return d, nil
}

// Slice tells of one slice: what it asks for, its task, and what was tried.
func (i *Inspector) Slice(ctx context.Context, id int64) (d view.SliceReport, err error) {
	if d.SliceDetail, err = i.from.Pages.Slice(ctx, id); err != nil {
		return d, fmt.Errorf("slice %d: %w", id, err)
	}
	d.Text, d.Runs = wording.ExpressionText(d.Expr), []view.Run{}
	if d.TaskID == 0 {
		return d, nil
	}
	tasks, err := i.from.Work.Tasks(ctx, view.Filter{TaskID: d.TaskID, Limit: 1})
	if err != nil {
		return d, err
	}
	for _, task := range tasks {
		d.Task = &task
	}
	runs, err := i.from.Ended.Runs(ctx, view.Filter{TaskID: d.TaskID, Limit: taskRuns})
	d.Runs = append(d.Runs, runs...)
	return d, err
}

// Plan tells of one plan: what led to its window, how far it has come, and what is wrong
// with its partition right now.
func (i *Inspector) Plan(ctx context.Context, id int64) (d view.PlanReport, err error) {
	if d.PlanDetail, err = i.from.Readings.Plan(ctx, id); err != nil {
		return d, fmt.Errorf("plan %d: %w", id, err)
	}
	d.Text = wording.ExpressionText(d.ExprProto)
	if noted, err := d.ReadRemarks(); err == nil {
		d.Noted = &noted
	}
	all, err := i.from.Work.Conditions(ctx)
	if err != nil {
		return d, err
	}
	d.Conditions = slices.DeleteFunc(append([]view.Condition{}, all...), func(c view.Condition) bool {
		return c.Source != d.Source || c.Endpoint != "" && c.Endpoint != d.Endpoint || c.Operation != "" && c.Operation != d.Operation
	})
	return d, nil
}

// Run tells of one run: how it ended, what comes after it, and its newest pages, at most
// so many, in the order they were read.
func (i *Inspector) Run(ctx context.Context, id, before int64, pages int) (d view.RunDetail, err error) {
	runs, err := i.from.Ended.Runs(ctx, view.Filter{RunID: id, Limit: 1})
	if err != nil {
		return d, err
	}
	if len(runs) == 0 {
		return d, fmt.Errorf("run %d: %w", id, fault.ErrNotFound)
	}
	d.Run, d.Shares = runs[0], view.SharesOf(runs[0].Stats)
	if d.ErrorCode != "" {
		d.Class = wording.FaultClassText(d.ErrorCode)
	}
	tasks, err := i.from.Work.Tasks(ctx, view.Filter{TaskID: d.TaskID, Limit: 1})
	if err != nil {
		return d, err
	}
	if len(tasks) > 0 {
		if d.Range, err = i.rangeOfTask(ctx, tasks[0]); err != nil {
			return d, err
		}
	}
	d.Next = runNext(d.Run, tasks)
	batches, err := i.from.Pages.Exchanges(ctx, view.Filter{RunID: id, Before: before, Limit: pages + 1})
	if len(batches) > pages {
		batches = batches[:pages]
		d.Older = batches[pages-1].ID
	}
	view.SteadyAnswers(batches)
	slices.Reverse(batches)
	d.Batches = append([]view.Batch{}, batches...)
	return d, err
}

// runNext says what comes after a run: of its task, if that has not moved on. tasks holds
// it, unless it is gone.
func runNext(r view.Run, tasks []view.Task) string {
	switch {
	case r.Status == string(ingest.RunRunning):
		return "it is at work"
	case len(tasks) == 0:
		return ""
	case tasks[0].LeaseEpoch == r.Epoch:
		return fmt.Sprintf("task %d: %s", r.TaskID, wording.TaskNext(tasks[0]))
	}
	return fmt.Sprintf("task %d was tried again: patra task show %d", r.TaskID, r.TaskID)
}

// rangeOfTask returns the ids that a task works on, nil if it reads a window of time.
func (i *Inspector) rangeOfTask(ctx context.Context, t view.Task) (*slicing.Range, error) {
	if t.SliceID == 0 {
		return nil, nil
	}
	slice, err := i.from.Pages.Slice(ctx, t.SliceID)
	if err != nil {
		return nil, err
	}
	return slice.Range(), nil
}

// Batch tells of one page: what was asked, what came, and whether its body is still
// there. One that left the database is looked for in the archives.
func (i *Inspector) Batch(ctx context.Context, id int64) (d view.BatchDetail, err error) {
	if d.Batch, err = i.from.Pages.Batch(ctx, id); errors.Is(err, fault.ErrNotFound) {
		d.Batch, d.Archive, err = i.from.Archive.ArchivedBatch(ctx, id)
	}
	if err != nil {
		return d, fmt.Errorf("batch %d: %w", id, err)
	}
	one := []view.Batch{d.Batch}
	view.SteadyAnswers(one)
	d.Batch = one[0]
	d.Body, d.RawStored, d.RawLean = i.bodyOf(ctx, d.Batch)
	return d, nil
}

// bodyOf tells what became of the body of an answer, and the room it takes; lean says that its items are not counted.
func (i *Inspector) bodyOf(ctx context.Context, b view.Batch) (body view.BatchBody, stored int64, lean bool) {
	if b.Raw == "" {
		return view.BatchBody{State: view.BodyNotKept}, 0, false
	}
	stored, lean, err := i.from.Bodies.Measure(ctx, b.Raw)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return view.BatchBody{State: view.BodyGone, Error: err}, 0, false
	case err != nil:
		return view.BatchBody{State: view.BodyUnknown, Error: err}, 0, false
	}
	return view.BatchBody{State: view.BodyKept, Bytes: b.AnswerBytes()}, stored, lean
}

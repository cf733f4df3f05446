package webui

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func retryFacts(d view.TasksDone) []fact {
	return []fact{{"tried again", wording.Count(d.Queued, "task")}, {"left as they are", wording.Count(d.Unchanged, "task")}}
}

func cancelFacts(d view.TasksDone) []fact {
	return []fact{{"cancelled", wording.Count(d.Cancelled, "task") + " without a worker"}, {"stopping", wording.Count(d.Stopping, "task") + " whose worker stops after the page it reads"},
		{"cancelled before", wording.Count(d.Unchanged, "task")}}
}

func tasksChange(d view.TasksDone) bool { return d.Changed() > 0 }

const (
	retryMeans  = "They get all their attempts anew, under the settings they were planned with. `patra serve` works on them, or the next harvest."
	cancelMeans = "What was read stays. What was not read stays owed: it shows as a gap, and a later plan asks for it again."
)

// retryPlan tries all failed tasks of a plan again.
func (s *site) retryPlan(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	if _, err := s.planSeen(a, id); err != nil {
		return page{}, err
	}
	pick := ingest.TaskPick{PlanID: id, Status: ingest.TaskFailed}
	return perform(a, act[view.TasksDone]{
		do: func(ctx context.Context, by ingest.Act) (view.TasksDone, error) {
			return s.Work.Tasks.Retry(ctx, pick, by)
		},
		facts: retryFacts, changes: tasksChange, means: retryMeans,
		question: fmt.Sprintf("Try all failed tasks of plan %d again?", id), done: fmt.Sprintf("The failed tasks of plan %d are tried again", id),
		command: fmt.Sprintf("patra task retry --plan %d --yes", id), button: "Try again", back: planCrumb(id), way: planWay(id),
	})
}

// cancelPlan stops a plan.
func (s *site) cancelPlan(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	if _, err := s.planSeen(a, id); err != nil {
		return page{}, err
	}
	return perform(a, act[view.PlanCancel]{
		do: func(ctx context.Context, by ingest.Act) (view.PlanCancel, error) {
			return s.Work.Plans.CancelPlan(ctx, id, by)
		},
		facts: func(d view.PlanCancel) []fact {
			return []fact{{"cancelled", wording.Count(d.Cancelled, "slice") + " without a worker"}, {"stopping", wording.Count(d.Stopping, "slice") + " whose worker stops after the page it reads"},
				{"ended before", wording.Count(d.Ended, "slice")}}
		},
		changes: func(d view.PlanCancel) bool { return ingest.PlanStatus(d.Status).CanBecome(ingest.PlanCancelled) }, means: cancelMeans,
		question: fmt.Sprintf("Cancel plan %d?", id), done: fmt.Sprintf("Plan %d is cancelled", id),
		command: fmt.Sprintf("patra plan cancel %d", id), button: "Cancel the plan", back: planCrumb(id), way: planWay(id),
	})
}

func planCrumb(id int64) crumb {
	return crumb{fmt.Sprintf("Back to plan %d", id), fmt.Sprintf("/plans/%d", id)}
}

func planWay(id int64) []crumb {
	return []crumb{{"Plans", "/plans"}, {fmt.Sprintf("plan %d", id), fmt.Sprintf("/plans/%d", id)}}
}

// taskSeen reads a task that the caller may know of.
func (s *site) taskSeen(a *ask) (view.TaskDetail, error) {
	id, err := a.number()
	if err != nil {
		return view.TaskDetail{}, err
	}
	t, err := s.Work.Tasks.Task(a.Context(), id)
	if err == nil && !a.Caller.Sees(t.Source) {
		return view.TaskDetail{}, unseen("task", id)
	}
	return t, err
}

// findTask leads to the plan of a task, opened at what came back last.
func (s *site) findTask(a *ask) (page, error) {
	t, err := s.taskSeen(a)
	if err != nil {
		return page{}, err
	}
	return page{To: taskBack(t).Path + "#evidence"}, nil
}

func taskBack(t view.TaskDetail) crumb {
	return crumb{fmt.Sprintf("Back to plan %d", t.PlanID), local(fmt.Sprintf("/plans/%d", t.PlanID), "slice", t.SliceID)}
}

// retryTask tries one task again.
func (s *site) retryTask(a *ask) (page, error) {
	t, err := s.taskSeen(a)
	if err != nil {
		return page{}, err
	}
	pick := ingest.TaskPick{IDs: []int64{t.ID}, Status: ingest.TaskFailed}
	return perform(a, act[view.TasksDone]{
		do: func(ctx context.Context, by ingest.Act) (view.TasksDone, error) {
			return s.Work.Tasks.Retry(ctx, pick, by)
		},
		facts: retryFacts, changes: tasksChange, means: retryMeans,
		question: fmt.Sprintf("Try task %d again?", t.ID), done: fmt.Sprintf("Task %d is tried again", t.ID),
		command: fmt.Sprintf("patra task retry %d", t.ID), button: "Try again", back: taskBack(t), way: planWay(t.PlanID),
	})
}

// cancelTask stops one task.
func (s *site) cancelTask(a *ask) (page, error) {
	t, err := s.taskSeen(a)
	if err != nil {
		return page{}, err
	}
	pick := ingest.TaskPick{IDs: []int64{t.ID}}
	return perform(a, act[view.TasksDone]{
		do: func(ctx context.Context, by ingest.Act) (view.TasksDone, error) {
			return s.Work.Tasks.Cancel(ctx, pick, by)
		},
		facts: cancelFacts, changes: tasksChange, means: cancelMeans,
		question: fmt.Sprintf("Cancel task %d?", t.ID), done: fmt.Sprintf("Task %d is stopped", t.ID),
		command: fmt.Sprintf("patra task cancel %d", t.ID), button: "Cancel the task", back: taskBack(t), way: planWay(t.PlanID),
	})
}

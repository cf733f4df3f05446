package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

func refuseAny(tasks []pickedTask, why func(pickedTask) string) error {
	r := kernel.Refusal{Kind: fault.ErrConflict}
	for _, p := range tasks {
		if text := why(p); text != "" {
			r.Texts = append(r.Texts, fmt.Sprintf("task %d %s", p.id, text))
		}
	}
	if r.Texts == nil {
		return nil
	}
	return r
}

// pickedTask is a task an operator chose, locked.
type pickedTask struct {
	id, plan   int64
	status     ingest.TaskStatus
	stopping   bool // its worker was told to stop
	code       fault.Code
	slice      waitingSlice
	planStatus ingest.PlanStatus
}

func (p pickedTask) isWaiting() bool {
	return p.status == ingest.TaskScheduled || p.status == ingest.TaskQueued
}
func (p pickedTask) isWorked() bool { return p.status.Leased() }
func (p pickedTask) hasEnded() bool {
	return p.status == ingest.TaskFailed || p.status == ingest.TaskCancelled
}

// isCancelled reports whether cancelling changes anything.
func (p pickedTask) isCancelled() bool { return p.isWaiting() || p.isWorked() && !p.stopping }

func (p pickedTask) whyNotCancel() string {
	if p.status.Terminal() && p.status != ingest.TaskCancelled {
		return fmt.Sprintf("is %s: nothing is left to cancel", p.status)
	}
	return ""
}

func (p pickedTask) whyNotRetry() string {
	switch {
	case p.stopping && p.isWorked():
		return "is being stopped: try again when it is CANCELLED"
	case p.status == ingest.TaskSucceeded:
		return "SUCCEEDED: there is nothing to try again"
	case p.status == ingest.TaskPartial:
		return "is PARTIAL: what it did not read is cut smaller, or planned again by the next harvest"
	case p.hasEnded() && p.planStatus == ingest.PlanCancelled:
		return fmt.Sprintf("belongs to plan %d, which was cancelled: the next harvest plans its window again", p.plan)
	}
	return ""
}

// canContinue reports whether a task may go on after its last committed page. After
// a fault that lay in what was read, the slice is read from its start.
func (p pickedTask) canContinue() bool { return fault.New(p.code, nil).Level == fault.Transient }

// pickTasks finds and locks tasks, sorted by id. Statuses narrow those that are not
// named.
func (t *tx) pickTasks(pick ingest.TaskPick, statuses ...ingest.TaskStatus) ([]pickedTask, error) {
	if pick.Named() {
		ids := slices.Compact(slices.Sorted(slices.Values(pick.IDs)))
		tasks, err := t.lockTasks(ids)
		if err == nil {
			err = allFound(ids, tasks)
		}
		return tasks, err
	}
	ids, err := t.matchingTasks(pick, statuses)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return t.lockTasks(ids)
}

func allFound(ids []int64, tasks []pickedTask) error {
	r := kernel.Refusal{Kind: fault.ErrNotFound}
	for _, id := range ids {
		if !slices.ContainsFunc(tasks, func(p pickedTask) bool { return p.id == id }) {
			r.Texts = append(r.Texts, fmt.Sprintf("there is no task %d", id))
		}
	}
	if r.Texts == nil {
		return nil
	}
	return r
}

// matchingTasks are those of a plan or a partition in a state that an operator
// may change. Who was told to stop need not be told again, and a plan that was
// cancelled takes nothing back.
const matchingTasks = ` FROM ing_task t JOIN ing_plan p ON p.id = t.plan_id WHERE t.status_code = ?
  AND (t.cancel_requested = 0 OR t.status_code NOT IN ('DISPATCHED','EXECUTING'))
  AND (p.status_code <> 'CANCELLED' OR t.status_code NOT IN ('FAILED','CANCELLED'))`

// matchingTasks returns tasks of a plan or a scope in some states, at most a chunk.
func (t *tx) matchingTasks(pick ingest.TaskPick, statuses []ingest.TaskStatus) (out []int64, err error) {
	err = t.visitOwners(pick, func(owner string, id int64) error {
		for _, status := range statuses {
			more, err := t.IDs("SELECT t.id"+matchingTasks+owner+" LIMIT ?", string(status), id, kernel.OperateAtOnce-len(out))
			if err != nil {
				return err
			}
			out = append(out, more...)
		}
		return nil
	})
	return out, err
}

func noPlan(id int64) kernel.Refusal {
	return kernel.Refuse(fault.ErrNotFound, fmt.Sprintf("there is no plan %d", id))
}

// visitOwners visits the plan of a pick, or its partitions: each is a range of an index.
func (t *tx) visitOwners(pick ingest.TaskPick, visit func(owner string, id int64) error) error {
	if pick.PlanID != 0 {
		if _, err := t.readPlan(pick.PlanID); errors.Is(err, fault.ErrNotFound) {
			return noPlan(pick.PlanID)
		} else if err != nil {
			return err
		}
		return visit(" AND t.plan_id = ?", pick.PlanID)
	}
	partitions, err := t.partitionsOf(pick.Scope)
	if err != nil {
		return err
	}
	for _, id := range partitions {
		if err := visit(" AND t.partition_id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

const scopePartitions = "SELECT id FROM ing_partition WHERE provenance_code = ? AND (? = '' OR endpoint_name = ?) AND (? = '' OR operation_code = ?)"

func scopeArgs(s ingest.Scope) []any {
	return []any{s.Source, s.Endpoint, s.Endpoint, string(s.Operation), string(s.Operation)}
}

func (t *tx) partitionsOf(scope ingest.Scope) ([]int64, error) {
	return t.IDs(scopePartitions+" ORDER BY id", scopeArgs(scope)...)
}

// CountTasks returns how many tasks of a plan or a scope an operator may change, by
// state: what CancelTasks and RetryTasks would find.
func (s *Ledger) CountTasks(ctx context.Context, pick ingest.TaskPick, statuses ...ingest.TaskStatus) (map[ingest.TaskStatus]int, error) {
	owner, args := " AND t.plan_id = ?", []any{pick.PlanID}
	if pick.PlanID != 0 {
		var n int
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT 1 FROM ing_plan WHERE id = ?", pick.PlanID).Scan(&n))
		if err == nil && !known {
			err = kernel.Performed(noPlan(pick.PlanID))
		}
		if err != nil {
			return nil, s.db.Translate(err)
		}
	} else {
		owner, args = " AND t.partition_id IN ("+scopePartitions+")", scopeArgs(pick.Scope)
	}
	out := map[ingest.TaskStatus]int{}
	for _, status := range statuses {
		var n int
		if err := s.db.QueryRow(ctx, "SELECT COUNT(*)"+matchingTasks+owner, append([]any{string(status)}, args...)...).Scan(&n); err != nil {
			return nil, kernel.Wrap("count tasks", s.db.Translate(err))
		}
		out[status] = n
	}
	return out, nil
}

// lockTasks locks tasks with their slices, in the order of FinishRun. Their plans
// are only read.
func (t *tx) lockTasks(ids []int64) (out []pickedTask, err error) {
	for part := range slices.Chunk(ids, kernel.IDsPerStatement) {
		list := make([]any, kernel.IDsPerStatement)
		for i := range list {
			list[i] = part[min(i, len(part)-1)]
		}
		rows, err := t.Query(`SELECT t.id, t.plan_id, t.status_code, t.cancel_requested, COALESCE(t.last_error_code, ''), t.lease_epoch, s.id, s.window_from, s.window_to
  FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id WHERE t.id IN (?`+strings.Repeat(",?", kernel.IDsPerStatement-1)+`) ORDER BY t.id`+t.Dialect().ForUpdate, list...)
		if err != nil {
			return nil, err
		}
		err = kernel.Each(rows, func() error {
			var p pickedTask
			var from, to sql.NullInt64
			err := rows.Scan(&p.id, &p.plan, &p.status, &p.stopping, &p.code, &p.slice.epoch, &p.slice.slice, &from, &to)
			p.slice.task, p.slice.window = p.id, kernel.Span(from, to)
			out = append(out, p)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	plans := map[int64]cancelling{}
	for i, p := range out {
		if _, known := plans[p.plan]; !known {
			if plans[p.plan], err = t.readPlan(p.plan); err != nil {
				return nil, err
			}
		}
		out[i].planStatus = plans[p.plan].status
	}
	return out, nil
}

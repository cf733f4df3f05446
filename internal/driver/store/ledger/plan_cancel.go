package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CancelPlan stops a plan for an operator. What nobody works on is cancelled in
// chunks of one transaction each; workers are told and stop after the page they
// read. The first transaction also closes the plan and writes the audit entry. A
// call that died half-way is finished by repeating it; repeating a finished one
// changes nothing (I8).
//
// The windows stay owed: like every cancelled window they are planned again
// after a wait (D§5.7). A plan that has ended is refused as a conflict.
func (s *Ledger) CancelPlan(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error) {
	return s.cancelPlan(ctx, id, cancelBy{actor: actor, reason: reason})
}

// SupersedePlan does what CancelPlan does for a plan whose source has changed since: what
// it leaves is planned anew at once, with the source as it is now. Each transaction also
// notes that change, so that no window waits for a retry, wherever the call may die
// (D§5.31).
func (s *Ledger) SupersedePlan(ctx context.Context, id int64, reason string) (view.PlanCancel, error) {
	return s.cancelPlan(ctx, id, cancelBy{actor: ingest.ByItself, reason: reason, supersedes: true})
}

// cancelBy is who cancels a plan and why.
type cancelBy struct {
	actor, reason string
	supersedes    bool // what is left is not to wait for a retry
}

func (s *Ledger) cancelPlan(ctx context.Context, id int64, by cancelBy) (view.PlanCancel, error) {
	for more := true; more; {
		err := s.step(ctx, "cancel plan", kernel.Bulk, func(t *tx) (err error) {
			more, err = t.cancelChunk(id, by)
			return err
		})
		var ended planEnded
		switch {
		case errors.As(err, &ended):
			return view.PlanCancel{}, kernel.Performed(kernel.Refuse(fault.ErrConflict, ended.Error()))
		case err != nil:
			return view.PlanCancel{}, err
		}
	}
	return s.look.PlanCancel(ctx, id)
}

// planEnded refuses a plan that is over. It is no conflict inside the step: that
// would be redone.
type planEnded struct {
	id     int64
	status ingest.PlanStatus
}

func (e planEnded) Error() string {
	return fmt.Sprintf("plan %d is %s: nothing is left to cancel", e.id, e.status)
}

// cancelAtOnce is how many slices one transaction cancels (D§5.20: writes are short).
const cancelAtOnce = 500

// cancelChunk takes locks in the order of FinishRun: tasks, slices, cursor, plan.
// There is more to do if the chunk was full, and once after the plan was closed:
// a planner may have added slices before it saw that.
func (t *tx) cancelChunk(id int64, by cancelBy) (more bool, err error) {
	p, err := t.planToCancel(id)
	if err != nil {
		return false, err
	}
	waiting, err := t.waitingSlices(id)
	if err != nil {
		return false, err
	}
	if _, err := t.Exec(`UPDATE ing_task SET cancel_requested = 1, updated_at = ? WHERE plan_id = ? AND status_code IN ('DISPATCHED','EXECUTING')
  AND cancel_requested = 0`, kernel.Micros(t.Now), id); err != nil { // before the cursor: a worker that ends holds its task and waits for the cursor
		return false, err
	}
	if err := t.cancelSlices(p, waiting, "cancelled with its plan"); err != nil {
		return false, err
	}
	if by.supersedes && len(waiting) > 0 {
		if err := t.noteChange(p.scope, ingest.ChangeSuperseded, ""); err != nil {
			return false, err
		}
	}
	if p.status == ingest.PlanCancelled {
		return len(waiting) == cancelAtOnce, nil
	}
	return true, t.closeCancelled(p, by.actor, by.reason)
}

type cancelling struct {
	id, schedule, cursor int64
	scope                ingest.Scope
	status               ingest.PlanStatus
	asOf                 time.Time
	exprHash             string
}

func (t *tx) readPlan(id int64) (p cancelling, err error) {
	var asOf sql.NullInt64
	p.id = id
	err = t.Row("SELECT schedule_instance_id, cursor_id, status_code, as_of, expr_proto_hash, provenance_code, endpoint_name, operation_code FROM ing_plan WHERE id = ?", id).
		Scan(&p.schedule, &p.cursor, &p.status, &asOf, &p.exprHash, &p.scope.Source, &p.scope.Endpoint, &p.scope.Operation)
	p.asOf = kernel.Instant(asOf)
	return p, kernel.OrNotFound(err)
}

func (t *tx) planToCancel(id int64) (p cancelling, err error) {
	p, err = t.readPlan(id)
	switch {
	case err != nil:
		return p, err
	case p.status != ingest.PlanCancelled && !p.status.CanBecome(ingest.PlanCancelled):
		return p, planEnded{id, p.status}
	}
	return p, nil
}

// waitingSlice is a slice that no process works on. One that has no task yet has a zero
// task.
type waitingSlice struct {
	task, slice, epoch int64
	window             *window.Window
}

func (t *tx) waitingSlices(planID int64) (out []waitingSlice, err error) {
	read := func(query string, args ...any) error {
		rows, err := t.Query(query+t.Dialect().ForUpdate, append(args, cancelAtOnce-len(out))...)
		if err != nil {
			return err
		}
		return kernel.Each(rows, func() error {
			var w waitingSlice
			var from, to sql.NullInt64
			err := rows.Scan(&w.task, &w.epoch, &w.slice, &from, &to)
			w.window = kernel.Span(from, to)
			out = append(out, w)
			return err
		})
	}
	for _, status := range []ingest.TaskStatus{ingest.TaskScheduled, ingest.TaskQueued} {
		if err := read(`SELECT t.id, t.lease_epoch, s.id, s.window_from, s.window_to FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id
  WHERE t.plan_id = ? AND t.status_code = ? ORDER BY t.id LIMIT ?`, planID, string(status)); err != nil {
			return nil, err
		}
	}
	return out, read(`SELECT 0, 0, s.id, s.window_from, s.window_to FROM ing_plan_slice s WHERE s.plan_id = ? AND s.status_code = 'PENDING'
  AND NOT EXISTS (SELECT 1 FROM ing_task t WHERE t.slice_id = s.id) ORDER BY s.id LIMIT ?`, planID)
}

// cancelSlices ends slices with their tasks. The ledger notes a chunk as one
// event: like a task that its worker cancelled, it leaves a window that was
// given up and is still wanted. The event is known by its slices and how often
// each was leased: one that was tried again and cancelled again is another.
func (t *tx) cancelSlices(p cancelling, waiting []waitingSlice, why string) error {
	if len(waiting) == 0 {
		return nil
	}
	var tasks, slices []int64
	var windows []window.Window
	identity := []string{fmt.Sprint(p.cursor), fmt.Sprint(p.id), "cancelled", string(coverage.Failed)}
	for _, w := range waiting {
		slices = append(slices, w.slice)
		identity = append(identity, fmt.Sprintf("%d@%d", w.slice, w.epoch))
		if w.task != 0 {
			tasks = append(tasks, w.task)
		}
		if w.window != nil {
			windows = append(windows, *w.window)
		}
	}
	now := kernel.Micros(t.Now)
	if err := t.ExecIn(`UPDATE ing_task SET status_code = 'CANCELLED', claim_token = NULL, last_error_code = ?, last_error_msg = ?,
  finished_at = ?, updated_at = ? WHERE status_code IN ('SCHEDULED','QUEUED') AND id IN `, tasks, string(fault.Interrupted), why, now, now); err != nil {
		return err
	}
	if err := t.ExecIn("UPDATE ing_plan_slice SET status_code = 'CANCELLED', updated_at = ? WHERE status_code IN ('PENDING','READY') AND id IN ", slices, now); err != nil {
		return err
	}
	if len(windows) == 0 {
		return nil
	}
	return t.advanceCursor(p.cursor, ledgerEntry{
		Event: coverage.Event{Kind: coverage.Failed, Windows: windows, AsOf: p.asOf, At: t.Now},
		key:   fingerprint.Key(identity...),
		from:  ingest.Lineage{ScheduleID: p.schedule, PlanID: p.id}, exprHash: p.exprHash,
	})
}

// closeCancelled keeps a plan from taking further slices. If somebody else moved
// it since it was read, all is read anew.
func (t *tx) closeCancelled(p cancelling, actor, reason string) error {
	n, err := t.Affected("UPDATE ing_plan SET status_code = 'CANCELLED', updated_at = ?, version = version + 1 WHERE id = ? AND status_code = ?",
		kernel.Micros(t.Now), p.id, string(p.status))
	switch {
	case err != nil:
		return err
	case n == 0:
		return fault.ErrBusy
	}
	if actor == "" {
		actor = "unknown"
	}
	return t.Audit(kernel.AuditEntry{
		At: t.Now, Actor: actor, Action: "plan.cancel", Object: fmt.Sprintf("plan/%d", p.id), Reason: reason, Detail: map[string]any{"status": string(p.status)},
	})
}

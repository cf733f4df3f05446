package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// CancelTasks stops tasks for an operator: those that no process works on are
// CANCELLED at once, of the others the workers are told and stop after the page
// they read. The windows stay owed (D§5.7).
//
// Tasks that are named are cancelled all or none: an unknown or ended one refuses
// the call. Of a plan or a scope one call takes a chunk; more says that there may
// be another. Repeating a call changes nothing (I8).
func (s *Ledger) CancelTasks(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (done ingest.TasksDone, more bool, err error) {
	err = s.step(ctx, "cancel tasks", kernel.Bulk, func(t *tx) error {
		tasks, err := t.pickTasks(pick, ingest.OpenTasks()...)
		if err != nil {
			return err
		}
		more = !pick.Named() && len(tasks) == kernel.OperateAtOnce
		if pick.Named() {
			if err := refuseAny(tasks, pickedTask.whyNotCancel); err != nil {
				return err
			}
		}
		if done, err = t.cancelTasks(tasks); err != nil || done.Changed() == 0 {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return t.auditTasks("task.cancel", pick, by, tasks, pickedTask.isCancelled)
	})
	return done, more, kernel.Performed(err)
}

// RetryTasks puts tasks that failed or were cancelled back into the queue (D§5.3).
// What failed before is forgiven: they get all their attempts anew. Their slices
// are READY again, and so is a plan that had ended.
//
// Tasks are picked as for CancelTasks. One of a plan that was cancelled is
// refused: that plan takes no further work. So is a PARTIAL one: what it did not
// read belongs to smaller slices or to a later plan.
func (s *Ledger) RetryTasks(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (done ingest.TasksDone, more bool, err error) {
	err = s.step(ctx, "retry tasks", kernel.Bulk, func(t *tx) error {
		tasks, err := t.pickTasks(pick, pick.Status)
		if err != nil {
			return err
		}
		more = !pick.Named() && len(tasks) == kernel.OperateAtOnce
		if pick.Named() {
			if err := refuseAny(tasks, pickedTask.whyNotRetry); err != nil {
				return err
			}
		}
		if done, err = t.retryTasks(tasks); err != nil || done.Changed() == 0 {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return t.auditTasks("task.retry", pick, by, tasks, pickedTask.hasEnded)
	})
	return done, more, kernel.Performed(err)
}

func (t *tx) cancelTasks(tasks []pickedTask) (done ingest.TasksDone, err error) {
	waiting, told := map[int64][]waitingSlice{}, []int64{}
	for _, p := range tasks {
		switch {
		case p.isWaiting():
			waiting[p.plan] = append(waiting[p.plan], p.slice)
			done.Cancelled++
		case p.isWorked() && !p.stopping:
			told = append(told, p.id)
			done.Stopping++
		default:
			done.Unchanged++
		}
	}
	if err := t.ExecIn("UPDATE ing_task SET cancel_requested = 1, updated_at = ? WHERE status_code IN ('DISPATCHED','EXECUTING') AND id IN ", told, kernel.Micros(t.Now)); err != nil {
		return done, err
	}
	ended := slices.Sorted(maps.Keys(waiting))
	for _, id := range ended {
		p, err := t.readPlan(id)
		if err != nil {
			return done, err
		}
		if err := t.cancelSlices(p, waiting[id], "cancelled by the operator"); err != nil {
			return done, err
		}
	}
	for _, id := range ended {
		if err := t.completePlan(id); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (t *tx) retryTasks(tasks []pickedTask) (done ingest.TasksDone, err error) {
	var onward, anew, parts []int64
	plans := map[int64]bool{}
	for _, p := range tasks {
		switch {
		case !p.hasEnded():
			done.Unchanged++
			continue
		case p.canContinue():
			onward = append(onward, p.id)
		default:
			anew = append(anew, p.id)
		}
		parts, plans[p.plan] = append(parts, p.slice.slice), true
		done.Queued++
	}
	now := kernel.Micros(t.Now)
	const queue = `UPDATE ing_task SET status_code = 'QUEUED', scheduled_at = ?, idle_leases = 0, forgiven_epoch = lease_epoch, cancel_requested = 0, claim_token = NULL,
  finished_at = NULL, updated_at = ?`
	if err := t.ExecIn(queue+" WHERE id IN ", onward, now, now); err != nil {
		return done, err
	}
	if err := t.ExecIn(queue+", checkpoint = NULL WHERE id IN ", anew, now, now); err != nil {
		return done, err
	}
	if err := t.ExecIn("UPDATE ing_plan_slice SET status_code = 'READY', updated_at = ? WHERE status_code IN ('FAILED','CANCELLED') AND id IN ", parts, now); err != nil {
		return done, err
	}
	// One that could not be cut smaller may ask for it again.
	if err := t.ExecIn("UPDATE ing_reslice_request SET status_code = 'PENDING', updated_at = ? WHERE status_code = 'DECLINED' AND slice_id IN ", parts, now); err != nil {
		return done, err
	}
	for _, id := range slices.Sorted(maps.Keys(plans)) {
		if err := t.reopenPlan(id); err != nil {
			return done, err
		}
	}
	return done, nil
}

// reopenPlan makes a plan that had ended take its slices back. Whoever ends the
// last slice of a plan does so under the lock of its cursor: so do we, or a plan
// could be COMPLETED with a slice that is READY.
func (t *tx) reopenPlan(id int64) error {
	p, err := t.readPlan(id)
	if err != nil {
		return err
	}
	if _, err := look.LockCursor(t.Tx, p.cursor); err != nil {
		return err
	}
	var status ingest.PlanStatus
	if err := t.Row("SELECT status_code FROM ing_plan WHERE id = ?"+t.Dialect().ForUpdate, id).Scan(&status); err != nil {
		return err
	}
	switch status {
	case ingest.PlanCompleted:
		return t.ExecOne("UPDATE ing_plan SET status_code = 'READY', updated_at = ?, version = version + 1 WHERE id = ?", kernel.Micros(t.Now), id)
	case ingest.PlanCancelled, ingest.PlanFailed:
		return fault.ErrBusy // since it was read; all is read anew
	}
	return nil
}

// auditTasks logs an act: an entry for each task that was named, one for a chunk
// of those that were not.
func (t *tx) auditTasks(action string, pick ingest.TaskPick, by ingest.Act, tasks []pickedTask, changed func(pickedTask) bool) error {
	entry := kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Reason: by.Reason}
	var ids []int64
	for _, p := range tasks {
		if !changed(p) {
			continue
		}
		ids = append(ids, p.id)
		if !pick.Named() {
			continue
		}
		entry.Object, entry.Detail = fmt.Sprintf("task/%d", p.id), map[string]any{"status": string(p.status)}
		if err := t.Audit(entry); err != nil {
			return err
		}
	}
	if pick.Named() {
		return nil
	}
	entry.Object, entry.Detail = pick.String(), map[string]any{"tasks": ids}
	return t.Audit(entry)
}

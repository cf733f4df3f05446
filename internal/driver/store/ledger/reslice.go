package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// RequestReslice asks that the part of a slice which an attempt could not read
// be cut smaller (S§5.6). It takes effect when the attempt ends as PARTIAL. A
// slice has one request: a later attempt, which knows better what remains,
// replaces that of an earlier one.
func (s *Ledger) RequestReslice(ctx context.Context, in ingest.ResliceRequest) error {
	var held ingest.Held
	return s.leasedStep(ctx, "request reslice", kernel.Urgent, in.Lease, &held, func(t *tx) error {
		if _, err := t.extendLease(in.Lease, in.Extend); err != nil {
			return err
		}
		var slice, run int64
		var from, to sql.NullInt64
		err := t.Row(`SELECT s.id, r.id, s.window_from, s.window_to FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id
  JOIN ing_task_run r ON r.task_id = t.id AND r.lease_epoch = t.lease_epoch WHERE t.id = ?`, in.Lease.TaskID).Scan(&slice, &run, &from, &to)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if owned := (window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}); in.Remaining.Empty() || in.Remaining.Intersect(owned) != in.Remaining {
			return fmt.Errorf("%w: %s does not lie in the slice's window %s", fault.ErrInvalid, in.Remaining, owned)
		}
		return t.saveReslice(slice, run, in)
	})
}

func (t *tx) saveReslice(slice, run int64, in ingest.ResliceRequest) error {
	values := []any{in.Lease.TaskID, run, string(in.Reason), kernel.Micros(in.Remaining.From), kernel.Micros(in.Remaining.To), kernel.JSONOrNull(in.Detail), kernel.Micros(t.Now)}
	var id, by int64
	var status ingest.ResliceStatus
	var from, to sql.NullInt64
	exists, err := kernel.Found(t.Row("SELECT id, run_id, status_code, window_from, window_to FROM ing_reslice_request WHERE slice_id = ?"+t.Dialect().ForUpdate, slice).
		Scan(&id, &by, &status, &from, &to))
	switch {
	case err != nil:
		return err
	case !exists:
		_, err := t.Exec(`INSERT INTO ing_reslice_request (task_id, run_id, reason_code, window_from, window_to, detail, updated_at, slice_id, status_code, created_at)
  VALUES (?,?,?,?,?,?,?,?,?,?)`, append(values, slice, string(ingest.ReslicePending), kernel.Micros(t.Now))...)
		return err
	case status == ingest.ResliceDone:
		return fmt.Errorf("%w: slice %d was replaced", fault.ErrInvalid, slice)
	case status == ingest.ReslicePending && by == run && in.Remaining == window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}:
		return nil // asked before, and the answer was lost
	}
	// Also one that was declined, and whose task an operator tried again.
	return t.ExecOne(`UPDATE ing_reslice_request SET task_id = ?, run_id = ?, reason_code = ?, window_from = ?, window_to = ?, detail = ?, updated_at = ?,
  status_code = ? WHERE id = ?`, append(values, string(ingest.ReslicePending), id)...)
}

// PendingReslices lists the requests that can be served, oldest first: the
// attempt has ended, nobody is slicing the plan and its source is not paused.
func (s *Ledger) PendingReslices(ctx context.Context, limit int) (out []ingest.PendingReslice, err error) {
	rows, err := s.db.Query(ctx, `SELECT r.id, t.schedule_instance_id, s.plan_id, s.id, t.id, r.run_id, p.provenance_code, p.endpoint_name,
  p.operation_code, p.plan_key, d.snapshot, s.slice_spec, t.params, t.priority, s.window_from, s.window_to, r.window_from, r.window_to, r.reason_code, r.detail, t.correlation_id
  FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id JOIN ing_task t ON t.id = r.task_id JOIN ing_plan p ON p.id = s.plan_id
  JOIN ing_spec_snapshot d ON d.spec_fingerprint = p.spec_fingerprint
  WHERE r.status_code = '`+string(ingest.ReslicePending)+`' AND s.status_code = 'PARTIAL' AND p.status_code IN ('READY','PARTIAL')
  AND NOT `+look.IsPaused+` ORDER BY r.id LIMIT ?`, limit)
	if err != nil {
		return nil, kernel.Wrap("list reslice requests", s.db.Translate(err))
	}
	return out, kernel.Wrap("list reslice requests", kernel.Each(rows, func() error {
		var r ingest.PendingReslice
		var from, to, restFrom, restTo sql.NullInt64
		var planned sql.NullString
		l := &r.Lineage
		err := rows.Scan(&r.ID, &l.ScheduleID, &l.PlanID, &l.SliceID, &l.TaskID, &l.RunID, &r.Partition.Source, &r.Partition.Endpoint,
			&r.Partition.Operation, &r.PlanKey, &r.Spec, &r.SliceSpec, &r.Params, &r.Priority, &from, &to, &restFrom, &restTo, &r.Reason, &r.Detail, &planned)
		r.PlannedIn = planned.String
		r.Slice, r.Remaining = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, window.Window{From: kernel.Instant(restFrom), To: kernel.Instant(restTo)}
		out = append(out, r)
		return err
	}))
}

// DeclineReslice ends a request for a slice that cannot be cut further, and says
// why beside what was asked. The slice has failed with what stopped it (D§5.12):
// its window stays owed, and its plan no longer waits for children. A request
// that was served or declined stays so.
func (s *Ledger) DeclineReslice(ctx context.Context, requestID int64, reason string) error {
	return s.step(ctx, "decline reslice", kernel.Bulk, func(t *tx) error {
		planID, _, parent, err := t.lockRequest(requestID)
		if err != nil || parent.request != ingest.ReslicePending {
			return err
		}
		if parent.status != ingest.SlicePartial {
			return parent.notEnded()
		}
		detail, err := json.Marshal(map[string]any{"asked": parent.detail, "declined": kernel.Readable(reason)})
		if err != nil {
			return err
		}
		if err := t.ExecOne("UPDATE ing_reslice_request SET status_code = ?, detail = ?, updated_at = ? WHERE id = ?",
			string(ingest.ResliceDeclined), string(detail), kernel.Micros(t.Now), requestID); err != nil {
			return err
		}
		if err := t.failSlice(parent, reason); err != nil {
			return err
		}
		return t.completePlan(planID)
	})
}

// failSlice makes a failure of a slice that ended as PARTIAL and cannot be helped.
func (t *tx) failSlice(parent parentSlice, reason string) error {
	if err := t.ExecOne("UPDATE ing_plan_slice SET status_code = ?, updated_at = ? WHERE id = ?", string(ingest.SliceFailed), kernel.Micros(t.Now), parent.id); err != nil {
		return err
	}
	if err := t.ExecOne("UPDATE ing_task SET status_code = ?, last_error_code = ?, last_error_msg = ?, updated_at = ? WHERE id = ?",
		string(ingest.TaskFailed), parent.reason, kernel.OrNull(kernel.Cut(kernel.Readable(reason), 2000)), kernel.Micros(t.Now), parent.from.TaskID); err != nil {
		return err
	}
	ended, err := t.endedSlice(parent.from.SliceID)
	if err != nil {
		return err
	}
	end := sliceEnd{
		in:       ingest.Finish{Lease: ingest.Lease{TaskID: parent.from.TaskID, Epoch: parent.epoch}, Lineage: parent.from},
		cursorID: ended.cursorID, asOf: ended.asOf, exprHash: ended.exprHash,
	}
	if ended.sectors > 0 {
		return t.coverSector(end, ended, parent.remaining, sector.Slice{Sector: ended.sector, Window: parent.remaining, State: sector.Lost})
	}
	return t.coverWindow(end, coverage.Failed, parent.remaining)
}

// ReplaceSlice serves a request: the children own what the slice did not read.
// They must tile it (I1); the store gives them the next numbers of the plan. The
// slice itself stays for audit, PARTIAL, with what it read. No event is written:
// what was wanted stays wanted (D§5.7). A request that was served, by whomever,
// stays served.
func (s *Ledger) ReplaceSlice(ctx context.Context, requestID int64, children []ingest.NewSlice) error {
	return s.step(ctx, "replace slice", kernel.Bulk, func(t *tx) error {
		planID, p, parent, err := t.lockRequest(requestID)
		if err != nil || parent.request == ingest.ResliceDone {
			return err
		}
		if err := parent.checkReplaceable(p, children); err != nil {
			return err
		}
		numbered := slices.Clone(children)
		for i := range numbered {
			numbered[i].No = p.next + i
		}
		p.parent = parent.id
		if err := t.insertSlices(planID, p, numbered); err != nil {
			return err
		}
		if err := t.ExecOne("UPDATE ing_plan SET next_slice_no = ?, updated_at = ?, version = version + 1 WHERE id = ?",
			p.next+len(numbered), kernel.Micros(t.Now), planID); err != nil {
			return err
		}
		return t.ExecOne("UPDATE ing_reslice_request SET status_code = ?, updated_at = ? WHERE id = ?", string(ingest.ResliceDone), kernel.Micros(t.Now), requestID)
	})
}

// lockRequest reads a request under the lock of its plan, as everybody who
// numbers slices does.
func (t *tx) lockRequest(id int64) (planID int64, p planRow, parent parentSlice, err error) {
	err = t.Row("SELECT s.plan_id FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id WHERE r.id = ?", id).Scan(&planID)
	if err != nil {
		return planID, p, parent, kernel.OrNotFound(err)
	}
	if p, err = t.lockPlan(planID); err != nil {
		return planID, p, parent, err
	}
	parent, err = t.parentSlice(id)
	return planID, p, parent, err
}

// parentSlice is a slice that is to be replaced, with its request.
type parentSlice struct {
	id        int64
	status    ingest.SliceStatus
	signature string
	request   ingest.ResliceStatus
	remaining window.Window
	detail    json.RawMessage
	reason    string
	from      ingest.Lineage
	epoch     int64 // of the attempt that asked
}

func (t *tx) parentSlice(requestID int64) (s parentSlice, err error) {
	var from, to sql.NullInt64
	var detail sql.NullString
	err = t.Row(`SELECT s.id, s.status_code, s.slice_signature_hash, r.status_code, r.window_from, r.window_to, r.detail, r.reason_code,
  t.schedule_instance_id, s.plan_id, s.id, t.id, r.run_id, n.lease_epoch FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id
  JOIN ing_task t ON t.id = r.task_id JOIN ing_task_run n ON n.id = r.run_id WHERE r.id = ?`, requestID).
		Scan(&s.id, &s.status, &s.signature, &s.request, &from, &to, &detail, &s.reason,
			&s.from.ScheduleID, &s.from.PlanID, &s.from.SliceID, &s.from.TaskID, &s.from.RunID, &s.epoch)
	s.remaining = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
	if detail.Valid {
		s.detail = json.RawMessage(detail.String)
	}
	return s, kernel.OrNotFound(err)
}

func (s parentSlice) notEnded() error {
	return fmt.Errorf("%w: slice %d is %s; only one whose attempt ended as PARTIAL can be replaced", fault.ErrInvalid, s.id, s.status)
}

func (s parentSlice) checkReplaceable(p planRow, children []ingest.NewSlice) error {
	if s.status != ingest.SlicePartial {
		return s.notEnded()
	}
	if s.request != ingest.ReslicePending {
		return fmt.Errorf("%w: the request for slice %d was %s", fault.ErrInvalid, s.id, s.request)
	}
	if status := ingest.PlanStatus(p.status); status != ingest.PlanReady && status != ingest.PlanPartial {
		return fmt.Errorf("%w: the plan is %s and takes no child of slice %d now", fault.ErrInvalid, status, s.id)
	}
	windows := make([]window.Window, len(children))
	for i, c := range children {
		if c.Signature == s.signature {
			return fmt.Errorf("%w: child %s of slice %d is the slice itself", fault.ErrInvalid, c.Window, s.id)
		}
		windows[i] = c.Window
	}
	if !fillWhole(windows, s.remaining) {
		return fmt.Errorf("%w: %d children do not tile %s, which slice %d did not read", fault.ErrInvalid, len(children), s.remaining, s.id)
	}
	return nil
}

// fillWhole reports whether the windows, in any order, fill the whole without a gap
// or an overlap.
func fillWhole(ws []window.Window, whole window.Window) bool {
	sorted := slices.Clone(ws)
	slices.SortFunc(sorted, func(a, b window.Window) int { return a.From.Compare(b.From) })
	at := whole.From
	for _, w := range sorted {
		if !w.From.Equal(at) || w.Empty() {
			return false
		}
		at = w.To
	}
	return len(ws) > 0 && at.Equal(whole.To)
}

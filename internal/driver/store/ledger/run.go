package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// StartRun begins an attempt: the task becomes EXECUTING and a run row is
// written. A run of the same lease is returned as it is.
func (s *Ledger) StartRun(ctx context.Context, w ingest.Work, lease time.Duration) (run ingest.Run, err error) {
	var checkpoint sql.NullString
	var forgiven int64
	err = s.stepFrom(ctx, "start run", kernel.Urgent, func(t *tx) error {
		run = ingest.Run{}
		held, err := t.fenceLease(w.Lease, ", p.checkpoint, p.idle_leases, p.forgiven_epoch", nil, &checkpoint, &run.IdleLeases, &forgiven)
		run.Cancel, run.Pause = held.Cancel, held.Pause
		return err
	}, func(t *tx) error {
		if _, err := t.extendLease(w.Lease, lease); err != nil {
			return err
		}
		if checkpoint.Valid {
			// One that another version of the program wrote may be unreadable: reading the
			// slice anew is always right, and failing here would stop every other task too.
			if json.Unmarshal([]byte(checkpoint.String), &run.Checkpoint) != nil {
				run.Checkpoint = ingest.Checkpoint{}
			}
		}
		if err := t.Row("SELECT COUNT(*) FROM ing_task_run WHERE task_id = ? AND status_code = 'FAILED' AND error_code <> '"+leaseExpired+"' AND lease_epoch > ?",
			w.Lease.TaskID, forgiven).Scan(&run.Failures); err != nil {
			return err
		}
		breaker, _, err := t.readBreaker(w.Partition.Dataset, "")
		if err != nil {
			return err
		}
		if run.Probe = breaker.State(t.Now) == fault.BreakerHalfOpen; run.Probe {
			if run.Alone, err = t.isAlone(w); err != nil {
				return err
			}
		}
		started, err := kernel.Found(t.Row("SELECT id, attempt_no FROM ing_task_run WHERE task_id = ? AND lease_epoch = ?", w.Lease.TaskID, w.Lease.Epoch).
			Scan(&run.ID, &run.AttemptNo))
		if started || err != nil {
			return err
		}
		return t.insertRun(w, &run, checkpoint)
	})
	return run, err
}

func (t *tx) insertRun(w ingest.Work, run *ingest.Run, checkpoint sql.NullString) error {
	err := t.Row("SELECT COALESCE(MAX(attempt_no), 0) + 1 FROM ing_task_run WHERE task_id = ?", w.Lease.TaskID).Scan(&run.AttemptNo)
	if err != nil {
		return err
	}
	run.ID, err = t.Insert(`INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, checkpoint,
  window_from, window_to, worker, started_at, last_heartbeat, created_at, correlation_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		w.Lease.TaskID, w.Lease.Epoch, run.AttemptNo, w.Lineage.PlanID, w.Partition.Source, string(w.Partition.Operation), string(ingest.RunRunning),
		checkpoint, kernel.Micros(w.Window.From), kernel.Micros(w.Window.To), w.Lease.Owner, kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.OrNull(w.WorkedIn))
	if err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_task SET status_code = 'EXECUTING', attempts = ?, started_at = COALESCE(started_at, ?), updated_at = ? WHERE id = ?",
		run.AttemptNo, kernel.Micros(t.Now), kernel.Micros(t.Now), w.Lease.TaskID)
}

// FinishRun ends an attempt in one transaction: run, task, slice, cursor event,
// coverage, cursor and plan (D§5.20). Finishing twice is finishing once.
func (s *Ledger) FinishRun(ctx context.Context, in ingest.Finish) error {
	var was attempt
	return s.stepFrom(ctx, "finish run", kernel.Urgent, func(t *tx) (err error) {
		was, err = t.lockAttempt(in)
		return err
	}, func(t *tx) error {
		switch {
		case was.status == in.Outcome.Run && was.code != leaseExpired:
			return nil // done before, and the answer was lost
		case !was.leased:
			return fault.ErrStale
		case !was.status.CanBecome(in.Outcome.Run) || !ingest.TaskExecuting.CanBecome(in.Outcome.Task):
			return fmt.Errorf("%w: run %s → %s, task EXECUTING → %s", fault.ErrInvalid, was.status, in.Outcome.Run, in.Outcome.Task)
		}
		if was.stats.Valid { // what is stored counts, also a batch whose worker never heard of it (I4)
			var stored ingest.RunStats
			if err := json.Unmarshal([]byte(was.stats.String), &stored); err != nil {
				return fmt.Errorf("stats of run %d: %w", in.Lineage.RunID, err)
			}
			in.Outcome.Stats.BatchStats = stored.BatchStats
		}
		if err := t.closeRun(in, was); err != nil {
			return err
		}
		if in.Outcome.Task.Terminal() {
			if err := t.endGeneration(in); err != nil {
				return err
			}
			if err := t.endFile(in); err != nil {
				return err
			}
			if err := t.closeSlice(in, was); err != nil {
				return err
			}
		}
		return t.addSums(endedRun{of: ingest.Partition{Dataset: was.of, Operation: was.by.Operation}, id: in.Lineage.RunID, status: in.Outcome.Run,
			lost: in.Failed != nil, stats: in.Outcome.Stats})
	})
}

// attempt is what is stored of an attempt that ends.
type attempt struct {
	status     ingest.RunStatus
	code       string
	stats      sql.NullString
	leased     bool // by the one who ends it (I7)
	of         ingest.Dataset
	by         answeredBy
	no         int64 // of the newest attempt at the task
	checkpoint sql.NullString
	breaker    bool // the endpoint has one that is not closed
}

// lockAttempt is the fence of an end. An attempt that has ended is no longer
// leased and may yet be told of once more, so it is found by its run.
func (t *tx) lockAttempt(in ingest.Finish) (a attempt, err error) {
	var clock sql.NullInt64
	err = t.Row("SELECT "+t.ClockColumn()+`, r.status_code, COALESCE(r.error_code, ''), r.stats,
  p.lease_epoch = r.lease_epoch AND p.status_code IN ('DISPATCHED','EXECUTING'), p.provenance_code, p.endpoint_name, p.operation_code, p.spec_fingerprint, p.attempts, p.checkpoint,
  EXISTS (SELECT 1 FROM ing_breaker b WHERE b.provenance_code = p.provenance_code AND b.endpoint_name = p.endpoint_name)
FROM ing_task p JOIN ing_task_run r ON r.task_id = p.id WHERE p.id = ? AND r.id = ? AND r.lease_epoch = ?`+t.Dialect().ForUpdate,
		in.Lease.TaskID, in.Lineage.RunID, in.Lease.Epoch).
		Scan(&clock, &a.status, &a.code, &a.stats, &a.leased, &a.of.Source, &a.of.Endpoint, &a.by.Operation, &a.by.fingerprint, &a.no, &a.checkpoint, &a.breaker)
	t.SetClock(clock)
	a.by.Dataset = a.of
	return a, kernel.OrNotFound(err)
}

func (t *tx) closeRun(in ingest.Finish, was attempt) error {
	o := in.Outcome
	opened, err := t.noteBreaker(in, was)
	if err != nil {
		return err
	}
	if !opened.IsZero() {
		o.Stats.CircuitOpen = 1
		in.Remarks = append(slices.Clip(in.Remarks), health.Remark{
			Condition: health.Down, Action: health.OpenCircuit, Page: o.Stats.Pages,
			Text: fmt.Sprintf("%s: the endpoint is not asked before %s", o.Code, opened.UTC().Format(time.RFC3339)),
		})
		if o.Waits == "" && !o.Task.Terminal() {
			o.Waits = gate.Breaker
		}
	}
	stats, err := json.Marshal(o.Stats)
	if err != nil {
		return err
	}
	if in.Failed != nil {
		if err := t.insertFailedBatch(in); err != nil {
			return err
		}
	}
	err = t.ExecOne("UPDATE ing_task_run SET status_code = ?, stats = ?, error_code = ?, error = ?, finished_at = ? WHERE id = ?",
		string(o.Run), string(stats), kernel.OrNull(o.Code), kernel.OrNull(kernel.Readable(o.Error)), kernel.Micros(t.Now), in.Lineage.RunID)
	if err != nil {
		return err
	}
	if err := t.noteRemarks(in); err != nil {
		return err
	}
	if err := t.countRun(in.Lease.TaskID, o.Stats); err != nil {
		return err
	}
	if err := t.noteLate(in.Lineage.PlanID, o.Stats.BatchStats); err != nil {
		return err
	}
	if err := t.noteAnswers(was.by, o.Stats); err != nil {
		return err
	}
	due := t.Now
	if o.NotBefore.After(due) {
		due = o.NotBefore
	}
	var finished any
	if o.Task.Terminal() {
		finished = kernel.Micros(t.Now)
	}
	// A lease that ended because the upstream or the operator asked us to wait,
	// or because the upstream is down for all, is no sign of a task that cannot
	// be worked on.
	excused := 0
	if o.Run == ingest.RunCancelled {
		excused = 1
	}
	var forgiven int64 // failures up to this epoch
	if o.Advanced {
		forgiven = in.Lease.Epoch - 1
	}
	err = t.ExecOne(`UPDATE ing_task SET status_code = ?, lease_owner = NULL, leased_until = NULL, claim_token = NULL, scheduled_at = ?,
  idle_leases = CASE WHEN idle_leases > 0 THEN idle_leases - ? ELSE 0 END, last_error_code = ?, last_error_msg = ?, wait_code = ?, finished_at = ?,
  forgiven_epoch = CASE WHEN forgiven_epoch < ? THEN ? ELSE forgiven_epoch END, updated_at = ? WHERE id = ?`,
		string(o.Task), kernel.Micros(due), excused, kernel.OrNull(o.Code), kernel.OrNull(kernel.Cut(o.Error, 2000)), kernel.OrNull(string(o.Waits)), finished,
		forgiven, forgiven, kernel.Micros(t.Now), in.Lease.TaskID)
	if err != nil {
		return err
	}
	if o.Code != string(fault.RateLimited) {
		return nil
	}
	return t.coolDown(in, due)
}

func (t *tx) closeSlice(in ingest.Finish, was attempt) error {
	status := map[ingest.TaskStatus]ingest.SliceStatus{
		ingest.TaskSucceeded: ingest.SliceSucceeded, ingest.TaskFailed: ingest.SliceFailed,
		ingest.TaskPartial: ingest.SlicePartial, ingest.TaskCancelled: ingest.SliceCancelled,
	}[in.Outcome.Task]
	err := t.ExecOne("UPDATE ing_plan_slice SET status_code = ?, updated_at = ? WHERE id = ?", string(status), kernel.Micros(t.Now), in.Lineage.SliceID)
	if err == nil {
		err = t.noteLostParents(in)
	}
	if err != nil {
		return err
	}
	ended, err := t.endedSlice(in.Lineage.SliceID)
	if err != nil {
		return err
	}
	if err := t.noteRefusals(in, ended); err != nil {
		return err
	}
	if err := t.noteLook(in, ended); err != nil {
		return err
	}
	if err := t.coverSlice(in, ended); err != nil {
		return err
	}
	if err := t.noteWindow(in, was, ended); err != nil {
		return err
	}
	return t.completePlan(in.Lineage.PlanID)
}

// completePlan closes a plan whose last slice has ended. One that is not sliced
// to its end, or has a slice that waits to be replaced, still owes slices.
func (t *tx) completePlan(planID int64) error {
	_, err := t.Exec(`UPDATE ing_plan SET status_code = 'COMPLETED', updated_at = ?, version = version + 1 WHERE id = ? AND status_code = 'READY'
  AND NOT EXISTS (SELECT 1 FROM ing_plan_slice s WHERE s.plan_id = ? AND s.status_code IN ('PENDING','READY'))
  AND NOT EXISTS (SELECT 1 FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id
    WHERE r.status_code = 'PENDING' AND s.plan_id = ? AND s.status_code = 'PARTIAL')`, kernel.Micros(t.Now), planID, planID, planID)
	return err
}

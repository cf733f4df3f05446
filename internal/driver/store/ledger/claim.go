package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Queues lists the partitions that have queued tasks.
func (s *Ledger) Queues(ctx context.Context) ([]ingest.Queue, error) {
	all, err := s.look.Partitions(ctx)
	if err != nil {
		return nil, kernel.Wrap("list queues", err)
	}
	out := all[:0]
	for _, q := range all {
		var at sql.NullInt64
		ok, err := kernel.Found(s.db.QueryRow(ctx, `SELECT priority, scheduled_at FROM ing_task WHERE status_code = 'QUEUED' AND partition_id = ?
  ORDER BY priority, scheduled_at, id LIMIT 1`, q.PartitionID).Scan(&q.Priority, &at))
		if err != nil {
			return nil, kernel.Wrap("list queues", s.db.Translate(err))
		}
		if ok {
			q.ScheduledAt = kernel.Instant(at)
			out = append(out, q)
		}
	}
	return out, nil
}

// Claim leases tasks. Each task goes to exactly one claimer, with a new epoch.
func (s *Ledger) Claim(ctx context.Context, in ingest.ClaimRequest) (work []ingest.Work, err error) {
	err = s.step(ctx, "claim", kernel.Urgent, func(t *tx) error {
		var err error
		if work, err = t.claimedWork(in.Token); err != nil || len(work) > 0 {
			return err
		}
		most, err := t.countClaimable(in.PartitionID, in.Max)
		if err != nil || most == 0 {
			return err
		}
		held, err := t.heldPlans()
		if err != nil {
			return err
		}
		query, without := t.claimSQL(held)
		args := append([]any{in.Token, in.Owner, kernel.Micros(t.Now.Add(in.Lease)), kernel.Micros(t.Now), kernel.Micros(t.Now), in.PartitionID}, without...)
		n, err := t.Affected(query, append(args, most)...)
		if err != nil || n == 0 {
			return err
		}
		work, err = t.claimedWork(in.Token)
		return err
	})
	return work, err
}

func (t *tx) claimedWork(token string) (out []ingest.Work, err error) {
	rows, err := t.Query(`SELECT t.id, t.lease_epoch, t.lease_owner, t.leased_until, t.schedule_instance_id, t.plan_id, t.slice_id, t.provenance_code,
  t.endpoint_name, t.operation_code, q.dataset_id, t.idempotent_key, t.params, t.expr_hash, s.expr_snapshot, s.slice_spec, s.window_from, s.window_to,
  p.as_of, t.spec_fingerprint, d.snapshot, p.expr_id, p.mapping_id, t.attempts, g.passed_from, g.passed_to, t.correlation_id, t.priority, COALESCE(p.limit_id, 0)
FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id JOIN ing_plan p ON p.id = t.plan_id JOIN ing_partition q ON q.id = t.partition_id
JOIN ing_spec_snapshot d ON d.spec_fingerprint = t.spec_fingerprint LEFT JOIN ing_plan_lag g ON g.plan_id = t.plan_id
WHERE t.claim_token = ? ORDER BY t.priority, t.scheduled_at, t.id`, token)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var w ingest.Work
		var until, from, to, asOf, passedFrom, passedTo sql.NullInt64
		var operation string
		var planned sql.NullString
		err := rows.Scan(&w.Lease.TaskID, &w.Lease.Epoch, &w.Lease.Owner, &until, &w.Lineage.ScheduleID, &w.Lineage.PlanID, &w.Lineage.SliceID,
			&w.Partition.Source, &w.Partition.Endpoint, &operation, &w.DatasetID, &w.TaskKey, &w.Params, &w.ExprHash, &w.Expr, &w.SliceSpec, &from, &to,
			&asOf, &w.SpecFingerprint, &w.Spec, &w.ExprID, &w.MappingID, &w.Attempts, &passedFrom, &passedTo, &planned, &w.Priority, &w.LimitID)
		w.Lease.Until, w.Lineage.TaskID, w.Passed = kernel.Instant(until), w.Lease.TaskID, window.Window{From: kernel.Instant(passedFrom), To: kernel.Instant(passedTo)}
		w.Partition.Operation, w.Window, w.AsOf = ingest.Operation(operation), window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(asOf)
		w.PlannedIn = planned.String
		out = append(out, w)
		return err
	})
}

// Release gives back a task that was claimed and not started.
func (s *Ledger) Release(ctx context.Context, l ingest.Lease) error {
	return s.step(ctx, "release task", kernel.Urgent, func(t *tx) error {
		// A repeated call finds the task no longer leased: that is the wanted state.
		_, err := t.Exec(`UPDATE ing_task SET status_code = 'QUEUED', lease_owner = NULL, leased_until = NULL, claim_token = NULL,
  idle_leases = idle_leases - 1, updated_at = ? WHERE id = ? AND lease_epoch = ? AND status_code = 'DISPATCHED'`, kernel.Micros(t.Now), l.TaskID, l.Epoch)
		return err
	})
}

// Promote queues scheduled tasks that are due, at most n.
func (s *Ledger) Promote(ctx context.Context, n int) (promoted int, err error) {
	err = s.step(ctx, "promote due tasks", kernel.Urgent, func(t *tx) error {
		promoted = 0
		if err := t.endPauses(); err != nil {
			return err
		}
		ids, err := t.IDs("SELECT id FROM ing_task WHERE status_code = 'SCHEDULED' AND scheduled_at <= ? ORDER BY scheduled_at LIMIT ?", kernel.Micros(t.Now), n)
		if err != nil {
			return err
		}
		for _, id := range ids {
			n, err := t.Affected("UPDATE ing_task SET status_code = 'QUEUED', updated_at = ? WHERE id = ? AND status_code = 'SCHEDULED'", kernel.Micros(t.Now), id)
			if err != nil {
				return err
			}
			promoted += int(n)
		}
		return nil
	})
	return promoted, err
}

// NextDue returns when the earliest scheduled task becomes due; zero if there is
// none.
func (s *Ledger) NextDue(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.db.QueryRow(ctx, "SELECT MIN(scheduled_at) FROM ing_task WHERE status_code = 'SCHEDULED'").Scan(&at)
	return kernel.Instant(at), kernel.Wrap("next due task", s.db.Translate(err))
}

// leaseExpired marks the run of a worker that disappeared.
const leaseExpired = ingest.LeaseExpired

// Reap moves tasks whose lease ran out back to the queue and closes their runs.
// The UPDATE checks epoch and expiry again: between reading and writing the
// worker may have renewed. A task whose worker is in a transaction is left for
// the next look: waiting for it would keep all others from being served.
func (s *Ledger) Reap(ctx context.Context, n int) (reaped int, err error) {
	err = s.step(ctx, "reap expired leases", kernel.Urgent, func(t *tx) error {
		reaped = 0
		rows, err := t.Query(`SELECT id, lease_epoch FROM ing_task WHERE status_code IN ('DISPATCHED','EXECUTING') AND leased_until < ?
  ORDER BY leased_until LIMIT ?`+t.Dialect().SkipLocked, kernel.Micros(t.Now), n)
		if err != nil {
			return err
		}
		var expired []ingest.Lease
		err = kernel.Each(rows, func() error {
			var l ingest.Lease
			err := rows.Scan(&l.TaskID, &l.Epoch)
			expired = append(expired, l)
			return err
		})
		if err != nil {
			return err
		}
		var died []endedRun
		for _, l := range expired {
			crash.At(crash.Reaping)
			n, err := t.Affected(`UPDATE ing_task SET status_code = 'QUEUED', lease_owner = NULL, leased_until = NULL, claim_token = NULL, updated_at = ?
  WHERE id = ? AND lease_epoch = ? AND status_code IN ('DISPATCHED','EXECUTING') AND leased_until < ?`, kernel.Micros(t.Now), l.TaskID, l.Epoch, kernel.Micros(t.Now))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			reaped++
			run, err := t.noteLateOf(l)
			if err != nil {
				return err
			}
			if run != nil {
				died = append(died, *run)
			}
			if _, err := t.Exec(`UPDATE ing_task_run SET status_code = 'FAILED', error_code = '`+leaseExpired+`', error = 'the worker stopped renewing its lease',
  finished_at = ? WHERE task_id = ? AND lease_epoch = ? AND status_code = 'RUNNING'`, kernel.Micros(t.Now), l.TaskID, l.Epoch); err != nil {
				return err
			}
		}
		for _, run := range died { // last: who ends a run holds its task first, and the sums then
			if err := t.addSums(run); err != nil {
				return err
			}
		}
		return nil
	})
	return reaped, err
}

package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// RecordTrigger writes the root of a lineage. The same trigger twice is the same row.
func (s *Ledger) RecordTrigger(ctx context.Context, in ingest.Trigger) (id int64, err error) {
	err = s.step(ctx, "record trigger", kernel.Bulk, func(t *tx) error {
		ok, err := kernel.Found(t.Row("SELECT id FROM ing_schedule_instance WHERE trigger_key = ?", in.Key).Scan(&id))
		if ok || err != nil {
			return err
		}
		id, err = t.Insert(`INSERT INTO ing_schedule_instance
  (trigger_key, scheduler_code, scheduler_job_id, scheduler_log_id, trigger_type_code, triggered_at, trigger_params, provenance_code, created_at)
  VALUES (?,?,?,?,?,?,?,?,?)`,
			in.Key, in.Scheduler, kernel.OrNull(in.JobID), kernel.OrNull(in.LogID), string(in.Type), kernel.Micros(in.At), kernel.JSONOrNull(in.Params), in.Source, kernel.Micros(t.Now))
		return err
	})
	return id, err
}

// NoteTrigger keeps why a trigger led to no plan (§5.3.2).
func (s *Ledger) NoteTrigger(ctx context.Context, id int64, remarks []byte) error {
	return s.step(ctx, "note trigger", kernel.Bulk, func(t *tx) error {
		return t.ExecOne("UPDATE ing_schedule_instance SET record_remarks = ? WHERE id = ?", kernel.JSONOrNull(remarks), id)
	})
}

// OpenPlan stores a plan with its PLANNED event (D§5.7). A plan with the same
// key is returned as it is.
func (s *Ledger) OpenPlan(ctx context.Context, in ingest.NewPlan) (plan ingest.Plan, existed bool, err error) {
	err = s.step(ctx, "open plan", kernel.Bulk, func(t *tx) error {
		var err error
		plan, existed, err = t.planByKey(in.Key)
		if existed || err != nil {
			return err
		}
		if err := t.archivedKey(in.Key); err != nil {
			return err
		}
		refs, err := t.planReferences(in)
		if err == nil {
			err = t.takesPlans(refs.cursor)
		}
		if err != nil {
			return err
		}
		plan, err = t.insertPlan(in, refs)
		if err == nil {
			err = t.notePlanLag(plan.ID, refs.cursor, in.Lag)
		}
		if err == nil {
			err = t.auditPlan(plan, in)
		}
		if err == nil && in.Own {
			err = t.noteOwn(refs.cursor)
		}
		if err == nil && !in.Empty {
			err = t.beginParents(refs.cursor, in.Parents)
		}
		if err != nil || in.Empty {
			return err
		}
		return t.advanceCursor(refs.cursor, ledgerEntry{
			Event: coverage.Event{Kind: coverage.Planned, Windows: in.Owed, AsOf: in.AsOf, At: t.Now, Lookback: in.Lookback},
			key:   plannedKey(refs.cursor, in.Key),
			from:  ingest.Lineage{ScheduleID: in.ScheduleID, PlanID: plan.ID}, exprHash: in.ExprProtoHash,
		})
	})
	return plan, existed, kernel.Performed(err)
}

// noteOwn keeps since when the source itself asks the question of a cursor: if it
// asks another one later, what this one reached is a gap of that (D§5.7).
func (t *tx) noteOwn(cursor int64) error {
	_, err := t.Exec("UPDATE ing_cursor SET own_since = ? WHERE id = ? AND own_since IS NULL", kernel.Micros(t.Now), cursor)
	return err
}

// auditPlan logs who asked for a plan, if an operator did.
func (t *tx) auditPlan(plan ingest.Plan, in ingest.NewPlan) error {
	if in.By.Actor == "" {
		return nil
	}
	return t.Audit(kernel.AuditEntry{At: t.Now, Actor: in.By.Actor, Action: "plan.open", Object: fmt.Sprintf("plan/%d", plan.ID), Reason: in.By.Reason,
		Detail: map[string]any{"of": in.Partition.Source + "/" + in.Partition.Endpoint, "operation": string(in.Partition.Operation), "window": in.Window, "stretches": len(in.Owed)}})
}

type planRefs struct{ partition, cursor, expr, mapping int64 }

func (t *tx) planReferences(in ingest.NewPlan) (r planRefs, err error) {
	dataset, err := t.findDataset(in.Partition.Dataset)
	if err != nil {
		return r, err
	}
	if r.partition, err = t.findPartition(in.Partition, dataset, in.MaxConcurrent, in.RateKey); err != nil {
		return r, err
	}
	if r.cursor, err = t.cursorRow(in.Namespace, in.Partition.Endpoint); err != nil {
		return r, err
	}
	if r.expr, err = t.fingerprintID("EXPR", in.ExprProtoHash); err != nil {
		return r, err
	}
	if r.mapping, err = t.fingerprintID("MAPPING", in.MappingHash); err != nil {
		return r, err
	}
	return r, t.storeSnapshot(in.SpecFingerprint, in.Spec)
}

func (t *tx) insertPlan(in ingest.NewPlan, r planRefs) (ingest.Plan, error) {
	status := ingest.PlanSlicing
	if in.Empty {
		status = ingest.PlanCompleted
	}
	narrow, err := narrowText(in.Narrowed)
	if err != nil {
		return ingest.Plan{}, err
	}
	left, err := leftText(in.LeftOut)
	if err != nil {
		return ingest.Plan{}, err
	}
	id, err := t.Insert(`INSERT INTO ing_plan (schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code,
  expr_proto_hash, expr_proto_snapshot, expr_id, mapping_id, spec_fingerprint, provenance_config_hash, window_from, window_to, as_of,
  slice_strategy_code, slice_params, next_slice_no, status_code, record_remarks, created_at, updated_at, limit_id, sector_count, sector_narrow, sector_left)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,1,?,?,?,?,?,?,?,?)`,
		in.ScheduleID, in.Key, r.partition, r.cursor, in.Partition.Source, in.Partition.Endpoint, string(in.Partition.Operation),
		in.ExprProtoHash, kernel.JSONOrNull(in.ExprProto), r.expr, r.mapping, in.SpecFingerprint, in.ConfigHash,
		kernel.Micros(in.Window.From), kernel.Micros(in.Window.To), kernel.Micros(in.AsOf), in.Strategy, kernel.JSONOrNull(in.SliceParams),
		string(status), kernel.JSONOrNull(in.Remarks), kernel.Micros(t.Now), kernel.Micros(t.Now), limitOrNull(in.LimitID), in.Sectors, narrow, left)
	return ingest.Plan{
		ID: id, Key: in.Key, ScheduleID: in.ScheduleID, Partition: in.Partition, Status: status, Window: in.Window, AsOf: in.AsOf,
		SpecFingerprint: in.SpecFingerprint, ExprProtoHash: in.ExprProtoHash, NextSliceNo: 1,
	}, err
}

func (t *tx) planByKey(key string) (p ingest.Plan, ok bool, err error) {
	var from, to, asOf sql.NullInt64
	var operation, status string
	ok, err = kernel.Found(t.Row(`SELECT id, plan_key, schedule_instance_id, provenance_code, endpoint_name, operation_code, status_code,
  window_from, window_to, as_of, spec_fingerprint, expr_proto_hash, next_slice_no FROM ing_plan WHERE plan_key = ?`, key).
		Scan(&p.ID, &p.Key, &p.ScheduleID, &p.Partition.Source, &p.Partition.Endpoint, &operation, &status,
			&from, &to, &asOf, &p.SpecFingerprint, &p.ExprProtoHash, &p.NextSliceNo))
	p.Partition.Operation, p.Status = ingest.Operation(operation), ingest.PlanStatus(status)
	p.Window, p.AsOf = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(asOf)
	return p, ok, err
}

// AddSlices stores a chunk of slices with their tasks (D§5.4). Slices the plan
// already has are skipped, so a chunk may be repeated; others under their numbers
// are refused with ingest.ErrSlicedOtherwise. The last chunk makes the plan READY.
// A plan that was suspended goes on.
func (s *Ledger) AddSlices(ctx context.Context, planID int64, chunk []ingest.NewSlice, last bool) error {
	if last {
		if err := s.coversOwed(ctx, planID, chunk); err != nil {
			return kernel.Wrap("add slices", s.db.Translate(err))
		}
	}
	return s.step(ctx, "add slices", kernel.Bulk, func(t *tx) error {
		p, err := t.lockPlan(planID)
		if err != nil {
			return err
		}
		known, added := p.splitChunk(chunk)
		if err := t.sameAsStored(planID, known); err != nil {
			return err
		}
		if err := p.checkFollows(added); err != nil {
			return err
		}
		if len(added) == 0 && !(last && p.isOpen()) {
			return nil // a chunk the plan has; it may have been closed since
		}
		if err := t.insertSlices(planID, p, added); err != nil {
			return err
		}
		return t.savePlan(planID, p.next+len(added), last)
	})
}

// lockPlan keeps others from numbering slices of the plan.
func (t *tx) lockPlan(id int64) (p planRow, err error) {
	err = t.Row(`SELECT schedule_instance_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, next_slice_no, status_code
  FROM ing_plan WHERE id = ?`+t.Dialect().ForUpdate, id).
		Scan(&p.schedule, &p.partition, &p.source, &p.endpoint, &p.operation, &p.fingerprint, &p.next, &p.status)
	return p, kernel.OrNotFound(err)
}

// savePlan notes how far a plan is sliced. Its slices may all have ended before
// the last chunk closes it.
func (t *tx) savePlan(id int64, next int, last bool) error {
	status := ingest.PlanSlicing
	if last {
		status = ingest.PlanReady
	}
	err := t.ExecOne("UPDATE ing_plan SET next_slice_no = ?, status_code = ?, updated_at = ?, version = version + 1 WHERE id = ?",
		next, string(status), kernel.Micros(t.Now), id)
	if err != nil || !last {
		return err
	}
	return t.completePlan(id)
}

type planRow struct {
	schedule, partition                              int64
	source, endpoint, operation, fingerprint, status string
	next                                             int
	parent                                           int64 // of the slices to be inserted; zero: none
}

// isOpen reports whether the plan still takes slices.
func (p planRow) isOpen() bool { return ingest.PlanStatus(p.status).TakesSlices() }

// splitChunk divides a chunk into slices whose numbers the plan has and those beyond.
func (p planRow) splitChunk(chunk []ingest.NewSlice) (known, added []ingest.NewSlice) {
	n := 0
	for n < len(chunk) && chunk[n].No < p.next {
		n++
	}
	return chunk[:n], chunk[n:]
}

// checkFollows refuses slices that do not go on where the plan ends. A hole in their
// numbers would be a hole in the plan's window (I1).
func (p planRow) checkFollows(added []ingest.NewSlice) error {
	for i, c := range added {
		if c.No != p.next+i {
			return fmt.Errorf("%w: slice %d does not follow %d", fault.ErrInvalid, c.No, p.next+i-1)
		}
	}
	if len(added) > 0 && !p.isOpen() {
		return fmt.Errorf("%w: the plan is %s and takes no further slice", fault.ErrInvalid, p.status)
	}
	return nil
}

// insertSlices stores slices with their tasks. What all rows share is boxed once.
func (t *tx) insertSlices(planID int64, p planRow, chunk []ingest.NewSlice) error {
	if len(chunk) == 0 {
		return nil
	}
	var plan, parent, source, ready, now any = planID, kernel.IDOrNull(p.parent), p.source, string(ingest.SliceReady), kernel.Micros(t.Now)
	values := make([]any, 0, 19*len(chunk)) // the tasks have more columns
	for _, c := range chunk {
		from := kernel.Micros(c.Window.From)
		values = append(values, plan, parent, source, c.No, c.Signature, kernel.JSONOrNull(c.Spec), from, kernel.Micros(c.Window.To), cmp.Or(from, any(0)), c.ExprHash,
			kernel.JSONOrNull(c.Expr), ready, now, now, kernel.OrNull(c.Sector))
	}
	err := t.InsertFlat("ing_plan_slice", `plan_id, parent_slice_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to,
  begins, expr_hash, expr_snapshot, status_code, created_at, updated_at, sector_name`, 15, values)
	if err != nil {
		return err
	}
	crash.At(crash.HalfSliced)
	ids, err := t.sliceIDs(planID, chunk)
	if err != nil {
		return err
	}
	var schedule, partition, endpoint, operation, fingerprint any = p.schedule, p.partition, p.endpoint, p.operation, p.fingerprint
	var queued, scheduled any = string(ingest.TaskQueued), string(ingest.TaskScheduled)
	values = values[:0]
	for i, c := range chunk {
		status, due, waits := queued, now, any(nil)
		if c.ScheduledAt.After(t.Now) {
			status, due, waits = scheduled, kernel.Micros(c.ScheduledAt), kernel.OrNull(string(c.Waits))
		}
		values = append(values, schedule, plan, ids[i], partition, source, endpoint, operation, fingerprint, kernel.JSONOrNull(c.TaskParams), c.TaskKey,
			c.ExprHash, c.Priority, status, due, waits, c.Reserved, kernel.OrNull(c.PlannedIn), now, now)
	}
	return t.InsertFlat("ing_task", `schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code,
  spec_fingerprint, params, idempotent_key, expr_hash, priority, status_code, scheduled_at, wait_code, reserved_requests, correlation_id, created_at, updated_at`, 19, values)
}

// sliceIDs returns the ids of slices that were just inserted. Ids rise in the order
// of the rows: if the last is as far from the first as the slices are many, nobody
// else's lie between them, and there is no need to read a thousand.
func (t *tx) sliceIDs(planID int64, chunk []ingest.NewSlice) ([]int64, error) {
	first, last := chunk[0].No, chunk[len(chunk)-1].No
	out := make([]int64, len(chunk))
	const one = "SELECT id FROM ing_plan_slice WHERE plan_id = ? AND slice_no = ?"
	if err := t.Row(one, planID, first).Scan(&out[0]); err != nil {
		return nil, err
	}
	var end int64
	if err := t.Row(one, planID, last).Scan(&end); err != nil {
		return nil, err
	}
	if end-out[0] == int64(len(chunk)-1) {
		for i := range out {
			out[i] = out[0] + int64(i)
		}
		return out, nil
	}
	rows, err := t.Query("SELECT slice_no, id FROM ing_plan_slice WHERE plan_id = ? AND slice_no BETWEEN ? AND ?", planID, first, last)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var no int
		var id int64
		err := rows.Scan(&no, &id)
		if err == nil {
			out[no-first] = id
		}
		return err
	})
}

// OpenPlans lists the plans of a partition that have not ended, oldest first: a
// run that was killed or interrupted left them, or too many tasks waited.
func (s *Ledger) OpenPlans(ctx context.Context, p ingest.Partition) ([]ingest.OpenPlan, error) {
	open, cursors, err := s.openPlans(ctx, p)
	if err != nil {
		return nil, kernel.Wrap("list open plans", s.db.Translate(err))
	}
	out := open[:0]
	for i, o := range open {
		// By its key: a cursor has one event for every slice that ever ended.
		owed, known, err := s.owedBy(ctx, cursors[i], o.Key)
		if err != nil {
			return nil, kernel.Wrap("list open plans", s.db.Translate(err))
		}
		if o.Owed = owed; known {
			out = append(out, o)
		}
	}
	return out, nil
}

func (s *Ledger) openPlans(ctx context.Context, p ingest.Partition) (out []ingest.OpenPlan, cursors []int64, err error) {
	return s.openPlansWhere(ctx, "p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ?", p.Source, p.Endpoint, string(p.Operation))
}

// openPlansWhere returns those that match, without what they owe.
func (s *Ledger) openPlansWhere(ctx context.Context, where string, args ...any) (out []ingest.OpenPlan, cursors []int64, err error) {
	rows, err := s.db.Query(ctx, `SELECT p.id, p.plan_key, p.status_code, p.next_slice_no, d.snapshot, p.slice_params, p.as_of, p.cursor_id, COALESCE(g.order_code, ''), COALESCE(g.state_code, ''),
  EXISTS (SELECT 1 FROM ing_request_limit l WHERE l.id = p.limit_id AND l.holds = 1), p.limit_id IS NOT NULL, p.sector_narrow, p.sector_left
  FROM ing_plan p JOIN ing_spec_snapshot d ON d.spec_fingerprint = p.spec_fingerprint LEFT JOIN ing_campaign g ON g.cursor_id = p.cursor_id
  WHERE `+where+` AND p.status_code IN ('SLICING','PARTIAL','READY') ORDER BY p.id`, args...)
	if err != nil {
		return nil, nil, err
	}
	return out, cursors, kernel.Each(rows, func() error {
		var o ingest.OpenPlan
		var cursor int64
		var asOf sql.NullInt64
		var order ingest.CampaignOrder
		var state ingest.CampaignState
		var narrow, left sql.NullString
		err := rows.Scan(&o.ID, &o.Key, &o.Status, &o.NextSliceNo, &o.Spec, &o.Params, &asOf, &cursor, &order, &state, &o.Held, &o.Limited, &narrow, &left)
		if err == nil {
			err = kernel.Decode(narrow, &o.Narrowed)
		}
		if err == nil {
			err = kernel.Decode(left, &o.LeftOut)
		}
		o.AsOf = kernel.Instant(asOf)
		o.OldestFirst, o.Held = order == ingest.OldestFirst, o.Held || state == ingest.CampaignPaused
		out, cursors = append(out, o), append(cursors, cursor)
		return err
	})
}

// archivedKey refuses a plan that exists already, in a file (I8).
func (t *tx) archivedKey(key string) error {
	var plan int64
	var name sql.NullString
	known, err := kernel.Found(t.Row("SELECT p.plan_id, a.file_name FROM ing_archived_plan p JOIN ing_archive a ON a.id = p.archive_id WHERE p.plan_key = ?", key).Scan(&plan, &name))
	if err == nil && known {
		return ingest.PlanArchived{Plan: plan, File: name.String}
	}
	return err
}

package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// RecordTrigger writes the root of a lineage. The same trigger twice is the same row.
func (s *Store) RecordTrigger(ctx context.Context, in ingest.Trigger) (id int64, err error) {
	err = s.step(ctx, "record trigger", bulk, func(t *tx) error {
		ok, err := found(t.row("SELECT id FROM ing_schedule_instance WHERE trigger_key = ?", in.Key).Scan(&id))
		if ok || err != nil {
			return err
		}
		id, err = t.insert(`INSERT INTO ing_schedule_instance
  (trigger_key, scheduler_code, trigger_type_code, triggered_at, trigger_params, provenance_code, created_at) VALUES (?,?,?,?,?,?,?)`,
			in.Key, in.Scheduler, string(in.Type), micros(in.At), jsonOrNull(in.Params), in.Source, micros(t.now))
		return err
	})
	return id, err
}

// NoteTrigger keeps why a trigger led to no plan (§5.3.2).
func (s *Store) NoteTrigger(ctx context.Context, id int64, remarks []byte) error {
	return s.step(ctx, "note trigger", bulk, func(t *tx) error {
		return t.execOne("UPDATE ing_schedule_instance SET record_remarks = ? WHERE id = ?", jsonOrNull(remarks), id)
	})
}

// OpenPlan stores a plan with its PLANNED event (D§5.7). A plan with the same
// key is returned as it is.
func (s *Store) OpenPlan(ctx context.Context, in ingest.NewPlan) (plan ingest.Plan, existed bool, err error) {
	err = s.step(ctx, "open plan", bulk, func(t *tx) error {
		var err error
		plan, existed, err = t.planByKey(in.Key)
		if existed || err != nil {
			return err
		}
		refs, err := t.planReferences(in)
		if err != nil {
			return err
		}
		plan, err = t.insertPlan(in, refs)
		if err != nil || in.Empty {
			return err
		}
		return t.advance(refs.cursor, ledgerEntry{
			Event: coverage.Event{Kind: coverage.Planned, Windows: in.Owed, AsOf: in.AsOf, At: t.now, Lookback: in.Lookback},
			key:   plannedKey(refs.cursor, in.Key),
			from:  ingest.Lineage{ScheduleID: in.ScheduleID, PlanID: plan.ID}, exprHash: in.ExprProtoHash,
		})
	})
	return plan, existed, err
}

type planRefs struct{ partition, cursor, expr, mapping int64 }

func (t *tx) planReferences(in ingest.NewPlan) (r planRefs, err error) {
	dataset, err := t.dataset(in.Partition.Dataset)
	if err != nil {
		return r, err
	}
	if r.partition, err = t.partition(in.Partition, dataset); err != nil {
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
	return r, t.snapshot(in.SpecFingerprint, in.Spec)
}

func (t *tx) insertPlan(in ingest.NewPlan, r planRefs) (ingest.Plan, error) {
	status := ingest.PlanSlicing
	if in.Empty {
		status = ingest.PlanCompleted
	}
	id, err := t.insert(`INSERT INTO ing_plan (schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code,
  expr_proto_hash, expr_proto_snapshot, expr_id, mapping_id, spec_fingerprint, provenance_config_hash, window_from, window_to, as_of,
  slice_strategy_code, slice_params, next_slice_no, status_code, record_remarks, created_at, updated_at)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,1,?,?,?,?)`,
		in.ScheduleID, in.Key, r.partition, r.cursor, in.Partition.Source, in.Partition.Endpoint, string(in.Partition.Operation),
		in.ExprProtoHash, jsonOrNull(in.ExprProto), r.expr, r.mapping, in.SpecFingerprint, in.ConfigHash,
		micros(in.Window.From), micros(in.Window.To), micros(in.AsOf), in.Strategy, jsonOrNull(in.SliceParams),
		string(status), jsonOrNull(in.Remarks), micros(t.now), micros(t.now))
	return ingest.Plan{
		ID: id, Key: in.Key, ScheduleID: in.ScheduleID, Partition: in.Partition, Status: status, Window: in.Window, AsOf: in.AsOf,
		SpecFingerprint: in.SpecFingerprint, ExprProtoHash: in.ExprProtoHash, NextSliceNo: 1,
	}, err
}

func (t *tx) planByKey(key string) (p ingest.Plan, ok bool, err error) {
	var from, to, asOf sql.NullInt64
	var operation, status string
	ok, err = found(t.row(`SELECT id, plan_key, schedule_instance_id, provenance_code, endpoint_name, operation_code, status_code,
  window_from, window_to, as_of, spec_fingerprint, expr_proto_hash, next_slice_no FROM ing_plan WHERE plan_key = ?`, key).
		Scan(&p.ID, &p.Key, &p.ScheduleID, &p.Partition.Source, &p.Partition.Endpoint, &operation, &status,
			&from, &to, &asOf, &p.SpecFingerprint, &p.ExprProtoHash, &p.NextSliceNo))
	p.Partition.Operation, p.Status = ingest.Operation(operation), ingest.PlanStatus(status)
	p.Window, p.AsOf = window.Window{From: instant(from), To: instant(to)}, instant(asOf)
	return p, ok, err
}

// AddSlices stores a chunk of slices with their tasks (D§5.4). Slices the plan
// already has are skipped, so a chunk may be repeated; others under their numbers
// are refused with ingest.ErrSlicedOtherwise. The last chunk makes the plan READY.
// A plan that was suspended goes on.
func (s *Store) AddSlices(ctx context.Context, planID int64, chunk []ingest.NewSlice, last bool) error {
	if last {
		if err := s.coversOwed(ctx, planID, chunk); err != nil {
			return wrap("add slices", s.dialect.Translate(err))
		}
	}
	return s.step(ctx, "add slices", bulk, func(t *tx) error {
		p, err := t.lockPlan(planID)
		if err != nil {
			return err
		}
		known, added := p.part(chunk)
		if err := t.sameAsStored(planID, known); err != nil {
			return err
		}
		if err := p.takes(added); err != nil {
			return err
		}
		if len(added) == 0 && !(last && p.open()) {
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
	err = t.row(`SELECT schedule_instance_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, next_slice_no, status_code
  FROM ing_plan WHERE id = ?`+t.store.dialect.ForUpdate, id).
		Scan(&p.schedule, &p.partition, &p.source, &p.endpoint, &p.operation, &p.fingerprint, &p.next, &p.status)
	return p, orNotFound(err)
}

// savePlan notes how far a plan is sliced. Its slices may all have ended before
// the last chunk closes it.
func (t *tx) savePlan(id int64, next int, last bool) error {
	status := ingest.PlanSlicing
	if last {
		status = ingest.PlanReady
	}
	err := t.execOne("UPDATE ing_plan SET next_slice_no = ?, status_code = ?, updated_at = ?, version = version + 1 WHERE id = ?",
		next, string(status), micros(t.now), id)
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

// open reports whether the plan still takes slices.
func (p planRow) open() bool { return ingest.PlanStatus(p.status).CanBecome(ingest.PlanReady) }

// part divides a chunk into slices whose numbers the plan has and those beyond.
func (p planRow) part(chunk []ingest.NewSlice) (known, added []ingest.NewSlice) {
	n := 0
	for n < len(chunk) && chunk[n].No < p.next {
		n++
	}
	return chunk[:n], chunk[n:]
}

// takes refuses slices that do not go on where the plan ends. A hole in their
// numbers would be a hole in the plan's window (I1).
func (p planRow) takes(added []ingest.NewSlice) error {
	for i, c := range added {
		if c.No != p.next+i {
			return fmt.Errorf("%w: slice %d does not follow %d", fault.ErrInvalid, c.No, p.next+i-1)
		}
	}
	if len(added) > 0 && !p.open() {
		return fmt.Errorf("%w: the plan is %s and takes no further slice", fault.ErrInvalid, p.status)
	}
	return nil
}

func (t *tx) insertSlices(planID int64, p planRow, chunk []ingest.NewSlice) error {
	if len(chunk) == 0 {
		return nil
	}
	rows := make([][]any, len(chunk))
	for i, c := range chunk {
		rows[i] = []any{
			planID, idOrNull(p.parent), p.source, c.No, c.Signature, jsonOrNull(c.Spec), micros(c.Window.From), micros(c.Window.To), c.ExprHash,
			jsonOrNull(c.Expr), string(ingest.SliceReady), micros(t.now), micros(t.now),
		}
	}
	err := t.insertMany("ing_plan_slice", `plan_id, parent_slice_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to,
  expr_hash, expr_snapshot, status_code, created_at, updated_at`, 13, rows)
	if err != nil {
		return err
	}
	ids := make(map[int]int64, len(chunk))
	found, err := t.query("SELECT slice_no, id FROM ing_plan_slice WHERE plan_id = ? AND slice_no BETWEEN ? AND ?", planID, chunk[0].No, chunk[len(chunk)-1].No)
	if err != nil {
		return err
	}
	err = each(found, func() error {
		var no int
		var id int64
		if err := found.Scan(&no, &id); err != nil {
			return err
		}
		ids[no] = id
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range chunk {
		status, due := ingest.TaskQueued, t.now
		if c.ScheduledAt.After(t.now) {
			status, due = ingest.TaskScheduled, c.ScheduledAt
		}
		rows[i] = []any{
			p.schedule, planID, ids[c.No], p.partition, p.source, p.endpoint, p.operation, p.fingerprint, jsonOrNull(c.TaskParams), c.TaskKey,
			c.ExprHash, c.Priority, string(status), micros(due), micros(t.now), micros(t.now),
		}
	}
	return t.insertMany("ing_task", `schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code,
  spec_fingerprint, params, idempotent_key, expr_hash, priority, status_code, scheduled_at, created_at, updated_at`, 16, rows)
}

// OpenPlans lists the plans of a partition that have not ended, oldest first: a
// run that was killed or interrupted left them, or too many tasks waited.
func (s *Store) OpenPlans(ctx context.Context, p ingest.Partition) (out []ingest.OpenPlan, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT p.id, p.plan_key, p.status_code, p.next_slice_no, d.snapshot, e.window_from, e.window_to, e.spans
  FROM ing_plan p JOIN ing_spec_snapshot d ON d.spec_fingerprint = p.spec_fingerprint
  JOIN ing_cursor_event e ON e.plan_id = p.id AND e.cursor_id = p.cursor_id AND e.kind_code = 'PLANNED'
  WHERE p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ? AND p.status_code IN ('SLICING','PARTIAL','READY') ORDER BY p.id`,
		p.Source, p.Endpoint, string(p.Operation))
	if err != nil {
		return nil, wrap("list open plans", s.dialect.Translate(err))
	}
	return out, wrap("list open plans", each(rows, func() error {
		var o ingest.OpenPlan
		var status string
		var from, to sql.NullInt64
		var spans sql.NullString
		if err := rows.Scan(&o.ID, &o.Key, &status, &o.NextSliceNo, &o.Spec, &from, &to, &spans); err != nil {
			return err
		}
		o.Status, o.Owed = ingest.PlanStatus(status), []window.Window{{From: instant(from), To: instant(to)}}
		if spans.Valid {
			o.Owed = nil
		}
		out = append(out, o)
		return decode(spans, &out[len(out)-1].Owed)
	}))
}

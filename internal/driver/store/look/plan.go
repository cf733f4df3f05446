package look

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// PlanRows lists plans with their slices by status, newest first. Remarks are
// left out: they can be long.
func (s *Look) PlanRows(ctx context.Context, f view.PlanFilter) (out []view.PlanRow, err error) {
	const query = `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.status_code, p.window_from, p.window_to, p.as_of, p.spec_fingerprint,
  p.created_at FROM ` + page
	err = s.listRows(ctx, "list plans", query, "ing_plan", "p", f.Filter, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "p.id = ?", f.PlanID)
		w.Add(f.Operation != "", "p.operation_code = ?", f.Operation)
	}, func(rows *sql.Rows) error {
		v := view.PlanRow{Slices: map[string]int{}}
		var from, to, asOf, created sql.NullInt64
		err := rows.Scan(&v.ID, &v.Source, &v.Endpoint, &v.Operation, &v.Status, &from, &to, &asOf, &v.SpecFingerprint, &created)
		v.Window, v.AsOf, v.CreatedAt = kernel.Span(from, to), kernel.Instant(asOf), kernel.Instant(created)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(out, countAtOnce) {
		if err := s.countSlices(ctx, part); err != nil {
			return nil, kernel.Wrap("list plans", err)
		}
	}
	return out, nil
}

// countAtOnce is how many plans have their slices counted by one query.
const countAtOnce = 100

func (s *Look) countSlices(ctx context.Context, plans []view.PlanRow) error {
	at, ids := map[int64]map[string]int{}, make([]any, len(plans))
	for i, p := range plans {
		at[p.ID], ids[i] = p.Slices, p.ID
	}
	rows, err := s.db.Query(ctx, "SELECT plan_id, status_code, COUNT(*) FROM ing_plan_slice WHERE plan_id IN (?"+strings.Repeat(",?", len(ids)-1)+
		") GROUP BY plan_id, status_code", ids...)
	if err != nil {
		return s.db.Translate(err)
	}
	return kernel.Each(rows, func() error {
		var id int64
		var status string
		var n int
		err := rows.Scan(&id, &status, &n)
		if err == nil {
			at[id][status] = n
		}
		return err
	})
}

// Plan returns one plan with its trigger, its slices and what its runs did.
func (s *Look) Plan(ctx context.Context, id int64) (v view.PlanDetail, err error) {
	var from, to, asOf, created, updated, triggered sql.NullInt64
	var remarks, params, proto, asked, noted sql.NullString
	err = s.db.QueryRow(ctx, `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.status_code, p.window_from, p.window_to, p.as_of,
  p.spec_fingerprint, p.record_remarks, p.created_at, p.updated_at, p.plan_key, p.slice_strategy_code, p.slice_params, p.expr_proto_hash, p.expr_proto_snapshot,
  p.cursor_id, i.id, i.trigger_type_code, i.scheduler_code, COALESCE(i.scheduler_job_id, ''), COALESCE(i.scheduler_log_id, ''), i.triggered_at, i.trigger_params, i.record_remarks
  FROM ing_plan p JOIN ing_schedule_instance i ON i.id = p.schedule_instance_id WHERE p.id = ?`, id).
		Scan(&v.ID, &v.Source, &v.Endpoint, &v.Operation, &v.Status, &from, &to, &asOf, &v.SpecFingerprint, &remarks, &created, &updated, &v.Key, &v.Strategy,
			&params, &v.ExprProtoHash, &proto, &v.CursorID, &v.Trigger.ID, &v.Trigger.Type, &v.Trigger.Scheduler, &v.Trigger.JobID, &v.Trigger.LogID, &triggered, &asked, &noted)
	if err != nil {
		return v, kernel.Wrap("show plan", s.db.Translate(kernel.OrNotFound(err)))
	}
	v.Window, v.AsOf, v.CreatedAt, v.UpdatedAt = kernel.Span(from, to), kernel.Instant(asOf), kernel.Instant(created), kernel.Instant(updated)
	v.Remarks, v.SliceParams, v.ExprProto = kernel.RawJSON(remarks), kernel.RawJSON(params), kernel.RawJSON(proto)
	v.Trigger.At, v.Trigger.Params, v.Trigger.Remarks = kernel.Instant(triggered), kernel.RawJSON(asked), kernel.RawJSON(noted)
	done, err := s.Progress(ctx, id)
	v.Slices, v.Stats = done.Slices, done.Stats
	if err == nil {
		v.Limit, err = s.limitOf(ctx, id)
	}
	return v, err
}

// limitOf returns how many requests may be spent on a plan; nil: as many as it takes.
func (s *Look) limitOf(ctx context.Context, plan int64) (*ingest.RequestLimit, error) {
	var l ingest.RequestLimit
	var at sql.NullInt64
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT l.id, l.max_requests, l.taken, l.used_up_at FROM ing_plan p JOIN ing_request_limit l ON l.id = p.limit_id WHERE p.id = ?", plan).
		Scan(&l.ID, &l.Max, &l.Taken, &at))
	if !known || err != nil {
		return nil, kernel.Wrap("read limit of plan", s.db.Translate(err))
	}
	l.UsedUpAt = kernel.Instant(at)
	return &l, nil
}

const sliceColumns = `SELECT s.id, s.plan_id, COALESCE(s.parent_slice_id, 0), s.slice_no, s.provenance_code, s.status_code, s.window_from, s.window_to,
  s.slice_signature_hash, s.expr_hash, s.created_at, s.updated_at, COALESCE(t.id, 0), COALESCE(t.status_code, ''), COALESCE(s.sector_name, '')`

const (
	sliceTask   = " LEFT JOIN ing_task t ON t.slice_id = s.id"
	sliceTables = " FROM ing_plan_slice s" + sliceTask
)

func scanSlice(rows kernel.Scanner, more ...any) (v view.Slice, err error) {
	var from, to, created, updated sql.NullInt64
	err = rows.Scan(append([]any{
		&v.ID, &v.PlanID, &v.ParentID, &v.No, &v.Source, &v.Status, &from, &to, &v.Signature, &v.ExprHash, &created, &updated, &v.TaskID, &v.TaskStatus, &v.Partition,
	}, more...)...)
	v.Window, v.CreatedAt, v.UpdatedAt = kernel.Span(from, to), kernel.Instant(created), kernel.Instant(updated)
	return v, err
}

// Slices lists the parts of plans, newest first.
func (s *Look) Slices(ctx context.Context, f view.Filter) (out []view.Slice, err error) {
	err = s.listRows(ctx, "list slices", sliceColumns+" FROM "+page+sliceTask, "ing_plan_slice", "s", f, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "s.plan_id = ?", f.PlanID)
		w.Add(f.Sector != "", "s.sector_name = ?", f.Sector)
	}, func(rows *sql.Rows) error {
		v, err := scanSlice(rows)
		out = append(out, v)
		return err
	})
	return out, err
}

// Slice returns one slice with what it asks for.
func (s *Look) Slice(ctx context.Context, id int64) (v view.SliceDetail, err error) {
	var spec, expr, remarks sql.NullString
	row := s.db.QueryRow(ctx, sliceColumns+", s.slice_spec, s.expr_snapshot, s.record_remarks"+sliceTables+" WHERE s.id = ?", id)
	v.Slice, err = scanSlice(row, &spec, &expr, &remarks)
	v.Spec, v.Expr, v.Remarks = kernel.RawJSON(spec), kernel.RawJSON(expr), kernel.RawJSON(remarks)
	return v, kernel.Wrap("show slice", s.db.Translate(kernel.OrNotFound(err)))
}

// PlanCancel returns what cancelling a plan would come to, or came to.
func (s *Look) PlanCancel(ctx context.Context, id int64) (v view.PlanCancel, err error) {
	v.PlanID = id
	if err := s.db.QueryRow(ctx, "SELECT status_code FROM ing_plan WHERE id = ?", id).Scan(&v.Status); err != nil {
		return v, kernel.Wrap("look at plan", s.db.Translate(kernel.OrNotFound(err)))
	}
	rows, err := s.db.Query(ctx, `SELECT s.status_code, COALESCE(t.status_code, ''), COUNT(*)`+sliceTables+`
  WHERE s.plan_id = ? GROUP BY s.status_code, t.status_code`, id)
	if err != nil {
		return v, kernel.Wrap("look at plan", s.db.Translate(err))
	}
	return v, kernel.Wrap("look at plan", kernel.Each(rows, func() error {
		var slice ingest.SliceStatus
		var task ingest.TaskStatus
		var n int
		if err := rows.Scan(&slice, &task, &n); err != nil {
			return err
		}
		switch {
		case slice != ingest.SliceCancelled && !slice.CanBecome(ingest.SliceCancelled):
			v.Ended += n
		case task.Leased():
			v.Stopping += n
		default:
			v.Cancelled += n
		}
		return nil
	}))
}

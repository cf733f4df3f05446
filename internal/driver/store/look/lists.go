package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// defaultLimit keeps a forgotten limit from reading a whole table.
const defaultLimit = 50

// page stands for the table of a list in its query: its rows of one page.
const page = "{page}"

// listRows runs a query newest first, with the filter's common conditions applied
// to the columns of the table, which is called name. The ids of the page are
// found first, mostly in an index alone: only its rows are read and joined.
func (s *Look) listRows(ctx context.Context, step, query, table, name string, f view.Filter, extra func(*kernel.Where), scan func(*sql.Rows) error) error {
	ids, args := pageOf(table, name, f, extra)
	query = strings.Replace(query, page, "("+ids+") page JOIN "+table+" "+name+" ON "+name+".id = page.id", 1)
	rows, err := s.db.Query(ctx, query+" ORDER BY "+name+".id DESC", args...)
	if err != nil {
		return kernel.Wrap(step, s.db.Translate(err))
	}
	return kernel.Wrap(step, kernel.Each(rows, func() error { return scan(rows) }))
}

// pageOf selects the ids of a page, newest first.
func pageOf(table, name string, f view.Filter, extra func(*kernel.Where)) (query string, args []any) {
	w, source, status := &kernel.Where{}, name+".provenance_code", name+".status_code"
	switch {
	case usual[f.Status]:
		status = hideFromIndex(status)
	case f.Status != "":
		source = hideFromIndex(source)
	}
	w.Add(f.Source != "", source+" = ?", f.Source)
	w.Add(f.Status != "", status+" = ?", f.Status)
	w.Add(f.Before != 0, name+".id < ?", f.Before)
	if extra != nil {
		extra(w)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return "SELECT " + name + ".id FROM " + table + " " + name + w.String() + " ORDER BY " + name + ".id DESC LIMIT ?", append(w.Args, limit)
}

// usual are the statuses that nearly all rows have in the end; runs, batches and
// slices end like tasks. The newest of them are found by walking back from the
// newest row: an index on the status would first gather them all. Other statuses
// are rare, and lead to few rows at once.
var usual = map[string]bool{string(ingest.TaskSucceeded): true, string(ingest.PlanCompleted): true}

// hideFromIndex is a column that no index serves: without it, a database that keeps no
// statistics takes whichever index it meets first.
func hideFromIndex(column string) string { return "COALESCE(" + column + ", '')" }

// Tasks lists tasks, newest first.
func (s *Look) Tasks(ctx context.Context, f view.Filter) (out []view.Task, err error) {
	const query = `SELECT t.id, t.plan_id, t.slice_id, t.provenance_code, t.endpoint_name, t.operation_code, t.status_code, s.window_from, s.window_to,
  t.priority, t.scheduled_at, t.attempts, t.lease_owner, t.lease_epoch, t.leased_until, t.last_error_code, t.last_error_msg, t.started_at, t.finished_at,
  t.spec_fingerprint, t.idempotent_key, t.cancel_requested, t.wait_code FROM ` + page + ` JOIN ing_plan_slice s ON s.id = t.slice_id`
	err = s.listRows(ctx, "list tasks", query, "ing_task", "t", f, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "t.plan_id = ?", f.PlanID)
		w.Add(f.TaskID != 0, "t.id = ?", f.TaskID)
	}, func(rows *sql.Rows) error {
		var v view.Task
		var from, to, due, until, started, finished sql.NullInt64
		var owner, code, text, waits sql.NullString
		err := rows.Scan(&v.ID, &v.PlanID, &v.SliceID, &v.Source, &v.Endpoint, &v.Operation, &v.Status, &from, &to, &v.Priority, &due, &v.Attempts, &owner,
			&v.LeaseEpoch, &until, &code, &text, &started, &finished, &v.Spec, &v.Key, &v.Stopping, &waits)
		v.Window, v.ScheduledAt, v.LeasedUntil = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(due), kernel.Instant(until)
		v.LeaseOwner, v.ErrorCode, v.Error, v.StartedAt, v.FinishedAt = owner.String, code.String, text.String, kernel.Instant(started), kernel.Instant(finished)
		if v.Status == string(ingest.TaskScheduled) && waits.Valid {
			v.Waits = &view.Waiting{Reason: gate.Reason(waits.String), Until: v.ScheduledAt}
		}
		out = append(out, v)
		return err
	})
	if err != nil {
		return out, err
	}
	return out, s.explainWaits(ctx, out)
}

// Runs lists attempts, newest first.
func (s *Look) Runs(ctx context.Context, f view.Filter) (out []view.Run, err error) {
	const query = `SELECT r.id, r.task_id, r.plan_id, r.attempt_no, r.lease_epoch, r.provenance_code, r.operation_code, r.status_code, r.window_from, r.window_to, r.stats,
  r.worker, r.error_code, r.error, r.started_at, r.finished_at, r.record_remarks, r.correlation_id FROM ` + page
	err = s.listRows(ctx, "list runs", query, "ing_task_run", "r", f, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "r.plan_id = ?", f.PlanID)
		w.Add(f.TaskID != 0, "r.task_id = ?", f.TaskID)
		w.Add(f.RunID != 0, "r.id = ?", f.RunID)
	}, func(rows *sql.Rows) error {
		var v view.Run
		var from, to, started, finished sql.NullInt64
		var stats, worker, code, text, remarks, traced sql.NullString
		if err := rows.Scan(&v.ID, &v.TaskID, &v.PlanID, &v.Attempt, &v.Epoch, &v.Source, &v.Operation, &v.Status, &from, &to, &stats, &worker, &code, &text,
			&started, &finished, &remarks, &traced); err != nil {
			return err
		}
		v.Window, v.Worker, v.ErrorCode, v.Error = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, worker.String, code.String, text.String
		v.StartedAt, v.FinishedAt, v.Span = kernel.Instant(started), kernel.Instant(finished), traced.String
		out = append(out, v)
		last := &out[len(out)-1]
		if err := kernel.Decode(remarks, &last.Remarks); err != nil {
			return err
		}
		return kernel.Decode(stats, &last.Stats)
	})
	return out, err
}

// Batches lists pages, newest first.
func (s *Look) Batches(ctx context.Context, f view.Filter) (out []view.Batch, err error) {
	const query = `SELECT b.id, b.run_id, b.task_id, b.slice_id, b.plan_id, b.batch_no, b.pass, b.page_no, b.provenance_code, b.operation_code, b.status_code,
  b.before_token, b.after_token, b.stats, b.error, b.committed_at FROM ` + page
	err = s.listRows(ctx, "list batches", query, "ing_task_run_batch", "b", f, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "b.plan_id = ?", f.PlanID)
		w.Add(f.TaskID != 0, "b.task_id = ?", f.TaskID)
		w.Add(f.RunID != 0, "b.run_id = ?", f.RunID)
	}, func(rows *sql.Rows) error {
		v, err := scanBatch(rows)
		out = append(out, v)
		return err
	})
	return out, err
}

func scanBatch(rows kernel.Scanner, more ...any) (v view.Batch, err error) {
	var page, committed sql.NullInt64
	var before, after, stats, text sql.NullString
	err = rows.Scan(append([]any{
		&v.ID, &v.RunID, &v.TaskID, &v.SliceID, &v.PlanID, &v.No, &v.Pass, &page, &v.Source, &v.Operation, &v.Status, &before, &after, &stats, &text, &committed,
	}, more...)...)
	if err != nil {
		return v, err
	}
	v.Page, v.BeforeToken, v.AfterToken, v.Error, v.CommittedAt = int(page.Int64), before.String, after.String, text.String, kernel.Instant(committed)
	if err := kernel.Decode(stats, &v.Stats); err != nil || !stats.Valid {
		return v, err
	}
	return v, v.ReadExchange([]byte(stats.String))
}

// Batch returns one page with its evidence.
func (s *Look) Batch(ctx context.Context, id int64) (view.Batch, error) {
	var request, response, raw sql.NullString
	row := s.db.QueryRow(ctx, `SELECT b.id, b.run_id, b.task_id, b.slice_id, b.plan_id, b.batch_no, b.pass, b.page_no, b.provenance_code, b.operation_code,
  b.status_code, b.before_token, b.after_token, b.stats, b.error, b.committed_at, e.request, e.response, e.blob_ref
  FROM ing_task_run_batch b LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id WHERE b.id = ?`, id)
	v, err := scanBatch(row, &request, &response, &raw)
	v.Raw = raw.String
	if request.Valid {
		v.Request = json.RawMessage(request.String)
	}
	if response.Valid {
		v.Response = json.RawMessage(response.String)
	}
	return v, kernel.Wrap("show batch", kernel.OrNotFound(err))
}

// Plans lists plans, newest first.
func (s *Look) Plans(ctx context.Context, f view.Filter) (out []view.Plan, err error) {
	const query = `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.status_code, p.window_from, p.window_to, p.as_of, p.spec_fingerprint,
  p.record_remarks, p.created_at FROM ` + page
	err = s.listRows(ctx, "list plans", query, "ing_plan", "p", f, func(w *kernel.Where) { w.Add(f.PlanID != 0, "p.id = ?", f.PlanID) }, func(rows *sql.Rows) error {
		var v view.Plan
		var from, to, asOf, created sql.NullInt64
		var remarks sql.NullString
		err := rows.Scan(&v.ID, &v.Source, &v.Endpoint, &v.Operation, &v.Status, &from, &to, &asOf, &v.SpecFingerprint, &remarks, &created)
		if from.Valid {
			v.Window = &window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		}
		v.AsOf, v.CreatedAt = kernel.Instant(asOf), kernel.Instant(created)
		if remarks.Valid {
			v.Remarks = json.RawMessage(remarks.String)
		}
		out = append(out, v)
		return err
	})
	return out, err
}

// Progress adds up a plan.
func (s *Look) Progress(ctx context.Context, planID int64) (p view.Progress, err error) {
	p = view.Progress{PlanID: planID, Slices: map[string]int{}}
	if err = s.db.QueryRow(ctx, "SELECT status_code FROM ing_plan WHERE id = ?", planID).Scan(&p.Status); err != nil {
		return p, kernel.Wrap("plan progress", kernel.OrNotFound(s.db.Translate(err)))
	}
	rows, err := s.db.Query(ctx, "SELECT status_code, COUNT(*) FROM ing_plan_slice WHERE plan_id = ? GROUP BY status_code", planID)
	if err != nil {
		return p, kernel.Wrap("plan progress", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		var status string
		var n int
		err := rows.Scan(&status, &n)
		p.Slices[status] = n
		p.Total += n
		if s := ingest.SliceStatus(status); s != ingest.SlicePending && s != ingest.SliceReady {
			p.Done += n
		}
		return err
	})
	if err == nil && p.Slices[string(ingest.SlicePartial)] > 0 {
		err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_reslice_request r ON r.slice_id = s.id AND r.status_code = ? WHERE s.plan_id = ? AND s.status_code = ?",
			string(ingest.ResliceDone), planID, string(ingest.SlicePartial)).Scan(&p.Replaced)
	}
	if err != nil {
		return p, kernel.Wrap("plan progress", s.db.Translate(err))
	}
	p.Stats, err = s.PlanStats(ctx, planID)
	return p, kernel.Wrap("plan progress", err)
}

// PlanStats adds up what the runs of a plan counted.
func (s *Look) PlanStats(ctx context.Context, planID int64) (sum ingest.RunStats, err error) {
	rows, err := s.db.Query(ctx, "SELECT stats FROM ing_task_run WHERE plan_id = ? AND stats IS NOT NULL", planID)
	if err != nil {
		return sum, s.db.Translate(err)
	}
	return sum, s.db.Translate(kernel.Each(rows, func() error {
		var text sql.NullString
		var one ingest.RunStats
		if err := rows.Scan(&text); err != nil {
			return err
		}
		err := kernel.Decode(text, &one)
		sum = sum.Add(one)
		return err
	}))
}

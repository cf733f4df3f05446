package look

import (
	"context"
	"database/sql"
	"strings"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// batchesPerRun is how many batches of a run a tree shows: a run may have thousands.
const batchesPerRun = 100

// PlanLineage reads slices of a plan in their order, from after a number on, each with its
// task, runs and batches.
func (s *Look) PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error) {
	var one int
	if err := s.db.QueryRow(ctx, "SELECT 1 FROM ing_plan WHERE id = ?", planID).Scan(&one); err != nil {
		return nil, kernel.Wrap("show plan tree", kernel.OrNotFound(s.db.Translate(err)))
	}
	t := planTree{look: s, ctx: ctx, byTask: map[int64]*view.TaskTree{}}
	err := t.readSlices(planID, after, limit)
	if err == nil && len(t.byTask) > 0 {
		err = t.readRuns()
	}
	return t.slices, kernel.Wrap("show plan tree", s.db.Translate(err))
}

// planTree is a tree that grows level by level, a few queries each.
type planTree struct {
	look   *Look
	ctx    context.Context
	slices []view.SliceTree
	tasks  []any
	byTask map[int64]*view.TaskTree
}

func (t *planTree) readSlices(planID int64, after, limit int) error {
	rows, err := t.look.db.Query(t.ctx, `SELECT s.id, COALESCE(s.parent_slice_id, 0), s.slice_no, s.status_code, s.window_from, s.window_to, COALESCE(s.sector_name, ''), p.id, p.status_code, p.last_error_code
  FROM ing_plan_slice s LEFT JOIN ing_task p ON p.slice_id = s.id WHERE s.plan_id = ? AND s.slice_no > ? ORDER BY s.slice_no LIMIT ?`, planID, after, limit)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		var v view.SliceTree
		var from, to, task sql.NullInt64
		var status, code sql.NullString
		if err := rows.Scan(&v.ID, &v.ParentID, &v.No, &v.Status, &from, &to, &v.Partition, &task, &status, &code); err != nil {
			return err
		}
		v.Window = kernel.Span(from, to)
		if task.Valid {
			v.Task = &view.TaskTree{ID: task.Int64, Status: status.String, ErrorCode: code.String, Runs: []view.RunTree{}}
			t.byTask[v.Task.ID], t.tasks = v.Task, append(t.tasks, v.Task.ID)
		}
		t.slices = append(t.slices, v)
		return nil
	})
}

func (t *planTree) readRuns() error {
	rows, err := t.look.db.Query(t.ctx, `SELECT id, task_id, attempt_no, status_code, COALESCE(error_code, ''), started_at, finished_at FROM ing_task_run
  WHERE task_id IN (`+marksFor(t.tasks)+`) ORDER BY task_id, attempt_no`, t.tasks...)
	if err != nil {
		return err
	}
	var runs []any
	err = kernel.Each(rows, func() error {
		var v view.RunTree
		var task int64
		var started, finished sql.NullInt64
		if err := rows.Scan(&v.ID, &task, &v.Attempt, &v.Status, &v.ErrorCode, &started, &finished); err != nil {
			return err
		}
		v.StartedAt, v.FinishedAt, v.Batches = kernel.Instant(started), kernel.Instant(finished), []view.BatchLeaf{}
		t.byTask[task].Runs, runs = append(t.byTask[task].Runs, v), append(runs, v.ID)
		return nil
	})
	if err != nil || len(runs) == 0 {
		return err
	}
	return t.readBatches(runs)
}

// readBatches reads the first batches of all runs at once: batches of a run are numbered
// from 1 on.
func (t *planTree) readBatches(runs []any) error {
	byRun := map[int64]*view.RunTree{}
	for _, task := range t.byTask {
		for i := range task.Runs {
			byRun[task.Runs[i].ID] = &task.Runs[i]
		}
	}
	rows, err := t.look.db.Query(t.ctx, `SELECT b.id, b.run_id, b.task_id, b.slice_id, b.plan_id, b.batch_no, b.pass, b.page_no, b.provenance_code, b.operation_code, b.status_code,
  b.before_token, b.after_token, b.stats, b.error, b.committed_at FROM ing_task_run_batch b WHERE b.run_id IN (`+marksFor(runs)+`) AND b.batch_no <= ? ORDER BY b.run_id, b.batch_no`,
		append(runs, batchesPerRun+1)...)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		b, err := scanBatch(rows)
		if err != nil {
			return err
		}
		run := byRun[b.RunID]
		if run.More = b.No > batchesPerRun; !run.More {
			run.Batches = append(run.Batches, b.Leaf())
		}
		return nil
	})
}

// marksFor returns a mark for each of the arguments.
func marksFor(args []any) string { return strings.TrimSuffix(strings.Repeat("?,", len(args)), ",") }

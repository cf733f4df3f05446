package look

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Runs that may have started their slice over, with the task they are of. Both ends are a
// range of an index: runs of a source that did not succeed are few, and so are those of a
// plan. They are put in order afterwards: told to do it, a database walks through all runs
// of the source in the order of their ids, which are millions.
const (
	restartedRuns = `SELECT r.id, r.task_id, t.provenance_code, t.endpoint_name, t.operation_code, t.status_code, r.window_from, r.window_to, r.stats
  FROM ing_task_run r JOIN ing_task t ON t.id = r.task_id WHERE r.stats IS NOT NULL AND `
	restartedOpen = restartedRuns + `r.provenance_code = ? AND r.operation_code IN ('HARVEST', 'BACKFILL', 'UPDATE')
  AND r.status_code IN ('RUNNING', 'FAILED', 'PARTIAL', 'CANCELLED') AND t.status_code IN ('SCHEDULED', 'QUEUED', 'DISPATCHED', 'EXECUTING')`
	restartedOfPlan = restartedRuns + `r.plan_id = ?`
)

// StartedOver lists the slices of a source, or of all, that started over more often
// than is usual and are not read yet. One that was read in the end is healed, and
// one that was given up is a gap.
func (s *Look) StartedOver(ctx context.Context, source string) (out []view.StartedOver, err error) {
	lanes, err := s.DatasetLanes(ctx, source)
	if err != nil {
		return nil, kernel.Wrap("look for slices that start over", s.db.Translate(err))
	}
	var codes []string
	for _, lane := range lanes {
		codes = append(codes, lane.Source)
	}
	for _, code := range slices.Compact(codes) {
		found, err := s.startedOver(ctx, restartedOpen, code)
		if err != nil {
			return nil, kernel.Wrap("look for slices that start over", err)
		}
		out = append(out, slices.DeleteFunc(found, func(v view.StartedOver) bool { return v.Restarts <= ingest.UsualRestarts })...)
	}
	return out, nil
}

// StartedOverIn lists the slices of a plan that started over at all.
func (s *Look) StartedOverIn(ctx context.Context, planID int64) ([]view.StartedOver, error) {
	out, err := s.startedOver(ctx, restartedOfPlan, planID)
	return out, kernel.Wrap("look for slices that start over", err)
}

// startedOver adds up the runs of each task.
func (s *Look) startedOver(ctx context.Context, query string, arg any) (out []view.StartedOver, err error) {
	rows, err := s.db.Query(ctx, query, arg)
	if err != nil {
		return nil, s.db.Translate(err)
	}
	var runs []restartedRun
	err = kernel.Each(rows, func() error {
		var r restartedRun
		var from, to sql.NullInt64
		var text sql.NullString
		var stats ingest.RunStats
		if err := rows.Scan(&r.id, &r.TaskID, &r.Source, &r.Endpoint, &r.Operation, &r.Status, &from, &to, &text); err != nil {
			return err
		}
		if err := kernel.Decode(text, &stats); err != nil || stats.Restarts == 0 {
			return err
		}
		r.Window = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		r.Restarts, r.Reason = stats.Restarts, stats.RestartedBy
		runs = append(runs, r)
		return nil
	})
	return addRestarts(runs), s.db.Translate(err)
}

// restartedRun is a run that started its slice over, as if it were the only one.
type restartedRun struct {
	id int64
	view.StartedOver
}

// addRestarts adds up the runs of each task, the task that started over first before the others.
func addRestarts(runs []restartedRun) (out []view.StartedOver) {
	slices.SortFunc(runs, func(a, b restartedRun) int { return cmp.Compare(a.id, b.id) })
	at := map[int64]int{}
	for _, r := range runs {
		i, known := at[r.TaskID]
		if !known {
			at[r.TaskID], out = len(out), append(out, r.StartedOver)
			continue
		}
		out[i].Restarts += r.Restarts
		out[i].Reason = r.Reason
	}
	return out
}

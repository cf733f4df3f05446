package look

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Runs that may have started their slice over, with the task they are of. A task that is not
// read yet is of a plan that is open, and those are few: of each, the runs that did not succeed
// are a range of an index. Asked the other way round, for all runs of a source that ever
// failed, the question grows with the history. They are put in order afterwards: told to do
// it, a database walks through all runs in the order of their ids, which are millions.
const (
	restartedRuns = `SELECT r.id, r.task_id, t.provenance_code, t.endpoint_name, t.operation_code, t.status_code, r.window_from, r.window_to, r.stats
  FROM ing_task_run r%s JOIN ing_task t ON t.id = r.task_id WHERE r.stats IS NOT NULL AND `
	restartedOpen = restartedRuns + `r.plan_id IN (%s) AND r.status_code IN ('RUNNING', 'FAILED', 'PARTIAL', 'CANCELLED')
  AND t.status_code IN ('SCHEDULED', 'QUEUED', 'DISPATCHED', 'EXECUTING')`
	restartedOfPlan = restartedRuns + `r.plan_id = ?`

	plansWithTasks = `SELECT id FROM ing_plan WHERE status_code IN ('SLICING', 'PARTIAL', 'READY') AND operation_code IN ('HARVEST', 'BACKFILL', 'UPDATE')
  AND (? = '' OR provenance_code = ?)`
	plansAtOnce = 100
)

// restartedOf asks for runs of one plan, whatever became of them.
func restartedOf(byIndex string) string {
	return fmt.Sprintf(restartedOfPlan, fmt.Sprintf(byIndex, "idx_run_plan"))
}

// restartedIn asks for runs of so many open plans. Databases are told the index: by
// themselves they begin with the runs that failed.
func restartedIn(byIndex string, plans int) string {
	return fmt.Sprintf(restartedOpen, fmt.Sprintf(byIndex, "idx_run_plan_status"), kernel.Marks(plans))
}

// StartedOver lists the slices of a source, or of all, that started over more often
// than is usual and are not read yet. One that was read in the end is healed, and
// one that was given up is a gap.
func (s *Look) StartedOver(ctx context.Context, source string) (out []view.StartedOver, err error) {
	plans, err := s.db.IDs(ctx, plansWithTasks, source, source)
	if err != nil {
		return nil, kernel.Wrap("look for slices that start over", s.db.Translate(err))
	}
	for part := range slices.Chunk(plans, plansAtOnce) {
		ids := make([]any, len(part))
		for i, id := range part {
			ids[i] = id
		}
		found, err := s.startedOver(ctx, restartedIn(s.db.Dialect.ByIndex, len(ids)), ids...)
		if err != nil {
			return nil, kernel.Wrap("look for slices that start over", err)
		}
		out = append(out, slices.DeleteFunc(found, func(v view.StartedOver) bool { return v.Restarts <= ingest.UsualRestarts })...)
	}
	return out, nil
}

// StartedOverIn lists the slices of a plan that started over at all.
func (s *Look) StartedOverIn(ctx context.Context, planID int64) ([]view.StartedOver, error) {
	out, err := s.startedOver(ctx, restartedOf(s.db.Dialect.ByIndex), planID)
	return out, kernel.Wrap("look for slices that start over", err)
}

// startedOver adds up the runs of each task.
func (s *Look) startedOver(ctx context.Context, query string, args ...any) (out []view.StartedOver, err error) {
	rows, err := s.db.Query(ctx, query, args...)
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

package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// endedPlans are the states in which a plan takes no further work automatically.
var endedPlans = []ingest.PlanStatus{ingest.PlanCompleted, ingest.PlanFailed, ingest.PlanCancelled}

// plansAtOnce is how many plans one file holds: their rows leave ing_plan in one
// transaction.
const plansAtOnce = 200

// BeginPlanArchive decides which plans go into the next file. Plans that are in
// one that was begun and not sealed are given as they stand there.
func (s *Archive) BeginPlanArchive(ctx context.Context, plans []int64) (a retention.Archive, err error) {
	if len(plans) == 0 || len(plans) > plansAtOnce {
		return a, fmt.Errorf("begin plan archive: %w: %d plans, expected 1 to %d", fault.ErrInvalid, len(plans), plansAtOnce)
	}
	for range mostRecounts {
		counts, err := s.countPlans(ctx, plans)
		if err != nil {
			return a, kernel.Wrap("begin plan archive", err)
		}
		if a, err = s.beginPlanArchive(ctx, plans, counts); !errors.Is(err, errWentOn) {
			return a, err
		}
	}
	return a, fmt.Errorf("begin plan archive: %w: plans %v change all the time", fault.ErrInvalid, plans)
}

// mostRecounts: plans that ended hardly ever change, and never for long.
const mostRecounts = 5

func (s *Archive) beginPlanArchive(ctx context.Context, plans []int64, counts map[int64]archivedCount) (a retention.Archive, err error) {
	err = s.step(ctx, "begin plan archive", kernel.Bulk, func(t *tx) error {
		var before int64
		known, err := kernel.Found(t.Row("SELECT archive_id FROM ing_archived_plan WHERE plan_id = ?", plans[0]).Scan(&before))
		if err != nil {
			return err
		}
		if known {
			if a, err = t.lockArchive(before); err == nil {
				a.PlanIDs, err = t.IDs("SELECT plan_id FROM ing_archived_plan WHERE archive_id = ? ORDER BY plan_id", before)
			}
			return err
		}
		a = retention.Archive{Kind: retention.Plans, Status: retention.Writing, PlanIDs: slices.Sorted(slices.Values(plans)), CreatedAt: t.Now}
		if a.ID, err = t.Insert("INSERT INTO ing_archive (kind_code, status_code, created_at) VALUES (?,?,?)", string(a.Kind), string(a.Status), kernel.Micros(t.Now)); err != nil {
			return err
		}
		return t.notePlans(a, counts)
	})
	return a, err
}

func (t *tx) notePlans(a retention.Archive, counts map[int64]archivedCount) error {
	var rows [][]any
	for _, id := range a.PlanIDs {
		var key string
		var version int64
		if err := t.Row("SELECT plan_key, version FROM ing_plan WHERE id = ?", id).Scan(&key, &version); err != nil {
			return kernel.OrNotFound(err)
		}
		if counts[id].version != version {
			return errWentOn
		}
		stats, err := counts[id].countText()
		if err != nil {
			return err
		}
		rows = append(rows, []any{id, a.ID, key, version, counts[id].cursor, stats, kernel.Micros(t.Now)})
	}
	return t.InsertMany("ing_archived_plan", "plan_id, archive_id, plan_key, plan_version, cursor_id, stats, created_at", 7, rows)
}

// SealPlans takes the plans of a file that is durable out of the database: their
// roots at once, so that no process works on them any more, the rest in chunks
// by DeleteArchived. A plan that changed since it was chosen refuses all with
// fault.ErrInvalid: the archive is to be abandoned.
func (s *Archive) SealPlans(ctx context.Context, archiveID int64, f retention.File) error {
	return s.step(ctx, "seal plans", kernel.Bulk, func(t *tx) error {
		a, err := t.lockArchive(archiveID)
		if err != nil {
			return err
		}
		if due, err := canSeal(a, f); err != nil || !due {
			return err
		}
		plans, err := t.IDs("SELECT plan_id FROM ing_archived_plan WHERE archive_id = ? ORDER BY plan_id", archiveID)
		if err != nil {
			return err
		}
		total := int64(0)
		for _, id := range plans {
			if err := t.unchangedPlan(id); err != nil {
				return err
			}
			n, err := t.planSize(id)
			if err != nil {
				return err
			}
			total += n
		}
		if total != f.Rows {
			return fmt.Errorf("%w: the plans of archive %d have %d rows, its file %d", fault.ErrInvalid, archiveID, total, f.Rows)
		}
		var newest sql.NullInt64
		if err := t.Row("SELECT MAX(p.created_at) FROM ing_archived_plan a JOIN ing_plan p ON p.id = a.plan_id WHERE a.archive_id = ?", archiveID).Scan(&newest); err != nil {
			return err
		}
		if err := t.ExecIn("DELETE FROM ing_plan WHERE id IN ", plans); err != nil {
			return err
		}
		if err := t.dropLimits(newest.Int64); err != nil {
			return err
		}
		return t.sealArchive(a, f, "")
	})
}

// dropLimits removes the limits of requests that no plan is under, as old as the plans that
// leave: one that is younger may be of a trigger that has not planned yet.
func (t *tx) dropLimits(until int64) error {
	_, err := t.Exec("DELETE FROM ing_request_limit WHERE created_at <= ? AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.limit_id = ing_request_limit.id)", until)
	return err
}

// unchangedPlan locks a plan and reports whether it is what was written.
func (t *tx) unchangedPlan(id int64) error {
	var status ingest.PlanStatus
	var version, noted int64
	if err := t.Row("SELECT plan_version FROM ing_archived_plan WHERE plan_id = ?", id).Scan(&noted); err != nil {
		return err
	}
	known, err := kernel.Found(t.Row("SELECT status_code, version FROM ing_plan WHERE id = ?"+t.Dialect().ForUpdate, id).Scan(&status, &version))
	if err != nil {
		return err
	}
	if !known || !slices.Contains(endedPlans, status) || version != noted {
		return fmt.Errorf("%w: plan %d is %q: work on it was continued meanwhile", fault.ErrInvalid, id, status)
	}
	return nil
}

// planSize counts the rows of a plan in all tables: ranges of indexes.
func (t *tx) planSize(id int64) (total int64, err error) {
	for _, query := range sizeOfPlan {
		var n int64
		if err := t.Row(query, id).Scan(&n); err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

var sizeOfPlan = []string{
	"SELECT COUNT(*) FROM ing_plan WHERE id = ?",
	"SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id = ?",
	"SELECT COUNT(*) FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id WHERE s.plan_id = ?",
	"SELECT COUNT(*) FROM ing_task WHERE plan_id = ?",
	"SELECT COUNT(*) FROM ing_task_run WHERE plan_id = ?",
	"SELECT COUNT(*) FROM ing_task_run_batch WHERE plan_id = ?",
	"SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_batch_evidence e ON e.batch_id = b.id WHERE b.plan_id = ?",
}

// PlanSize returns how many rows a plan has in all tables.
func (s *Archive) PlanSize(ctx context.Context, id int64) (total int64, err error) {
	for _, query := range sizeOfPlan {
		var n int64
		if err := s.db.QueryRow(ctx, query, id).Scan(&n); err != nil {
			return total, kernel.Wrap("measure plan", s.db.Translate(err))
		}
		total += n
	}
	return total, nil
}

// OldPlans lists plans that ended before an instant, after an id, and what holds
// them. Those that are on their way into a file are left out.
func (s *Archive) OldPlans(ctx context.Context, before time.Time, after int64, limit int) (out []retention.Plan, err error) {
	for _, status := range endedPlans {
		rows, err := s.db.Query(ctx, `SELECT id, cursor_id, window_from, window_to FROM ing_plan WHERE status_code = ? AND id > ? AND updated_at < ?
  AND NOT EXISTS (SELECT 1 FROM ing_archived_plan a WHERE a.plan_id = ing_plan.id) ORDER BY id LIMIT ?`, string(status), after, kernel.Micros(before), limit)
		if err != nil {
			return nil, kernel.Wrap("list old plans", s.db.Translate(err))
		}
		var found []oldPlan
		if err := kernel.Each(rows, func() error {
			var p oldPlan
			var from, to sql.NullInt64
			err := rows.Scan(&p.id, &p.cursor, &from, &to)
			p.window = kernel.Span(from, to)
			found = append(found, p)
			return err
		}); err != nil {
			return nil, kernel.Wrap("list old plans", err)
		}
		for _, p := range found {
			held, err := s.holdOf(ctx, p)
			if err != nil {
				return nil, kernel.Wrap("list old plans", s.db.Translate(err))
			}
			out = append(out, retention.Plan{ID: p.id, Held: held})
		}
	}
	slices.SortFunc(out, func(a, b retention.Plan) int { return int(a.ID - b.ID) })
	return out[:min(limit, len(out))], nil
}

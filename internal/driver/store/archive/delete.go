package archive

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// DeleteArchived deletes some rows that a sealed archive holds, at most limit of
// each of two tables, and says how many. None: nothing of it is left here. Every
// call is one short transaction (D§5.20).
func (s *Archive) DeleteArchived(ctx context.Context, archiveID int64, limit int) (deleted int, err error) {
	err = s.step(ctx, "delete archived", kernel.Bulk, func(t *tx) error {
		a, err := t.lockArchive(archiveID)
		if err != nil {
			return err
		}
		switch {
		case a.Status == retention.Writing:
			return fmt.Errorf("%w: archive %d is not sealed", fault.ErrInvalid, archiveID)
		case a.Status == retention.Done:
			deleted = 0
			return nil
		case a.Kind == retention.Events:
			deleted, err = t.deleteEvents(a, limit)
			return err
		}
		deleted, err = t.deletePlans(a, limit)
		return err
	})
	return deleted, err
}

// deleteEvents leaves the boundaries of the ledger: its first event, and what
// people decided.
func (t *tx) deleteEvents(a retention.Archive, limit int) (int, error) {
	ids, err := t.IDs(`SELECT id FROM ing_cursor_event WHERE cursor_id = ? AND id >= ? AND id < ? AND kind_code <> 'MANUAL'
  AND id > (SELECT MIN(f.id) FROM ing_cursor_event f WHERE f.cursor_id = ?) ORDER BY id LIMIT ?`, a.CursorID, a.From, a.To, a.CursorID, limit)
	if err != nil {
		return 0, err
	}
	return len(ids), t.ExecIn("DELETE FROM ing_cursor_event WHERE id IN ", ids)
}

// Rows of a plan, leaves first: what is left of a plan can always be found by the
// rows nearer to its root.
var leavesOfPlan = []struct {
	find   string
	delete []string
}{
	{"SELECT id FROM ing_task_run_batch WHERE plan_id = ? ORDER BY id LIMIT ?", []string{
		"DELETE FROM ing_batch_evidence WHERE batch_id IN ", "DELETE FROM ing_task_run_batch WHERE id IN "}},
	{"SELECT id FROM ing_task_run WHERE plan_id = ? ORDER BY id LIMIT ?", []string{"DELETE FROM ing_task_run WHERE id IN "}},
	{"SELECT id FROM ing_task WHERE plan_id = ? ORDER BY id LIMIT ?", []string{"DELETE FROM ing_task WHERE id IN "}},
	{"SELECT id FROM ing_plan_slice WHERE plan_id = ? ORDER BY id LIMIT ?", []string{
		"DELETE FROM ing_reslice_request WHERE slice_id IN ", "DELETE FROM ing_plan_slice WHERE id IN "}},
}

func (t *tx) deletePlans(a retention.Archive, limit int) (int, error) {
	plans, err := t.IDs("SELECT plan_id FROM ing_archived_plan WHERE archive_id = ? ORDER BY plan_id", a.ID)
	if err != nil {
		return 0, err
	}
	for _, table := range leavesOfPlan {
		for _, plan := range plans {
			ids, err := t.IDs(table.find, plan, limit)
			if err != nil {
				return 0, err
			}
			if len(ids) == 0 {
				continue
			}
			for _, query := range table.delete {
				if err := t.ExecIn(query, ids); err != nil {
					return 0, err
				}
			}
			return len(ids), nil
		}
	}
	return 0, nil
}

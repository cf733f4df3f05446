package ledger

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// NoteQueue keeps how many due tasks wait, once per short slot, whichever process comes
// first. Those of backfills are left out: a person ordered them, so they are no surprise. What
// is older than two days goes.
func (s *Ledger) NoteQueue(ctx context.Context) error {
	return s.step(ctx, "note queue", kernel.Bulk, func(t *tx) error {
		slot := kernel.Micros(view.ShortSlot.Start(t.Now))
		var waiting int64
		known, err := kernel.Found(t.Row("SELECT waiting FROM ing_queue_length WHERE slot_start = ?", slot).Scan(&waiting))
		if err != nil || known {
			return err
		}
		if err := t.Row(`SELECT COUNT(t.id) FROM ing_partition p JOIN ing_task t ON t.partition_id = p.id AND t.status_code = ? WHERE p.operation_code <> ?`,
			string(ingest.TaskQueued), string(ingest.Backfill)).Scan(&waiting); err != nil {
			return err
		}
		if _, err := t.Exec("INSERT INTO ing_queue_length (slot_start, waiting) VALUES (?,?)", slot, waiting); err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM ing_queue_length WHERE slot_start < ?", kernel.Micros(t.Now.Add(-view.ShortSlotKept)))
		return err
	})
}

package archive

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// answersPerStep is how many lean answers one transaction removes.
const answersPerStep = 500

// RemoveLeanAnswers removes what was kept of answers beside their items for longer than
// they are to be kept. The items stay: they are versions of records. Batches are in the order
// of their ids, so it looks no further than a page of them of which none is old.
func (s *Archive) RemoveLeanAnswers(ctx context.Context, keep time.Duration) (removed int, err error) {
	for {
		n := 0
		err := s.step(ctx, "remove old answers", kernel.Bulk, func(t *tx) error {
			old, err := t.oldLeanAnswers(t.Now.Add(-keep))
			if n = len(old); err != nil || n == 0 {
				return err
			}
			return t.ExecIn("DELETE FROM ing_lean_answer WHERE batch_id IN ", old)
		})
		if removed += n; err != nil || n == 0 {
			return removed, err
		}
	}
}

func (t *tx) oldLeanAnswers(before time.Time) (batches []int64, err error) {
	rows, err := t.Query("SELECT batch_id, created_at FROM ing_lean_answer ORDER BY batch_id LIMIT ?", answersPerStep)
	if err != nil {
		return nil, err
	}
	return batches, kernel.Each(rows, func() error {
		var batch, created int64
		err := rows.Scan(&batch, &created)
		if created < before.UnixMicro() {
			batches = append(batches, batch)
		}
		return err
	})
}

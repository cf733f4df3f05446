package archive

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

var hourSeconds = int64(time.Duration(view.HourSlot).Seconds())

// oldestSumSQL finds the oldest hour that has sums.
const oldestSumSQL = `SELECT COALESCE(MIN(slot_start), 0) FROM (SELECT MIN(slot_start) AS slot_start FROM ing_work_sum WHERE slot_seconds = ?
  UNION ALL SELECT MIN(slot_start) FROM ing_error_sum) oldest`

// PruneSums removes the sums of the oldest hour that ended before an instant, and tells
// how many rows that were; none: there is no such hour. The runs they add up have left
// the database, or may.
func (s *Archive) PruneSums(ctx context.Context, before time.Time) (deleted int64, err error) {
	err = s.step(ctx, "prune sums", kernel.Bulk, func(t *tx) error {
		deleted = 0
		var oldest int64
		if err := t.Row(oldestSumSQL, hourSeconds).Scan(&oldest); err != nil {
			return err
		}
		if oldest == 0 || oldest >= view.HourSlot.Start(before).UnixMicro() {
			return nil
		}
		if deleted, err = t.Affected("DELETE FROM ing_work_sum WHERE slot_seconds = ? AND slot_start = ?", hourSeconds, oldest); err != nil {
			return err
		}
		errors, err := t.Affected("DELETE FROM ing_error_sum WHERE slot_start = ?", oldest)
		deleted += errors
		return err
	})
	return deleted, err
}

// OldSums counts what PruneSums would remove.
func (s *Archive) OldSums(ctx context.Context, before time.Time) (rows int64, err error) {
	cut := view.HourSlot.Start(before).UnixMicro()
	err = s.db.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM ing_work_sum WHERE slot_seconds = ? AND slot_start < ?) + (SELECT COUNT(*) FROM ing_error_sum WHERE slot_start < ?)`,
		hourSeconds, cut, cut).Scan(&rows)
	return rows, kernel.Wrap("count old sums", s.db.Translate(err))
}

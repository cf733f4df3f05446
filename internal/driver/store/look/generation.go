package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Readings lists the readings of a list that is read whole, the newest first, at most
// limit.
func (s *Look) Readings(ctx context.Context, cursorID, before int64, limit int) (out []view.WholeReading, err error) {
	rows, err := s.db.Query(ctx, `SELECT id, cursor_id, COALESCE(unit_name, ''), as_of, state_code, items, last_items, last_kept, vanished, gone, COALESCE(held, ''), COALESCE(why, ''), ended_at
  FROM ing_generation WHERE cursor_id = ? AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?`, cursorID, before, before, limit)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var r view.WholeReading
			var asOf, ended sql.NullInt64
			err := rows.Scan(&r.ID, &r.CursorID, &r.Unit, &asOf, &r.State, &r.Items, &r.Last, &r.LastKept, &r.Vanished, &r.Gone, &r.Held, &r.Why, &ended)
			r.AsOf, r.EndedAt = kernel.Instant(asOf), kernel.Instant(ended)
			out = append(out, r)
			return err
		})
	}
	return out, kernel.Wrap("list readings", s.db.Translate(err))
}

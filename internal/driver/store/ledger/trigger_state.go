package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// FollowSchedule gives the newest tick of a schedule that became a trigger. A
// schedule seen for the first time owes nothing yet: its ticks count from now on,
// also those that come while nobody follows it.
func (s *Ledger) FollowSchedule(ctx context.Context, name string) (last time.Time, err error) {
	const query = "SELECT last_tick FROM ing_schedule_state WHERE schedule_name = ?"
	var tick sql.NullInt64
	known, err := kernel.Found(s.db.QueryRow(ctx, query, name).Scan(&tick))
	if known || err != nil {
		return kernel.Instant(tick), kernel.Wrap("read schedule", s.db.Translate(err))
	}
	err = s.step(ctx, "follow schedule", kernel.Urgent, func(t *tx) error {
		known, err := kernel.Found(t.Row(query, name).Scan(&tick))
		if last = kernel.Instant(tick); known || err != nil {
			return err
		}
		last = t.Now
		_, err = t.Exec("INSERT INTO ing_schedule_state (schedule_name, last_tick, followed_since, updated_at) VALUES (?,?,?,?)",
			name, kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(t.Now))
		return err
	})
	return last, err
}

// TickFired notes that a tick became a trigger. The newest one stays: an older
// tick, or the same again, changes nothing.
func (s *Ledger) TickFired(ctx context.Context, name string, tick time.Time, missed int, trigger int64) error {
	return s.step(ctx, "note fired tick", kernel.Urgent, func(t *tx) error {
		_, err := t.Exec("UPDATE ing_schedule_state SET last_tick = ?, missed = ?, schedule_instance_id = ?, updated_at = ? WHERE schedule_name = ? AND last_tick < ?",
			kernel.Micros(tick), missed, kernel.IDOrNull(trigger), kernel.Micros(t.Now), name, kernel.Micros(tick))
		return err
	})
}

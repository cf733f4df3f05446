package store

import (
	"context"
	"database/sql"
	"time"
)

// FollowSchedule gives the newest tick of a schedule that became a trigger. A
// schedule seen for the first time owes nothing yet: its ticks count from now on,
// also those that come while nobody follows it.
func (s *Store) FollowSchedule(ctx context.Context, name string) (last time.Time, err error) {
	const query = "SELECT last_tick FROM ing_schedule_state WHERE schedule_name = ?"
	var tick sql.NullInt64
	known, err := found(s.queryRow(ctx, query, name).Scan(&tick))
	if known || err != nil {
		return instant(tick), wrap("read schedule", s.translate(err))
	}
	err = s.step(ctx, "follow schedule", urgent, func(t *tx) error {
		known, err := found(t.row(query, name).Scan(&tick))
		if last = instant(tick); known || err != nil {
			return err
		}
		last = t.now
		_, err = t.exec("INSERT INTO ing_schedule_state (schedule_name, last_tick, followed_since, updated_at) VALUES (?,?,?,?)",
			name, micros(t.now), micros(t.now), micros(t.now))
		return err
	})
	return last, err
}

// TickFired notes that a tick became a trigger. The newest one stays: an older
// tick, or the same again, changes nothing.
func (s *Store) TickFired(ctx context.Context, name string, tick time.Time, missed int, trigger int64) error {
	return s.step(ctx, "note fired tick", urgent, func(t *tx) error {
		_, err := t.exec("UPDATE ing_schedule_state SET last_tick = ?, missed = ?, schedule_instance_id = ?, updated_at = ? WHERE schedule_name = ? AND last_tick < ?",
			micros(tick), missed, idOrNull(trigger), micros(t.now), name, micros(tick))
		return err
	})
}

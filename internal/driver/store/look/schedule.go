package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ScheduleStates reads by name what the schedules that a planner ever followed have fired,
// and why the newest tick led to no plan.
func (s *Look) ScheduleStates(ctx context.Context) (map[string]view.ScheduleState, error) {
	rows, err := s.db.Query(ctx, `SELECT t.schedule_name, t.last_tick, t.followed_since, CASE WHEN t.schedule_instance_id IS NULL THEN NULL ELSE t.updated_at END, i.record_remarks
  FROM ing_schedule_state t LEFT JOIN ing_schedule_instance i ON i.id = t.schedule_instance_id`)
	if err != nil {
		return nil, kernel.Wrap("read schedules", s.db.Translate(err))
	}
	out := map[string]view.ScheduleState{}
	return out, kernel.Wrap("read schedules", s.db.Translate(kernel.Each(rows, func() error {
		var name string
		var last, followed, fired sql.NullInt64
		var remarks sql.NullString
		if err := rows.Scan(&name, &last, &followed, &fired, &remarks); err != nil {
			return err
		}
		var noted struct {
			Refused string
			Paused  bool
		}
		if remarks.Valid {
			_ = json.Unmarshal([]byte(remarks.String), &noted) // remarks of another kind refuse nothing
		}
		out[name] = view.ScheduleState{LastTick: kernel.Instant(last), Followed: kernel.Instant(followed), FiredAt: kernel.Instant(fired), Refused: noted.Refused, Paused: noted.Paused}
		return nil
	})))
}

// LastAdvance returns when a watermark of time moved last; zero if the ledger has no such
// event. It is found by walking back from the newest event.
func (s *Look) LastAdvance(ctx context.Context, cursorID int64) (time.Time, error) {
	var at sql.NullInt64
	_, err := kernel.Found(s.db.QueryRow(ctx, `SELECT event_at FROM ing_cursor_event
  WHERE cursor_id = ? AND new_instant IS NOT NULL AND (prev_instant IS NULL OR prev_instant < new_instant) ORDER BY id DESC LIMIT 1`, cursorID).Scan(&at))
	return kernel.Instant(at), kernel.Wrap("read when a cursor moved", s.db.Translate(err))
}

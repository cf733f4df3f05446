package outbox

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// What a look at the events of one source asks, for each of its datasets and each
// state; a test holds them to ranges of an index.
const (
	LaterSQL = "SELECT id FROM ing_outbox_message WHERE status_code = ? AND aggregate_id = ? AND id > ? ORDER BY id LIMIT ?"
	NewerSQL = "SELECT id FROM ing_outbox_message WHERE status_code = ? AND aggregate_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
)

// EventsAfter reads events of a source, or of all, whatever their state, after a
// row; fewer than the limit may be given, none only if there are none.
func (s *Outbox) EventsAfter(ctx context.Context, source string, after int64, limit, size int, room *event.Room) ([]event.Change, error) {
	if source == "" {
		return s.readChanges(ctx, size, room, namedChange+` FROM ing_outbox_message o`+look.DatasetJoin+look.ChangeJoins+`
  WHERE o.id > ? ORDER BY o.id LIMIT ?`, after, limit)
	}
	limit = min(limit, kernel.IDsPerStatement)
	rows, err := s.eventRows(ctx, source, LaterSQL, after, limit)
	if err != nil {
		return nil, kernel.Wrap("look for events", s.db.Translate(err))
	}
	return s.EventsOf(ctx, rows[:min(len(rows), limit)], size, room)
}

// NewestEvents gives the row after which the newest n events of a source come, or
// of all.
func (s *Outbox) NewestEvents(ctx context.Context, source string, n int) (after int64, err error) {
	var rows []int64
	if source == "" {
		rows, err = s.rowsBy(ctx, "SELECT id FROM ing_outbox_message ORDER BY id DESC LIMIT ?", n+1)
		slices.Sort(rows)
	} else {
		rows, err = s.eventRows(ctx, source, NewerSQL, math.MaxInt64, n+1)
	}
	if err != nil || len(rows) <= n {
		return 0, kernel.Wrap("look for newest events", s.db.Translate(err))
	}
	return rows[len(rows)-n-1], nil
}

// eventRows gives rows of the events of a source, sorted: up to a limit of each
// dataset and state, so that those of other sources are not walked through. States
// are asked for in the order in which an event goes through them: one that is
// settled meanwhile is seen, once or twice.
func (s *Outbox) eventRows(ctx context.Context, source, query string, row int64, limit int) (out []int64, err error) {
	lanes, err := s.look.DatasetLanes(ctx, source)
	if err != nil {
		return nil, err
	}
	for _, lane := range lanes {
		for _, status := range event.Statuses() {
			rows, err := s.rowsBy(ctx, query, string(status), lane.DatasetID, row, limit)
			if err != nil {
				return nil, err
			}
			out = append(out, rows...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (s *Outbox) rowsBy(ctx context.Context, query string, args ...any) (out []int64, err error) {
	var rows *sql.Rows
	if rows, err = s.db.Query(ctx, query, args...); err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var row int64
		err := rows.Scan(&row)
		out = append(out, row)
		return err
	})
}

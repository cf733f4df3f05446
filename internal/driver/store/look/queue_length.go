package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// QueueLengths lists how many due tasks waited in the last two days, the oldest first.
func (s *Look) QueueLengths(ctx context.Context) (out []threshold.QueueLength, err error) {
	rows, err := s.db.Query(ctx, "SELECT slot_start, waiting FROM ing_queue_length ORDER BY slot_start")
	if err != nil {
		return nil, kernel.Wrap("list lengths of the queue", s.db.Translate(err))
	}
	return out, kernel.Wrap("list lengths of the queue", kernel.Each(rows, func() error {
		var at sql.NullInt64
		var l threshold.QueueLength
		err := rows.Scan(&at, &l.Waiting)
		l.At = kernel.Instant(at)
		out = append(out, l)
		return err
	}))
}

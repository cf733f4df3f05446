package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// mostCounted is how far the events of a dataset and state are counted: a glance
// must not read an index of millions of rows.
const mostCounted = 20000

// lastAttempts is how many lines of the delivery log of a dataset are looked at for
// what its receivers said last.
const lastAttempts = 20

// What a look at a backlog asks; a test holds each to a range of its index.
const (
	countedOne = "(SELECT COUNT(*) FROM (SELECT id FROM ing_outbox_message WHERE status_code = ? AND aggregate_id = ? LIMIT ?) counted)"
	oldestOne  = `(SELECT COALESCE(next_retry_at, created_at) FROM ing_outbox_message
  WHERE status_code = 'PENDING' AND aggregate_id = ? ORDER BY id LIMIT 1)`
	CountedSQL  = "SELECT " + countedOne + ", " + countedOne + ", " + countedOne + ", " + oldestOne
	LastSaidSQL = `SELECT destination, status_code, COALESCE(error_msg, ''), completed_at FROM ing_outbox_relay_log
  WHERE dataset_id = ? ORDER BY lease_epoch DESC, attempt_no DESC LIMIT ?`
)

// Backlogs tells how the events of every dataset stand, or of those of one source;
// datasets without any that wait, failed or are dead are left out. Each number is a
// range of an index with a limit.
func (s *Look) Backlogs(ctx context.Context, source string) (out []view.Backlog, err error) {
	lanes, err := s.DatasetLanes(ctx, source)
	for _, lane := range lanes {
		if err != nil {
			break
		}
		b := view.Backlog{Source: lane.Source, Endpoint: lane.Endpoint}
		if err = s.readBacklog(ctx, lane.DatasetID, &b); err == nil && !b.IsEmpty() {
			out = append(out, b)
		}
	}
	return out, kernel.Wrap("look at the backlog of events", s.db.Translate(err))
}

// DatasetLanes returns the lanes of events, one a dataset, of one source if named.
func (s *Look) DatasetLanes(ctx context.Context, source string) (out []event.DatasetQueue, err error) {
	rows, err := s.db.Query(ctx, "SELECT id, provenance_code, endpoint_name FROM ing_dataset WHERE (? = '' OR provenance_code = ?) ORDER BY provenance_code, endpoint_name", source, source)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var l event.DatasetQueue
		err := rows.Scan(&l.DatasetID, &l.Source, &l.Endpoint)
		out = append(out, l)
		return err
	})
}

func (s *Look) readBacklog(ctx context.Context, dataset int64, b *view.Backlog) error {
	var args []any
	for _, status := range []event.Status{event.Pending, event.Failed, event.Dead} {
		args = append(args, string(status), dataset, mostCounted+1)
	}
	counts := []*int{&b.Waiting, &b.Failed, &b.Dead}
	var since sql.NullInt64
	if err := s.db.QueryRow(ctx, CountedSQL, append(args, dataset)...).Scan(counts[0], counts[1], counts[2], &since); err != nil {
		return err
	}
	for _, count := range counts {
		if *count > mostCounted {
			*count, b.More = mostCounted, true
		}
	}
	if b.IsEmpty() {
		return nil
	}
	b.Since = kernel.Instant(since)
	return s.lastSaid(ctx, dataset, b)
}

// lastSaid looks up what each receiver of a dataset said last.
func (s *Look) lastSaid(ctx context.Context, dataset int64, b *view.Backlog) error {
	rows, err := s.db.Query(ctx, LastSaidSQL, dataset, lastAttempts)
	if err != nil {
		return err
	}
	heard := map[string]bool{}
	return kernel.Each(rows, func() error {
		var a view.Away
		var outcome event.Outcome
		var tried sql.NullInt64
		if err := rows.Scan(&a.Destination, &outcome, &a.Error, &tried); err != nil {
			return err
		}
		if b.Relayed, a.TriedAt = true, kernel.Instant(tried); !heard[a.Destination] && outcome == event.Deferred {
			b.Away = append(b.Away, a)
		}
		if heard[a.Destination] = true; a.TriedAt.After(b.TriedAt) {
			b.TriedAt = a.TriedAt
		}
		return nil
	})
}

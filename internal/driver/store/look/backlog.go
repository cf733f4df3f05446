package look

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

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
	CountedSQL  = "SELECT ?, " + countedOne + ", " + countedOne + ", " + countedOne + ", " + oldestOne
	LastSaidSQL = `SELECT * FROM (SELECT dataset_id, destination, status_code, COALESCE(error_msg, '') AS said, completed_at, lease_epoch, attempt_no FROM ing_outbox_relay_log
  WHERE dataset_id = ? ORDER BY lease_epoch DESC, attempt_no DESC LIMIT ?) one`
)

// askedTogether is of how many datasets one statement asks: each is a part of it, and databases
// bound how many parts a statement may have.
const askedTogether = 40

// Backlogs tells how the events of every dataset stand, or of those of one source;
// datasets without any that wait, failed or are dead are left out. Each number is a
// range of an index with a limit.
func (s *Look) Backlogs(ctx context.Context, source string) (out []view.Backlog, err error) {
	lanes, err := s.DatasetLanes(ctx, source)
	for some := range slices.Chunk(lanes, askedTogether) {
		if err != nil {
			break
		}
		err = s.readBacklogs(ctx, some, &out)
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

// readBacklogs adds the backlogs of some datasets, those that have one, in their order.
func (s *Look) readBacklogs(ctx context.Context, lanes []event.DatasetQueue, out *[]view.Backlog) error {
	found := make([]view.Backlog, len(lanes))
	var args []any
	for n, lane := range lanes {
		found[n] = view.Backlog{Source: lane.Source, Endpoint: lane.Endpoint}
		args = append(args, n)
		for _, status := range []event.Status{event.Pending, event.Failed, event.Dead} {
			args = append(args, string(status), lane.DatasetID, mostCounted+1)
		}
		args = append(args, lane.DatasetID)
	}
	rows, err := s.db.Query(ctx, kernel.UnionOf(CountedSQL, len(lanes)), args...)
	if err != nil {
		return err
	}
	if err := kernel.Each(rows, func() error { return scanCounted(rows, found) }); err != nil {
		return err
	}
	waiting := map[int64]*view.Backlog{}
	for n, lane := range lanes {
		if !found[n].IsEmpty() {
			waiting[lane.DatasetID] = &found[n]
		}
	}
	if err := s.lastSaid(ctx, waiting); err != nil {
		return err
	}
	*out = append(*out, slices.DeleteFunc(found, view.Backlog.IsEmpty)...)
	return nil
}

// scanCounted reads how many events of a dataset wait, failed and are dead.
func scanCounted(rows *sql.Rows, into []view.Backlog) error {
	var n int
	var waiting, failed, dead int
	var since sql.NullInt64
	if err := rows.Scan(&n, &waiting, &failed, &dead, &since); err != nil {
		return err
	}
	b := &into[n]
	for _, count := range []int{waiting, failed, dead} {
		b.More = b.More || count > mostCounted
	}
	b.Waiting, b.Failed, b.Dead = min(waiting, mostCounted), min(failed, mostCounted), min(dead, mostCounted)
	if !b.IsEmpty() {
		b.Since = kernel.Instant(since)
	}
	return nil
}

// lastSaid looks up what each receiver of some datasets said last.
func (s *Look) lastSaid(ctx context.Context, of map[int64]*view.Backlog) error {
	if len(of) == 0 {
		return nil
	}
	var args []any
	for _, dataset := range slices.Sorted(maps.Keys(of)) {
		args = append(args, dataset, lastAttempts)
	}
	rows, err := s.db.Query(ctx, kernel.UnionOf(LastSaidSQL, len(of)), args...)
	if err != nil {
		return err
	}
	type attempt struct {
		view.Away
		dataset, epoch, no int64
		outcome            event.Outcome
	}
	var all []attempt
	if err := kernel.Each(rows, func() error {
		var a attempt
		var tried sql.NullInt64
		err := rows.Scan(&a.dataset, &a.Destination, &a.outcome, &a.Error, &tried, &a.epoch, &a.no)
		a.TriedAt = kernel.Instant(tried)
		all = append(all, a)
		return err
	}); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(x, y attempt) int { // the newest first: parts of a statement come in any order
		return cmp.Or(cmp.Compare(x.dataset, y.dataset), cmp.Compare(y.epoch, x.epoch), cmp.Compare(y.no, x.no))
	})
	type receiver struct {
		dataset int64
		name    string
	}
	heard := map[receiver]bool{}
	for _, a := range all {
		b, who := of[a.dataset], receiver{a.dataset, a.Destination}
		if b.Relayed = true; !heard[who] && a.outcome == event.Deferred {
			b.Away = append(b.Away, a.Away)
		}
		if heard[who] = true; a.TriedAt.After(b.TriedAt) {
			b.TriedAt = a.TriedAt
		}
	}
	return nil
}

package look

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const outgoingColumns = `SELECT o.id, o.dedup_key, d.provenance_code, d.endpoint_name, o.op_type, COALESCE(o.record_version, 0), o.status_code, o.retry_count, o.next_retry_at,
  COALESCE(o.error_code, ''), COALESCE(o.error_msg, ''), o.created_at, o.published_at, COALESCE(o.body_id, 0), r.provider_id FROM ing_outbox_message o` + DatasetJoin + RecordJoin

// Outgoing lists events of some states, newest first; unless they are named, of that of the
// filter or of all. Each dataset and state is a range of an index: no event that is not
// listed is looked at.
func (s *Look) Outgoing(ctx context.Context, f view.Filter, statuses ...event.Status) (out []view.Outgoing, err error) {
	switch {
	case len(statuses) > 0:
	case f.Status != "":
		statuses = []event.Status{event.Status(f.Status)}
	default:
		statuses = event.Statuses()
	}
	before := f.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	if f.Source == "" && len(statuses) == len(event.Statuses()) { // all there are, in the order of the table
		return s.listOutgoing(ctx, nil, " WHERE o.id < ? ORDER BY o.id DESC LIMIT ?", before, f.Limit)
	}
	datasets, err := s.db.IDs(ctx, "SELECT id FROM ing_dataset WHERE (? = '' OR provenance_code = ?) ORDER BY id", f.Source, f.Source)
	if err != nil {
		return nil, kernel.Wrap("list events", s.db.Translate(err))
	}
	for _, dataset := range datasets {
		for _, status := range statuses {
			out, err = s.listOutgoing(ctx, out, " WHERE o.status_code = ? AND o.aggregate_id = ? AND o.id < ? ORDER BY o.id DESC LIMIT ?", string(status), dataset, before, f.Limit)
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(out, func(a, b view.Outgoing) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), f.Limit)], nil
}

// listOutgoing adds some events to a list.
func (s *Look) listOutgoing(ctx context.Context, out []view.Outgoing, which string, args ...any) ([]view.Outgoing, error) {
	rows, err := s.db.Query(ctx, outgoingColumns+which, args...)
	if err != nil {
		return nil, kernel.Wrap("list events", s.db.Translate(err))
	}
	return out, kernel.Wrap("list events", kernel.Each(rows, func() error {
		v, err := scanOutgoing(rows)
		out = append(out, v)
		return err
	}))
}

// OutgoingEvent reads one event.
func (s *Look) OutgoingEvent(ctx context.Context, id int64) (v view.Outgoing, err error) {
	v, err = scanOutgoing(s.db.QueryRow(ctx, outgoingColumns+" WHERE o.id = ?", id))
	if err = kernel.OrNotFound(err); err != nil {
		return v, fmt.Errorf("event %d: %w", id, s.db.Translate(err))
	}
	return v, nil
}

func scanOutgoing(row kernel.Scanner) (v view.Outgoing, err error) {
	var identity, record []byte
	var next, created, published sql.NullInt64
	var body int64
	err = row.Scan(&v.ID, &identity, &v.Source, &v.Endpoint, &v.Op, &v.Version, &v.Status, &v.Attempts, &next, &v.ErrorCode, &v.Error, &created, &published, &body, &record)
	v.Event, v.RecordID, v.BatchID = hex.EncodeToString(identity), string(record), body>>bodies.Bits
	v.NextTryAt, v.StoredAt, v.PublishedAt = kernel.Instant(next), kernel.Instant(created), kernel.Instant(published)
	return v, err
}

// Deliveries lists attempts of relays, newest first.
func (s *Look) Deliveries(ctx context.Context, f view.Filter) (out []view.Delivery, err error) {
	before := f.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	rows, err := s.db.Query(ctx, `SELECT l.id, d.provenance_code, d.endpoint_name, l.destination, l.status_code, l.first_message_id, l.last_message_id, l.events, l.delivered,
  COALESCE(l.error_code, ''), COALESCE(l.error_msg, ''), l.lease_owner, l.lease_epoch, l.started_at, l.completed_at
  FROM ing_outbox_relay_log l JOIN ing_dataset d ON d.id = l.dataset_id
  WHERE l.id < ? AND (? = '' OR d.provenance_code = ?) AND (? = '' OR l.status_code = ?) ORDER BY l.id DESC LIMIT ?`, before, f.Source, f.Source, f.Status, f.Status, f.Limit)
	if err != nil {
		return nil, kernel.Wrap("list deliveries", s.db.Translate(err))
	}
	return out, kernel.Wrap("list deliveries", kernel.Each(rows, func() error {
		var v view.Delivery
		var started, ended sql.NullInt64
		err := rows.Scan(&v.ID, &v.Source, &v.Endpoint, &v.Destination, &v.Status, &v.First, &v.Last, &v.Events, &v.Delivered, &v.ErrorCode, &v.Error, &v.Relay, &v.Epoch, &started, &ended)
		v.StartedAt, v.EndedAt = kernel.Instant(started), kernel.Instant(ended)
		out = append(out, v)
		return err
	}))
}

// OutboxChannel is where record changes are published.
const OutboxChannel = "records"

// RecordJoin leads from an event to its record: it carries the record's key.
const RecordJoin = " LEFT JOIN ing_record r ON r.dataset_id = o.aggregate_id AND r.id_hash = UNHEX(o.partition_key)"

// ChangeJoins lead from an event to what it tells of. A version may have no row of its
// own (bodies.Frames).
const ChangeJoins = " LEFT JOIN ing_record_body b ON b.body_id = o.body_id" + RecordJoin

// DatasetJoin leads from an event to its dataset.
const DatasetJoin = " JOIN ing_dataset d ON d.id = o.aggregate_id"

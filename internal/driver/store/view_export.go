package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// How much is read in one query: its read snapshot is short, and memory is bounded
// also where records are large (D§5.20).
const (
	exportRows  = 2000
	exportBytes = 16 << 20
)

// exportColumns end with the payload, or with NULL where it is not wanted. The
// join gives a head only where it can matter: the version is the record's newest,
// or the record got a newer one after the range.
const exportColumns = `SELECT b.body_id, r.body_id, r.provider_id, b.version, r.state_code, r.mapping_id, r.merged_into, b.updated_at, b.fetch_at,
  CASE WHEN r.body_id IS NULL THEN NULL ELSE b.fields END, %s FROM ing_record_body b
  LEFT JOIN ing_record r ON b.dataset_id = ? AND r.dataset_id = ? AND r.id_hash = b.id_hash AND (r.body_id = b.body_id OR r.body_id > ?)
  WHERE b.body_id > ? AND b.body_id <= ? ORDER BY b.body_id LIMIT ?`

var (
	exportPlain   = fmt.Sprintf(exportColumns, "NULL, NULL")
	exportPayload = fmt.Sprintf(exportColumns, "CASE WHEN r.body_id IS NULL THEN NULL ELSE b.payload END, b.codec")
)

// ExportPage reads some versions of a range in the order in which they were
// written, behind a version, and says how far it came; end means that nothing is
// left. Bodies of other datasets are passed over, and count for the size of a page.
func (s *Store) ExportPage(ctx context.Context, in export.Range, after int64, use func(*export.Row) error) (next int64, end bool, err error) {
	after = max(after, bodyID(in.After+1, 0)-1)
	last := bodyID(in.Upto+1, 0) - 1
	query := exportPlain
	if in.Payload {
		query = exportPayload
	}
	limit := cmp.Or(in.Rows, exportRows)
	rows, err := s.read.QueryContext(ctx, query, in.DatasetID, in.DatasetID, last, after, last, limit)
	if err != nil {
		return after, false, wrap("export records", s.dialect.Translate(err))
	}
	defer rows.Close()
	var p exporting
	next = after
	for n, bytes := 0, 0; rows.Next(); {
		row, current, err := p.scan(rows)
		if err != nil {
			return next, false, wrap("export records", err)
		}
		if next = row.Body; current {
			if err := s.asOf(ctx, row, last, p.head, p.state); err != nil {
				return next, false, wrap("export records", s.dialect.Translate(err))
			}
			if row.Body != 0 {
				if err := use(row); err != nil {
					return next, false, err
				}
			}
		}
		if n, bytes = n+1, bytes+len(row.Fields)+len(row.Payload); n == limit || bytes > exportBytes {
			return next, false, nil
		}
	}
	if err := rows.Err(); err != nil {
		return next, false, wrap("export records", s.dialect.Translate(err))
	}
	return last, true, nil
}

// exporting is the memory that the rows of a page share.
type exporting struct {
	row   export.Row
	head  int64
	odd   any // what should have been a number
	state sql.RawBytes
	room  event.Room
}

// scan reads a row. Without a head it is of no interest.
func (p *exporting) scan(rows *sql.Rows) (*export.Row, bool, error) {
	p.row = export.Row{}
	var id, merged, fields, payload, codec sql.RawBytes
	var body, head, version, mapping, updated, fetched any // the driver's own numbers: converting six of them costs as much as reading two rows
	if err := rows.Scan(&body, &head, &id, &version, &p.state, &mapping, &merged, &updated, &fetched, &fields, &payload, &codec); err != nil {
		return &p.row, false, err
	}
	r := &p.row
	p.odd = nil
	r.Body, p.head = p.number(body), p.number(head)
	r.Version, r.Batch, r.ID, r.MergedInto, r.MappingID, r.Fields = int(p.number(version)), r.Body>>bodyBits, id, merged, p.number(mapping), fields
	r.UpdatedAt, r.FetchedAt = p.moment(updated), p.moment(fetched)
	if p.odd != nil {
		return r, false, fmt.Errorf("%w: the driver gave %T for a number", fault.ErrInvalid, p.odd)
	}
	if p.head == 0 {
		return r, false, nil
	}
	if payload == nil {
		return r, true, nil
	}
	var err error
	p.room.Reset()
	if r.Payload, err = unpack(payload, string(codec), &p.room); err != nil {
		err = fmt.Errorf("body of %q: %w", r.ID, err)
	}
	return r, true, err
}

// number is an integer as a driver hands it over; NULL is 0. Anything else is noted:
// to take it for 0 would leave a record out.
func (p *exporting) number(v any) int64 {
	n, is := v.(int64)
	if !is && v != nil {
		p.odd = v
	}
	return n
}

// moment reads what micros wrote.
func (p *exporting) moment(v any) time.Time {
	return instant(sql.NullInt64{Int64: p.number(v), Valid: v != nil})
}

// asOf makes of a version what it was when the range ended. Most are the newest of
// their record. Where a newer one was written since, it is found out whether this
// one was the newest then; if not, its Body becomes 0.
func (s *Store) asOf(ctx context.Context, r *export.Row, last, head int64, state sql.RawBytes) error {
	if head == r.Body {
		r.Gone = string(state) == "GONE"
		return nil
	}
	newest := head
	var successor int64
	for newest > last {
		var before sql.NullInt64
		there, err := found(s.read.QueryRowContext(ctx, "SELECT prev_body_id FROM ing_record_body WHERE body_id = ?", newest).Scan(&before))
		if err != nil {
			return err
		}
		if !there || !before.Valid {
			return export.Conflict("versions of %q were removed while they were exported: begin again", r.ID)
		}
		newest, successor = before.Int64, newest
	}
	if newest != r.Body {
		r.Body = 0
		return nil
	}
	r.MergedInto, r.MappingID = nil, 0 // of the newer one
	var err error
	r.Gone, err = s.wasGone(ctx, r, successor)
	return err
}

// wasGone finds out whether a version that was replaced said that its record is
// gone. Its event tells; where that was removed, the one of its successor does: only
// what is there can be removed. Else a version without fields is a tombstone.
func (s *Store) wasGone(ctx context.Context, r *export.Row, successor int64) (bool, error) {
	const query = "SELECT op_type FROM ing_outbox_message WHERE body_id = ? AND channel = ?"
	if r.Version == 1 {
		return false, nil
	}
	var op string
	known, err := found(s.read.QueryRowContext(ctx, query, r.Body, outboxChannel).Scan(&op))
	if known || err != nil {
		return op == string(event.Removed), err
	}
	if known, err = found(s.read.QueryRowContext(ctx, query, successor, outboxChannel).Scan(&op)); err != nil || known && op == string(event.Removed) {
		return false, err
	}
	return len(r.Fields) == 0, nil
}

// ExportDataset finds the dataset of an endpoint.
func (s *Store) ExportDataset(ctx context.Context, source, endpoint string) (id int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", source, endpoint).Scan(&id)
	if err = orNotFound(err); err != nil {
		return 0, fmt.Errorf("dataset %s/%s: %w", source, endpoint, s.dialect.Translate(err))
	}
	return id, nil
}

// MappingHashes gives the fingerprints of mappings, sorted.
func (s *Store) MappingHashes(ctx context.Context, ids []int64) (out []string, err error) {
	for _, id := range ids {
		var hash string
		known, err := found(s.read.QueryRowContext(ctx, "SELECT hash FROM ing_fingerprint WHERE id = ?", id).Scan(&hash))
		if err != nil {
			return nil, wrap("read mappings", s.dialect.Translate(err))
		}
		if known {
			out = append(out, hash)
		}
	}
	return out, nil
}

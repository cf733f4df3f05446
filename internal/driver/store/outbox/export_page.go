package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// How much is read in one query: its read snapshot is short, and memory is bounded
// also where records are large (D§5.20).
const (
	exportRows  = 2000
	exportBytes = 16 << 20
)

// exportColumns end with the payload, or with NULL where it is not wanted. Every
// version comes with its head: one without is damage, and to pass it over would be a
// silent hole. Content comes only where it can matter: the version is the record's
// newest, or the record got a newer one after the range.
const exportColumns = `SELECT b.body_id, b.dataset_id, r.body_id, r.provider_id, b.version, b.prev_body_id, r.state_code, r.mapping_id, r.merged_into,
  b.updated_at, b.fetch_at, CASE WHEN r.body_id = b.body_id OR r.body_id > ? THEN b.fields END, b.codec, %s FROM ing_record_body b
  LEFT JOIN ing_record r ON b.dataset_id = ? AND r.dataset_id = ? AND r.id_hash = b.id_hash
  WHERE b.body_id > ? AND b.body_id <= ? ORDER BY b.body_id LIMIT ?`

var (
	exportPlain   = fmt.Sprintf(exportColumns, "NULL")
	exportPayload = fmt.Sprintf(exportColumns, "CASE WHEN r.body_id = b.body_id OR r.body_id > ? THEN b.payload END")
)

// ExportPage reads some versions of a range in the order in which they were
// written, behind a version, and says how far it came; end means that nothing is
// left. Bodies of other datasets are passed over, and count for the size of a page.
func (s *Outbox) ExportPage(ctx context.Context, in export.Range, after int64, use func(*export.Row) error) (next int64, end bool, err error) {
	after = max(after, bodies.ID(in.After+1, 0)-1)
	last := bodies.ID(in.Upto+1, 0) - 1
	limit := cmp.Or(in.Rows, exportRows)
	query, args := exportPlain, []any{last}
	if in.Payload {
		query, args = exportPayload, []any{last, last}
	}
	done, err := s.db.Nest(ctx)
	if err != nil {
		return after, false, kernel.Wrap("export records", err)
	}
	defer done()
	rows, err := s.db.Query(ctx, query, append(args, in.DatasetID, in.DatasetID, after, last, limit)...)
	if err != nil {
		return after, false, kernel.Wrap("export records", s.db.Translate(err))
	}
	defer rows.Close()
	p := exporting{dataset: in.DatasetID, last: last, payload: in.Payload}
	next = after
	for n, bytes := 0, 0; rows.Next(); {
		row, current, err := p.scanRow(rows)
		if err != nil {
			return next, false, kernel.Wrap("export records", err)
		}
		if row.Body <= next || row.Body > last { // a part of the table is not where it belongs
			return next, false, kernel.Wrap("export records", p.key.Damaged("it is not in its place"))
		}
		if next = row.Body; current {
			if !p.sealed {
				if err := s.bodies.CheckUnsealed(ctx, row.Body); err != nil {
					return next, false, kernel.Wrap("export records", fmt.Errorf("record %q: %w", row.ID, err))
				}
			}
			if err := s.asOf(ctx, row, last, p.head, p.state); err != nil {
				return next, false, kernel.Wrap("export records", s.db.Translate(err))
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
		return next, false, kernel.Wrap("export records", s.db.Translate(err))
	}
	return last, true, nil
}

// exporting is the memory that the rows of a page share.
type exporting struct {
	dataset, last int64
	payload       bool // is wanted
	row           export.Row
	key           bodies.Key
	head          int64
	sealed        bool // the body has checksums
	odd           any  // what should have been a number
	state         sql.RawBytes
	room          event.Room
}

// scanRow reads a row, and reports whether it is of interest: those of other datasets are
// not, nor those that were replaced within the range.
func (p *exporting) scanRow(rows *sql.Rows) (*export.Row, bool, error) {
	p.row = export.Row{}
	var id, merged, fields, payload, codec sql.RawBytes
	var body, dataset, head, version, prev, mapping, updated, fetched any // the driver's own numbers: converting six of them costs as much as reading two rows
	if err := rows.Scan(&body, &dataset, &head, &id, &version, &prev, &p.state, &mapping, &merged, &updated, &fetched, &fields, &codec, &payload); err != nil {
		return &p.row, false, err
	}
	r := &p.row
	p.odd = nil
	r.Body, p.head = p.readNumber(body), p.readNumber(head)
	r.Version, r.Batch, r.ID, r.MergedInto, r.MappingID, r.Fields = int(p.readNumber(version)), r.Body>>bodies.Bits, id, merged, p.readNumber(mapping), fields
	r.UpdatedAt, r.FetchedAt = p.readMoment(updated), p.readMoment(fetched)
	p.key = bodies.Key{ID: r.Body, Dataset: p.readNumber(dataset), Version: int64(r.Version), Prev: p.readNumber(prev), Updated: p.readStamp(updated), Fetched: p.readStamp(fetched)}
	if p.odd != nil {
		return r, false, fmt.Errorf("%w: the driver gave %T for a number", fault.ErrInvalid, p.odd)
	}
	if p.key.Dataset != p.dataset {
		return r, false, nil
	}
	if p.head < r.Body { // no head, or one that knows nothing of this version
		return r, false, p.key.Damaged("its record is missing or says that it has an older version")
	}
	if p.head != r.Body && p.head <= p.last {
		return r, false, nil
	}
	if err := p.checkRow(payload, codec); err != nil {
		return r, false, fmt.Errorf("record %q: %w", r.ID, err)
	}
	return r, true, nil
}

// checkRow holds a row against its checksums and unpacks its item. The key of the record
// is made of its id, so a changed id does not fit either.
func (p *exporting) checkRow(payload, codec []byte) error {
	p.key.Record = record.KeyOf(string(p.row.ID))
	s, err := bodies.ReadSeal(codec)
	if err != nil {
		return err
	}
	p.sealed = s.Sealed
	if err := p.key.CheckRow(p.row.Fields, s); err != nil {
		return err
	}
	if state := string(p.state); state != string(record.Active) && state != string(record.Gone) {
		return p.key.Damaged("its record has a state that does not exist")
	}
	if !p.payload {
		return nil
	}
	packed, err := p.key.CheckPayload(payload, s)
	if err != nil {
		return err
	}
	p.room.Reset()
	if p.row.Payload, err = bodies.Unpack(packed, s.Kind, &p.room); err != nil {
		return p.key.Damaged(err.Error())
	}
	return nil
}

// readNumber returns an integer as a driver hands it over; NULL is 0. Anything else is
// noted: to take it for 0 would leave a record out.
func (p *exporting) readNumber(v any) int64 {
	n, is := v.(int64)
	if !is && v != nil {
		p.odd = v
	}
	return n
}

// readStamp returns an instant as a bodies.Key has it.
func (p *exporting) readStamp(v any) int64 {
	if v == nil {
		return bodies.NoInstant
	}
	return p.readNumber(v)
}

// readMoment reads what micros wrote.
func (p *exporting) readMoment(v any) time.Time {
	return kernel.Instant(sql.NullInt64{Int64: p.readNumber(v), Valid: v != nil})
}

// asOf makes of a version what it was when the range ended. Most are the newest of
// their record. Where a newer one was written since, it is found out whether this
// one was the newest then; if not, its Body becomes 0.
func (s *Outbox) asOf(ctx context.Context, r *export.Row, last, head int64, state sql.RawBytes) error {
	if head == r.Body {
		r.Gone = string(state) == "GONE"
		return nil
	}
	newest := head
	var successor int64
	for newest > last {
		var before sql.NullInt64
		there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT prev_body_id FROM ing_record_body WHERE body_id = ?", newest).Scan(&before))
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
// gone, also the first one. Its event tells; where that was removed, the one of its
// successor does: only what is there can be removed. Else a version without fields is
// a tombstone.
func (s *Outbox) wasGone(ctx context.Context, r *export.Row, successor int64) (bool, error) {
	const query = "SELECT op_type FROM ing_outbox_message WHERE body_id = ? AND channel = ?"
	var op string
	known, err := kernel.Found(s.db.QueryRow(ctx, query, r.Body, look.OutboxChannel).Scan(&op))
	if known || err != nil {
		return op == string(event.Removed), err
	}
	if known, err = kernel.Found(s.db.QueryRow(ctx, query, successor, look.OutboxChannel).Scan(&op)); err != nil || known && op == string(event.Removed) {
		return false, err
	}
	return len(r.Fields) == 0, nil
}

// ExportDataset finds the dataset of an endpoint.
func (s *Outbox) ExportDataset(ctx context.Context, source, endpoint string) (id int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", source, endpoint).Scan(&id)
	if err = kernel.OrNotFound(err); err != nil {
		return 0, fmt.Errorf("dataset %s/%s: %w", source, endpoint, s.db.Translate(err))
	}
	return id, nil
}

// MappingHashes gives the fingerprints of mappings, sorted.
func (s *Outbox) MappingHashes(ctx context.Context, ids []int64) (out []string, err error) {
	for _, id := range ids {
		var hash string
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT hash FROM ing_fingerprint WHERE id = ?", id).Scan(&hash))
		if err != nil {
			return nil, kernel.Wrap("read mappings", s.db.Translate(err))
		}
		if known {
			out = append(out, hash)
		}
	}
	return out, nil
}

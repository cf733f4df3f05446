package outbox

import (
	"cmp"
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// How much is read in one query: its read snapshot is short, and memory is bounded
// also where records are large (D§5.20).
const (
	exportRows  = 4000
	exportBytes = 16 << 20
)

// ExportPage reads some versions of a range in the order in which they were
// written, behind a version, and says how far it came; end means that nothing is
// left. Bodies of other datasets are passed over, and count for the size of a page.
func (s *Outbox) ExportPage(ctx context.Context, in export.Range, after int64, use func(*export.Row) error) (next int64, end bool, err error) {
	after = max(after, bodies.ID(in.After+1, 0)-1)
	last := bodies.ID(in.Upto+1, 0) - 1
	limit := cmp.Or(in.Rows, exportRows)
	part := bodies.FieldsPart
	if in.Payload {
		part = bodies.WholePart
	}
	page, next, end, err := bodies.ReadRange(s.db.Ask(ctx), bodies.Range{After: after, Upto: last, Most: limit, Bytes: exportBytes, Part: part})
	if err != nil {
		return after, false, kernel.Wrap("export records", s.db.Translate(err))
	}
	if in.Heads.Ask() {
		err = s.readAllHeads(ctx, in)
	}
	var heads *exportHeads
	if err == nil {
		heads, err = s.exportHeads(ctx, in, page)
	}
	if err != nil {
		return after, false, kernel.Wrap("export records", s.db.Translate(err))
	}
	p := exporting{last: last, payload: in.Payload}
	for i := range page {
		b := &page[i]
		if b.Dataset != in.DatasetID {
			continue
		}
		head := heads.find(b.Record)
		current, err := p.openVersion(b, head)
		if err == nil && current && !p.sealed {
			if err = s.bodies.CheckUnsealed(ctx, b.ID); err != nil {
				err = fmt.Errorf("record %q: %w", head.id, err)
			}
		}
		if err != nil {
			return b.ID, false, kernel.Wrap("export records", err)
		}
		if !current {
			continue
		}
		if err := s.asOf(ctx, &p.row, last, head); err != nil {
			return b.ID, false, kernel.Wrap("export records", s.db.Translate(err))
		}
		if p.row.Body != 0 {
			if err := use(&p.row); err != nil {
				return b.ID, false, err
			}
		}
	}
	return next, end, nil
}

// exporting is the memory that the versions of a page share.
type exporting struct {
	last    int64
	payload bool // is wanted
	row     export.Row
	sealed  bool // the version has checksums
}

// openVersion makes a row of a version, and reports whether it is of interest: those that
// were replaced within the range are not. Every version has a head: one without is
// damage, and to pass it over would be a silent hole.
func (p *exporting) openVersion(b *bodies.Stored, head *exportHead) (current bool, err error) {
	if head == nil || head.body < b.ID { // no head, or one that knows nothing of this version
		return false, b.Damaged("its record is missing or says that it has an older version")
	}
	if head.body != b.ID && head.body <= p.last {
		return false, nil
	}
	p.row = export.Row{
		Body: b.ID, Batch: b.ID >> bodies.Bits, Version: int(b.Version), ID: head.id, MergedInto: head.merged, MappingID: head.mapping, Fields: b.Fields,
		UpdatedAt: b.UpdatedAt(), FetchedAt: b.FetchedAt(),
	}
	if p.sealed, err = b.CheckFields(head.key); err == nil && p.payload {
		p.row.Payload, _, err = b.Open()
	}
	if err == nil && head.state == "" {
		err = b.Damaged("its record has a state that does not exist")
	}
	if err != nil {
		return false, fmt.Errorf("record %q: %w", head.id, err)
	}
	return true, nil
}

// asOf makes of a version what it was when the range ended. Most are the newest of
// their record. Where a newer one was written since, it is found out whether this
// one was the newest then; if not, its Body becomes 0.
func (s *Outbox) asOf(ctx context.Context, r *export.Row, last int64, head *exportHead) error {
	if head.body == r.Body {
		r.Gone = head.state == record.Gone
		return nil
	}
	newest := head.body
	var successor int64
	for newest > last {
		b, there, err := bodies.Find(s.db.Ask(ctx), newest, bodies.KeyPart)
		if err != nil {
			return err
		}
		if !there || b.Prev == 0 {
			return export.Conflict("versions of %q were removed while they were exported: begin again", r.ID)
		}
		newest, successor = b.Prev, newest
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

// wasGone reports whether a replaced version was a tombstone. Its own event says so. If that
// event was pruned, the event of its successor helps: a successor that removed the record
// means that this version was not a tombstone. Otherwise a version without fields counts as one.
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

package outbox

import (
	"bytes"
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// CountExported counts by the heads how many records an export of a range has to
// have. Versions and heads lie in two places of a database: where one of them is
// damaged so that rows cannot be found any more, no query fails, and only the
// comparison of both can tell.
//
// Heads are read in parts, so that no read snapshot lasts (D§5.20). Harvests may go on:
// a record that changed after the range is followed back to what it was.
func (s *Outbox) CountExported(ctx context.Context, in export.Range) (n int64, err error) {
	low, last := bodies.ID(in.After+1, 0)-1, bodies.ID(in.Upto+1, 0)-1
	after := []byte{}
	for {
		upto, more, err := s.partEnd(ctx, in.DatasetID, after)
		if err != nil {
			return n, kernel.Wrap("count records", s.db.Translate(err))
		}
		var part, older, newer int64
		if err := s.db.QueryRow(ctx, "SELECT COUNT(*), COUNT(CASE WHEN body_id <= ? THEN 1 END), COUNT(CASE WHEN body_id > ? THEN 1 END) FROM ing_record WHERE dataset_id = ? AND id_hash > ? AND id_hash <= ?",
			low, last, in.DatasetID, after, upto).Scan(&part, &older, &newer); err != nil {
			return n, kernel.Wrap("count records", s.db.Translate(err))
		}
		n += part - older - newer
		if newer > 0 {
			were, err := s.countReplaced(ctx, in.DatasetID, after, upto, low, last)
			if err != nil {
				return n, kernel.Wrap("count records", s.db.Translate(err))
			}
			n += were
		}
		if !more {
			return n, nil
		}
		after = upto
	}
}

// partEnd finds the last key of the next part. Only steps of an index lead there, so this takes
// a fraction of the time of the count itself.
func (s *Outbox) partEnd(ctx context.Context, dataset int64, after []byte) (upto []byte, more bool, err error) {
	more, err = kernel.Found(s.db.QueryRow(ctx, "SELECT id_hash FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT 1 OFFSET ?", dataset, after, look.CountRows-1).Scan(&upto))
	if !more {
		upto = bytes.Repeat([]byte{0xff}, len(record.Key{}))
	}
	return upto, more, err
}

// countReplaced counts the records of a part that changed after a range and had a
// version within it.
func (s *Outbox) countReplaced(ctx context.Context, dataset int64, from, to []byte, low, last int64) (n int64, err error) {
	changed, err := s.db.IDs(ctx, "SELECT body_id FROM ing_record WHERE dataset_id = ? AND id_hash > ? AND id_hash <= ? AND body_id > ?", dataset, from, to, last)
	if err != nil {
		return 0, err
	}
	for _, body := range changed {
		for body > last {
			b, there, err := bodies.Find(s.db.Ask(ctx), body, bodies.KeyPart)
			if err != nil {
				return 0, err
			}
			if !there {
				return 0, fmt.Errorf("version with body %d: %w", body, export.Conflict("versions were removed while they were exported: begin again"))
			}
			body = b.Prev
		}
		if body > low {
			n++
		}
	}
	return n, nil
}

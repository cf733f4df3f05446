package outbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/export"
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
		var looked, within, newer int64
		var reached []byte
		err := s.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(body_id > ? AND body_id <= ?), 0), COALESCE(SUM(body_id > ?), 0), MAX(id_hash) FROM (
  SELECT id_hash, body_id FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?) part`, low, last, last, in.DatasetID, after, look.CountRows).
			Scan(&looked, &within, &newer, &reached)
		if err != nil {
			return n, kernel.Wrap("count records", s.db.Translate(err))
		}
		n += within
		if newer > 0 {
			were, err := s.countReplaced(ctx, in.DatasetID, after, reached, low, last)
			if err != nil {
				return n, kernel.Wrap("count records", s.db.Translate(err))
			}
			n += were
		}
		if looked < look.CountRows {
			return n, nil
		}
		after = slices.Clone(reached)
	}
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

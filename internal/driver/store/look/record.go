package look

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Records reads the records of an endpoint in key order, after a key, so that a
// scan of any length holds neither memory nor a read snapshot (D§5.20).
func (s *Look) Records(ctx context.Context, source, endpoint string, after []byte, limit int) (out []view.Record, err error) {
	if after == nil {
		after = []byte{}
	}
	rows, err := s.db.Query(ctx, `SELECT r.id_hash, r.provider_id, r.version, r.state_code, r.updated_at, r.fetch_at, r.refresh_checked_at, r.missing_since,
  COALESCE(r.merged_into, ''), r.body_id FROM ing_record r
  WHERE r.dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?) AND r.id_hash > ? ORDER BY r.id_hash LIMIT ?`,
		source, endpoint, after, limit)
	if err != nil {
		return nil, kernel.Wrap("read records", s.db.Translate(err))
	}
	at := map[int64]int{} // where the record of a version stands
	var ids []int64
	err = kernel.Each(rows, func() error {
		var r view.Record
		var updated, fetch, checked, missing sql.NullInt64
		var body int64
		if err := rows.Scan(&r.Key, &r.ID, &r.Version, &r.State, &updated, &fetch, &checked, &missing, &r.MergedInto, &body); err != nil {
			return err
		}
		r.CheckedAt, r.MissingSince = kernel.Instant(checked), kernel.Instant(missing)
		r.UpdatedAt, r.FetchAt = kernel.Instant(updated), kernel.Instant(fetch)
		at[body], ids, out = len(out), append(ids, body), append(out, r)
		return nil
	})
	if err == nil {
		out, err = s.addContent(ctx, out, at, ids)
	}
	return out, kernel.Wrap("read records", s.db.Translate(err))
}

// addContent reads the current versions of records. A record without one is left out:
// it cannot be shown, and a check reports it.
func (s *Look) addContent(ctx context.Context, out []view.Record, at map[int64]int, ids []int64) ([]view.Record, error) {
	var unsealed bodies.Unsealed
	found := make([]bool, len(out))
	err := bodies.FindMany(s.db.Ask(ctx), ids, bodies.WholePart, func(b bodies.Stored) error {
		r := &out[at[b.ID]]
		item, seal, err := b.Open()
		if err != nil {
			return fmt.Errorf("record %q: %w", r.ID, err)
		}
		if !seal.Sealed {
			unsealed.Add(r.ID, b.ID)
		}
		r.Fields, r.Payload, found[at[b.ID]] = b.Fields, item, true
		return nil
	})
	if err == nil {
		err = unsealed.Check(ctx, s.bodies)
	}
	kept := out[:0]
	for i, there := range found {
		if there {
			kept = append(kept, out[i])
		}
	}
	return kept, err
}

// Quarantine reads rejected items of a source, oldest first, after an id.
func (s *Look) Quarantine(ctx context.Context, source string, after int64, limit int) (out []view.Rejected, err error) {
	rows, err := s.db.Query(ctx, `SELECT id, COALESCE(provider_id, ''), reason_code, COALESCE(path, ''), COALESCE(detail, ''), raw_hash, raw, codec, created_at, batch_id
  FROM ing_quarantine WHERE provenance_code = ? AND id > ? ORDER BY id LIMIT ?`, source, after, limit)
	if err != nil {
		return nil, kernel.Wrap("read quarantine", s.db.Translate(err))
	}
	return out, kernel.Wrap("read quarantine", kernel.Each(rows, func() error {
		var r view.Rejected
		var raw []byte
		var codec string
		var created sql.NullInt64
		if err := rows.Scan(&r.ID, &r.ProviderID, &r.Reason, &r.Path, &r.Detail, &r.RawHash, &raw, &codec, &created, &r.BatchID); err != nil {
			return err
		}
		r.CreatedAt = kernel.Instant(created)
		if r.Raw, err = bodies.OpenReject(r.ID, raw, codec, r.RawHash); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	}))
}

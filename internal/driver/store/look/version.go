package look

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Datasets lists the endpoints of a source that have records, or had some.
func (s *Look) Datasets(ctx context.Context, source string) (out []view.Dataset, err error) {
	rows, err := s.db.Query(ctx, "SELECT id, provenance_code, endpoint_name FROM ing_dataset WHERE provenance_code = ? ORDER BY endpoint_name", source)
	if err != nil {
		return nil, kernel.Wrap("list datasets", s.db.Translate(err))
	}
	return out, kernel.Wrap("list datasets", kernel.Each(rows, func() error {
		var d view.Dataset
		err := rows.Scan(&d.ID, &d.Source, &d.Endpoint)
		out = append(out, d)
		return err
	}))
}

// Head reads what is current of a record, and the id of its newest version.
func (s *Look) Head(ctx context.Context, d view.Dataset, id string) (r view.Record, body int64, err error) {
	key := record.KeyOf(id)
	var updated, fetch, checked, missing sql.NullInt64
	err = s.db.QueryRow(ctx, `SELECT provider_id, version, state_code, updated_at, fetch_at, refresh_checked_at, missing_since, COALESCE(merged_into, ''), body_id
  FROM ing_record WHERE dataset_id = ? AND id_hash = ?`, d.ID, key[:]).Scan(&r.ID, &r.Version, &r.State, &updated, &fetch, &checked, &missing, &r.MergedInto, &body)
	if err == nil && r.ID != id { // another one with the same hash, or a damaged one
		if err = bodies.CheckHead(key, r.ID, r.State); err == nil {
			err = sql.ErrNoRows
		}
	}
	if err == nil {
		err = bodies.CheckHead(key, r.ID, r.State)
	}
	if err = kernel.OrNotFound(err); err != nil {
		return r, 0, fmt.Errorf("record %q: %w", id, s.db.Translate(err))
	}
	r.UpdatedAt, r.FetchAt, r.CheckedAt, r.MissingSince, r.Key = kernel.Instant(updated), kernel.Instant(fetch), kernel.Instant(checked), kernel.Instant(missing), key[:]
	return r, body, nil
}

// VersionsOf follows a record's versions from one of them back, newest first, up to
// a number of them. It ends where one was removed.
func (s *Look) VersionsOf(ctx context.Context, body int64, limit int) (out []view.Version, err error) {
	for body != 0 && len(out) < limit {
		v, err := s.readVersion(ctx, body)
		if err != nil {
			return nil, kernel.Wrap("read versions", s.db.Translate(err))
		}
		if v == nil {
			break
		}
		if n := len(out); n > 0 && (!bytes.Equal(v.Key, out[0].Key) || v.Version != out[n-1].Version-1) {
			return nil, fmt.Errorf("%w: version %d (body %d) names body %d as the one before it, which is version %d of another record or in another place; %s",
				fault.ErrDamaged, out[n-1].Version, out[n-1].Body, v.Body, v.Version, bodies.DamageNext)
		}
		out = append(out, *v)
		body = v.Prev
	}
	return out, nil
}

// OldestOf returns the oldest version that can still be reached from one.
func (s *Look) OldestOf(ctx context.Context, body int64) (version int, err error) {
	for body != 0 {
		b, there, err := bodies.Find(s.db.Ask(ctx), body, bodies.KeyPart)
		if err != nil {
			return 0, kernel.Wrap("read versions", s.db.Translate(err))
		}
		if !there {
			break
		}
		version, body = int(b.Version), b.Prev
	}
	return version, nil
}

func (s *Look) readVersion(ctx context.Context, body int64) (*view.Version, error) {
	v := view.Version{Body: body, Events: []view.Outgoing{}}
	b, there, err := bodies.Find(s.db.Ask(ctx), body, bodies.WholePart)
	if err != nil || !there {
		return nil, err
	}
	v.Version, v.Prev, v.UpdatedAt, v.FetchedAt, v.Fields = int(b.Version), b.Prev, b.UpdatedAt(), b.FetchedAt(), b.Fields
	v.Origin, v.Key = view.Origin{BatchID: body >> bodies.Bits, Where: view.Missing}, b.Record[:]
	var seal bodies.Seal
	if v.Raw, seal, err = b.Open(); err == nil && !seal.Sealed {
		err = s.bodies.CheckContent(ctx, &b, v.Raw)
	}
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", v.Version, err)
	}
	v.Bytes = len(v.Raw)
	return &v, nil
}

// OutgoingOf reads the event of a version; none may be left of it. The count needs
// no other table: an event that only the count sees has lost its dataset.
func (s *Look) OutgoingOf(ctx context.Context, body int64) (out []view.Outgoing, err error) {
	rows, err := s.db.Query(ctx, outgoingColumns+" WHERE o.body_id = ? ORDER BY o.id", body)
	if err != nil {
		return nil, kernel.Wrap("read events of a version", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		v, err := scanOutgoing(rows)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, kernel.Wrap("read events of a version", err)
	}
	var n int
	if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_outbox_message WHERE body_id = ?", body).Scan(&n); err != nil {
		return nil, kernel.Wrap("count events of a version", s.db.Translate(err))
	}
	if n > len(out) {
		return nil, fmt.Errorf("%w: body %d has %d events, and the dataset of %d of them is not in the database; %s", fault.ErrDamaged, body, n, n-len(out), bodies.DamageNext)
	}
	return out, nil
}

// OriginOf tells what wrote a batch. fault.ErrNotFound means that it left the
// database, or is about to: a plan goes to its archive before its batches are
// removed. A batch that stands without its plan, mapping or evidence otherwise is
// damage, and its lineage is not told in part (I8).
func (s *Look) OriginOf(ctx context.Context, batchID int64) (o view.Origin, err error) {
	var spec, mapping, kept sql.NullString
	var evidence, archived sql.NullInt64
	err = s.db.QueryRow(ctx, `SELECT b.plan_id, b.slice_id, b.task_id, b.run_id, b.id, b.batch_no, b.operation_code, p.spec_fingerprint, f.hash, e.batch_id, e.blob_ref, a.archive_id
  FROM ing_task_run_batch b LEFT JOIN ing_plan p ON p.id = b.plan_id LEFT JOIN ing_fingerprint f ON f.id = p.mapping_id
  LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id LEFT JOIN ing_archived_plan a ON a.plan_id = b.plan_id WHERE b.id = ?`, batchID).
		Scan(&o.PlanID, &o.SliceID, &o.TaskID, &o.RunID, &o.BatchID, &o.BatchNo, &o.Operation, &spec, &mapping, &evidence, &kept, &archived)
	if err = kernel.OrNotFound(err); err != nil {
		return view.Origin{}, fmt.Errorf("batch %d: %w", batchID, s.db.Translate(err))
	}
	if !spec.Valid && archived.Valid {
		return view.Origin{}, fmt.Errorf("batch %d: %w: its plan is in archive %d", batchID, fault.ErrNotFound, archived.Int64)
	}
	for _, part := range []struct {
		name  string
		whole bool
	}{
		{"plan", isHash(spec.String)}, {"mapping", isHash(mapping.String)},
		{"evidence", evidence.Valid}, {"kept answer", !kept.Valid || isHash(kept.String)},
	} {
		if !part.whole {
			return view.Origin{}, fmt.Errorf("batch %d: %w: its %s is missing or damaged; %s", batchID, fault.ErrDamaged, part.name, bodies.DamageNext)
		}
	}
	o.Spec, o.Mapping, o.Raw, o.Where = spec.String, mapping.String, kept.String, view.Here
	return o, nil
}

// isHash tells whether a text is the hexadecimal form of a SHA-256.
func isHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// CountRows is how many records are counted in one query.
const CountRows = 50_000

// CountRecords counts the records of an endpoint by state, in parts, so that no read
// snapshot lasts (D§5.20).
func (s *Look) CountRecords(ctx context.Context, d view.Dataset) (active, gone int64, err error) {
	after := []byte{}
	for {
		var n, dead int64
		var last []byte
		err := s.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(state_code = 'GONE'), 0), MAX(id_hash) FROM (
  SELECT id_hash, state_code FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?) part`, d.ID, after, CountRows).Scan(&n, &dead, &last)
		if err != nil {
			return 0, 0, kernel.Wrap("count records", s.db.Translate(err))
		}
		if active, gone = active+n-dead, gone+dead; n < CountRows {
			return active, gone, nil
		}
		after = slices.Clone(last)
	}
}

// Listed reads some records without their content, in key order, behind an id.
func (s *Look) Listed(ctx context.Context, d view.Dataset, after string, limit int) (out []view.Record, err error) {
	from := []byte{}
	if after != "" {
		key := record.KeyOf(after)
		from = key[:]
	}
	rows, err := s.db.Query(ctx, `SELECT id_hash, provider_id, version, state_code, updated_at, fetch_at, COALESCE(merged_into, '') FROM ing_record
  WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?`, d.ID, from, limit)
	if err != nil {
		return nil, kernel.Wrap("list records", s.db.Translate(err))
	}
	return out, kernel.Wrap("list records", kernel.Each(rows, func() error {
		var r view.Record
		var key []byte
		var updated, fetch sql.NullInt64
		err := rows.Scan(&key, &r.ID, &r.Version, &r.State, &updated, &fetch, &r.MergedInto)
		if err == nil {
			err = bodies.CheckHead(record.Key(key), r.ID, r.State)
		}
		r.UpdatedAt, r.FetchAt = kernel.Instant(updated), kernel.Instant(fetch)
		out = append(out, r)
		return err
	}))
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Datasets lists the endpoints of a source that have records, or had some.
func (s *Store) Datasets(ctx context.Context, source string) (out []view.Dataset, err error) {
	rows, err := s.query(ctx, "SELECT id, provenance_code, endpoint_name FROM ing_dataset WHERE provenance_code = ? ORDER BY endpoint_name", source)
	if err != nil {
		return nil, wrap("list datasets", s.translate(err))
	}
	return out, wrap("list datasets", each(rows, func() error {
		var d view.Dataset
		err := rows.Scan(&d.ID, &d.Source, &d.Endpoint)
		out = append(out, d)
		return err
	}))
}

// Head reads what is current of a record, and the id of its newest version.
func (s *Store) Head(ctx context.Context, d view.Dataset, id string) (r view.Record, body int64, err error) {
	key := record.KeyOf(id)
	var updated, fetch, checked, missing sql.NullInt64
	err = s.queryRow(ctx, `SELECT provider_id, version, state_code, updated_at, fetch_at, refresh_checked_at, missing_since, COALESCE(merged_into, ''), body_id
  FROM ing_record WHERE dataset_id = ? AND id_hash = ?`, d.ID, key[:]).Scan(&r.ID, &r.Version, &r.State, &updated, &fetch, &checked, &missing, &r.MergedInto, &body)
	if err == nil && r.ID != id { // another one with the same hash, or a damaged one
		if err = checkHead(key, r.ID, r.State); err == nil {
			err = sql.ErrNoRows
		}
	}
	if err == nil {
		err = checkHead(key, r.ID, r.State)
	}
	if err = orNotFound(err); err != nil {
		return r, 0, fmt.Errorf("record %q: %w", id, s.translate(err))
	}
	r.UpdatedAt, r.FetchAt, r.CheckedAt, r.MissingSince, r.Key = instant(updated), instant(fetch), instant(checked), instant(missing), key[:]
	return r, body, nil
}

// VersionsOf follows a record's versions from one of them back, newest first, up to
// a number of them. It ends where one was removed.
func (s *Store) VersionsOf(ctx context.Context, body int64, limit int) (out []view.Version, err error) {
	for body != 0 && len(out) < limit {
		v, err := s.version(ctx, body)
		if err != nil {
			return nil, wrap("read versions", s.translate(err))
		}
		if v == nil {
			break
		}
		if n := len(out); n > 0 && (!bytes.Equal(v.Key, out[0].Key) || v.Version != out[n-1].Version-1) {
			return nil, fmt.Errorf("%w: version %d (body %d) names body %d as the one before it, which is version %d of another record or in another place; %s",
				fault.ErrDamaged, out[n-1].Version, out[n-1].Body, v.Body, v.Version, damageNext)
		}
		out = append(out, *v)
		body = v.Prev
	}
	return out, nil
}

// OldestOf is the oldest version that can still be reached from one.
func (s *Store) OldestOf(ctx context.Context, body int64) (version int, err error) {
	for body != 0 {
		var v int
		var prev sql.NullInt64
		there, err := found(s.queryRow(ctx, "SELECT version, prev_body_id FROM ing_record_body WHERE body_id = ?", body).Scan(&v, &prev))
		if err != nil {
			return 0, wrap("read versions", s.translate(err))
		}
		if !there {
			break
		}
		version, body = v, prev.Int64
	}
	return version, nil
}

func (s *Store) version(ctx context.Context, body int64) (*view.Version, error) {
	v := view.Version{Body: body, Events: []view.Outgoing{}}
	b, err := scanBody(s.queryRow(ctx, "SELECT "+bodyColumns+" FROM ing_record_body WHERE body_id = ?", body))
	if there, err := found(err); err != nil || !there {
		return nil, err
	}
	v.Version, v.Prev, v.UpdatedAt, v.FetchedAt, v.Fields = int(b.version), b.prev, b.updatedAt(), b.fetchedAt(), b.fields
	v.Origin, v.Key = view.Origin{BatchID: body >> bodyBits, Where: view.Missing}, b.record[:]
	var seal bodySeal
	if v.Raw, seal, err = b.open(); err == nil && !seal.sealed {
		err = s.checkContent(ctx, &b, v.Raw)
	}
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", v.Version, err)
	}
	v.Bytes = len(v.Raw)
	return &v, nil
}

// OutgoingOf reads the event of a version; none may be left of it.
func (s *Store) OutgoingOf(ctx context.Context, body int64) (out []view.Outgoing, err error) {
	rows, err := s.query(ctx, outgoingColumns+" WHERE o.body_id = ? ORDER BY o.id", body)
	if err != nil {
		return nil, wrap("read events of a version", s.translate(err))
	}
	return out, wrap("read events of a version", each(rows, func() error {
		v, err := scanOutgoing(rows)
		out = append(out, v)
		return err
	}))
}

// OriginOf tells what wrote a batch. fault.ErrNotFound means that it left the
// database.
func (s *Store) OriginOf(ctx context.Context, batchID int64) (o view.Origin, err error) {
	var kept sql.NullString
	err = s.queryRow(ctx, `SELECT b.plan_id, b.slice_id, b.task_id, b.run_id, b.id, b.batch_no, b.operation_code, COALESCE(p.spec_fingerprint, ''),
  COALESCE(f.hash, ''), e.blob_ref
  FROM ing_task_run_batch b LEFT JOIN ing_plan p ON p.id = b.plan_id LEFT JOIN ing_fingerprint f ON f.id = p.mapping_id
  LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id WHERE b.id = ?`, batchID).
		Scan(&o.PlanID, &o.SliceID, &o.TaskID, &o.RunID, &o.BatchID, &o.BatchNo, &o.Operation, &o.Spec, &o.Mapping, &kept)
	if err = orNotFound(err); err != nil {
		return view.Origin{}, fmt.Errorf("batch %d: %w", batchID, s.translate(err))
	}
	o.Raw, o.Where = kept.String, view.Here
	return o, nil
}

// countRows is how many records are counted in one query.
const countRows = 50_000

// CountRecords counts the records of an endpoint by state, in parts, so that no read
// snapshot lasts (D§5.20).
func (s *Store) CountRecords(ctx context.Context, d view.Dataset) (active, gone int64, err error) {
	after := []byte{}
	for {
		var n, dead int64
		var last []byte
		err := s.queryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(state_code = 'GONE'), 0), MAX(id_hash) FROM (
  SELECT id_hash, state_code FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?) part`, d.ID, after, countRows).Scan(&n, &dead, &last)
		if err != nil {
			return 0, 0, wrap("count records", s.translate(err))
		}
		if active, gone = active+n-dead, gone+dead; n < countRows {
			return active, gone, nil
		}
		after = slices.Clone(last)
	}
}

// Listed reads some records without their content, in key order, behind an id.
func (s *Store) Listed(ctx context.Context, d view.Dataset, after string, limit int) (out []view.Record, err error) {
	from := []byte{}
	if after != "" {
		key := record.KeyOf(after)
		from = key[:]
	}
	rows, err := s.query(ctx, `SELECT id_hash, provider_id, version, state_code, updated_at, fetch_at, COALESCE(merged_into, '') FROM ing_record
  WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?`, d.ID, from, limit)
	if err != nil {
		return nil, wrap("list records", s.translate(err))
	}
	return out, wrap("list records", each(rows, func() error {
		var r view.Record
		var key []byte
		var updated, fetch sql.NullInt64
		err := rows.Scan(&key, &r.ID, &r.Version, &r.State, &updated, &fetch, &r.MergedInto)
		if err == nil {
			err = checkHead(record.Key(key), r.ID, r.State)
		}
		r.UpdatedAt, r.FetchAt = instant(updated), instant(fetch)
		out = append(out, r)
		return err
	}))
}

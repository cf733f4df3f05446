package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// BatchOf finds a batch by its run and its number in it.
func (s *Look) BatchOf(ctx context.Context, runID int64, no int) (id int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT id FROM ing_task_run_batch WHERE run_id = ? AND batch_no = ?", runID, no).Scan(&id)
	return id, kernel.Wrap("find batch", s.db.Translate(kernel.OrNotFound(err)))
}

// Box returns all that is stored of a batch, with the snapshot it ran under
// (§14.9). Heads are not in it; see HeadsOf.
func (s *Look) Box(ctx context.Context, batchID int64) (*blackbox.Box, error) {
	b := &blackbox.Box{}
	var err error
	if b.Batch, err = s.Batch(ctx, batchID); err != nil {
		return nil, err
	}
	if err := s.boxKeys(ctx, b); err != nil {
		return nil, kernel.Wrap("open black box", s.db.Translate(kernel.OrNotFound(err)))
	}
	return b, kernel.Wrap("open black box", s.db.Translate(s.fillBox(ctx, b)))
}

// ArchivedBox returns the black box of a batch that left the database with its
// plan. Snapshot, records and rejects are still here; events of its slice that
// left too are not in it.
func (s *Look) ArchivedBox(ctx context.Context, in retention.BatchContext) (*blackbox.Box, error) {
	b := &blackbox.Box{Batch: in.Batch, PageSize: in.PageSize, Slice: in.Slice, Window: in.Window, Endpoint: in.Endpoint, MappingID: in.MappingID}
	b.Keys = blackbox.Keys{
		BatchKey: in.BatchKey, SpecFingerprint: in.SpecFingerprint, ExprProtoHash: in.ExprProtoHash, ExprHash: in.ExprHash, SliceSignature: in.SliceSignature,
	}
	b.Keys.ScheduleID = in.ScheduleID
	var snapshot string
	err := s.db.QueryRow(ctx, "SELECT d.dataset_id, f.snapshot FROM ing_partition d, ing_spec_snapshot f WHERE d.id = ? AND f.spec_fingerprint = ?", in.PartitionID, in.SpecFingerprint).
		Scan(&b.DatasetID, &snapshot)
	if err == nil {
		err = addKeys(b, snapshot)
	}
	if err == nil {
		err = s.fillBox(ctx, b)
	}
	return b, kernel.Wrap("open archived black box", s.db.Translate(kernel.OrNotFound(err)))
}

// fillBox adds what a batch did.
func (s *Look) fillBox(ctx context.Context, b *blackbox.Box) (err error) {
	if b.Written, err = s.writtenBy(ctx, b); err != nil {
		return err
	}
	if b.Rejects, err = s.rejectedBy(ctx, b.Batch.ID); err != nil {
		return err
	}
	return s.boxEvents(ctx, b)
}

func (s *Look) boxKeys(ctx context.Context, b *blackbox.Box) error {
	var size, from, to sql.NullInt64
	var slice, snapshot string
	k := &b.Keys
	err := s.db.QueryRow(ctx, `SELECT b.page_size, b.idempotent_key, s.slice_spec, s.window_from, s.window_to, s.slice_signature_hash, s.expr_hash,
  p.schedule_instance_id, p.expr_proto_hash, p.mapping_id, p.endpoint_name, d.dataset_id, t.spec_fingerprint, f.snapshot
  FROM ing_task_run_batch b JOIN ing_plan_slice s ON s.id = b.slice_id JOIN ing_plan p ON p.id = b.plan_id JOIN ing_task t ON t.id = b.task_id
  JOIN ing_partition d ON d.id = p.partition_id JOIN ing_spec_snapshot f ON f.spec_fingerprint = t.spec_fingerprint WHERE b.id = ?`, b.Batch.ID).
		Scan(&size, &k.BatchKey, &slice, &from, &to, &k.SliceSignature, &k.ExprHash, &k.ScheduleID, &k.ExprProtoHash, &b.MappingID, &b.Endpoint, &b.DatasetID,
			&k.SpecFingerprint, &snapshot)
	if err != nil {
		return err
	}
	b.PageSize, b.Slice, b.Window = int(size.Int64), json.RawMessage(slice), window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
	return addKeys(b, snapshot)
}

// addKeys adds the keys that follow from the batch, and the snapshot.
func addKeys(b *blackbox.Box, snapshot string) error {
	k := &b.Keys
	k.PlanID, k.SliceID, k.TaskID, k.RunID, k.BatchID, k.BatchNo = b.Batch.PlanID, b.Batch.SliceID, b.Batch.TaskID, b.Batch.RunID, b.Batch.ID, b.Batch.No
	k.Correlation = fmt.Sprintf("ing-%d-%d", k.RunID, k.BatchNo)
	canonical := jsontext.Value(snapshot) // a server may write JSON in its own way
	if err := canonical.Canonicalize(); err != nil {
		return fmt.Errorf("snapshot %s: %w", k.SpecFingerprint, err)
	}
	b.Snapshot = canonical
	return nil
}

// writtenBy returns the versions a batch wrote: their ids begin with the batch's.
func (s *Look) writtenBy(ctx context.Context, b *blackbox.Box) (out []blackbox.Written, err error) {
	rows, err := s.db.Query(ctx, `SELECT r.provider_id, y.body_id, y.dataset_id, y.id_hash, y.version, y.prev_body_id, y.updated_at, y.fetch_at, y.fields, y.codec,
  r.body_id = y.body_id, r.state_code, COALESCE(o.op_type, '')
  FROM ing_record_body y JOIN ing_record r ON r.dataset_id = y.dataset_id AND r.id_hash = y.id_hash
  LEFT JOIN ing_outbox_message o ON o.channel = ? AND o.body_id = y.body_id
  WHERE y.body_id >= ? AND y.body_id < ? ORDER BY y.body_id`, OutboxChannel, bodies.ID(b.Batch.ID, 0), bodies.ID(b.Batch.ID+1, 0))
	if err != nil {
		return nil, err
	}
	var unsealed bodies.Unsealed
	err = kernel.Each(rows, func() error {
		var w blackbox.Written
		var row bodies.RowScan
		var k bodies.Key
		var fields []byte
		var codec, op string
		var current bool
		var state record.State
		if err := rows.Scan(append(append([]any{&w.ID}, row.Places(&k)...), &fields, &codec, &current, &state, &op)...); err != nil {
			return err
		}
		if err := row.Fill(&k); err != nil {
			return err
		}
		sealed, err := bodies.CheckFields(k, record.KeyOf(w.ID), fields, codec)
		if err != nil {
			return fmt.Errorf("record %q: %w", w.ID, err)
		}
		if !sealed {
			unsealed.Add(w.ID, k.ID)
		}
		w.Version, w.UpdatedAt, w.FetchAt, w.Fields = int(k.Version), k.UpdatedAt(), k.FetchedAt(), fields
		switch {
		case op == "REMOVED":
			w.Action = record.Remove
		case op == "UPDATED":
			w.Action = record.Update
		case current && (w.Version > 1 || state == record.Gone):
			w.Action = blackbox.ActionOf(state)
		case w.Version == 1 && (op == "INSERTED" || len(w.Fields) > 0):
			w.Action = record.Insert
		}
		out = append(out, w)
		return nil
	})
	if err == nil {
		err = unsealed.Check(ctx, s.bodies)
	}
	return out, err
}

func (s *Look) rejectedBy(ctx context.Context, batchID int64) (out []blackbox.Rejected, err error) {
	// What another batch read again says no longer what this one said of it.
	const columns = "SELECT id, reject_key, COALESCE(provider_id, ''), reason_code, COALESCE(path, ''), item_index FROM ing_quarantine WHERE "
	rows, err := s.db.Query(ctx, columns+"batch_id = ? AND judged_batch_id IS NULL UNION ALL "+columns+"judged_batch_id = ? AND status_code <> 'RESOLVED' ORDER BY 1", batchID, batchID)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var r blackbox.Rejected
		var id int64
		err := rows.Scan(&id, &r.Key, &r.ProviderID, &r.Reason, &r.Path, &r.Index)
		out = append(out, r)
		return err
	})
}

// boxEventsMost is how many cursor events of a slice a box holds.
const boxEventsMost = 100

func (s *Look) boxEvents(ctx context.Context, b *blackbox.Box) error {
	rows, err := s.db.Query(ctx, eventColumns+` WHERE schedule_instance_id = ? AND plan_id = ? AND slice_id = ? AND task_id = ? ORDER BY id LIMIT ?`,
		b.Keys.ScheduleID, b.Keys.PlanID, b.Keys.SliceID, b.Keys.TaskID, boxEventsMost)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		e, err := scanEvent(rows)
		b.Events = append(b.Events, e)
		return err
	})
}

// HeadsOf reads stored records by their ids, each with the batch that wrote it.
func (s *Look) HeadsOf(ctx context.Context, datasetID int64, ids []string) (out []blackbox.Head, err error) {
	type named struct {
		id  string
		key record.Key
	}
	items := make([]named, len(ids))
	for i, id := range ids {
		items[i] = named{id, record.KeyOf(id)}
	}
	slices.SortFunc(items, func(a, b named) int { return slices.Compare(a.key[:], b.key[:]) })
	stored, err := ReadHeads(datasetID, items, func(n *named) *record.Key { return &n.key }, func(query string, args ...any) (*sql.Rows, error) { return s.db.Query(ctx, query, args...) })
	if err != nil {
		return nil, kernel.Wrap("read heads", s.db.Translate(err))
	}
	for _, item := range items {
		h := stored[item.key]
		if h == nil || h.ProviderID != item.id {
			continue
		}
		out = append(out, blackbox.Head{
			ID: h.ProviderID, BatchID: h.BodyID >> bodies.Bits, Version: h.Version, UpdatedAt: h.UpdatedAt, FetchAt: h.FetchAt, SourceVersion: h.SourceVersion,
			ContentHash: slices.Clone(h.ContentHash[:]), State: h.State, MappingID: h.MappingID,
		})
	}
	return out, nil
}

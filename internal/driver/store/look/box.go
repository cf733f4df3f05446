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

// AnswerBox returns what is needed to read the answer of a batch again: not what came of
// it, which may be damaged.
func (s *Look) AnswerBox(ctx context.Context, batchID int64) (*blackbox.Box, error) {
	b := &blackbox.Box{}
	var err error
	if b.Batch, err = s.Batch(ctx, batchID); err != nil {
		return nil, err
	}
	return b, kernel.Wrap("open black box", s.db.Translate(kernel.OrNotFound(s.boxKeys(ctx, b))))
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
	after, upto := bodies.ID(b.Batch.ID, 0)-1, bodies.ID(b.Batch.ID+1, 0)-1
	said, err := s.eventsOfBodies(ctx, after, upto)
	if err != nil {
		return nil, err
	}
	var unsealed bodies.Unsealed
	for end := false; !end; {
		var page []bodies.Stored
		if page, after, end, err = bodies.ReadRange(s.db.Ask(ctx), bodies.Range{After: after, Upto: upto, Most: writtenAtOnce, Bytes: writtenBytes, Part: bodies.FieldsPart}); err != nil {
			return nil, err
		}
		heads, err := s.HeadsOfBodies(ctx, page)
		if err != nil {
			return nil, err
		}
		for i := range page {
			head := heads[page[i].Dataset][page[i].Record]
			if head == nil {
				continue
			}
			sealed, err := page[i].CheckFields(record.KeyOf(head.ProviderID))
			if err != nil {
				return nil, fmt.Errorf("record %q: %w", head.ProviderID, err)
			}
			if !sealed {
				unsealed.Add(head.ProviderID, page[i].ID)
			}
			out = append(out, writtenAs(&page[i], head, said[page[i].ID]))
		}
	}
	return out, unsealed.Check(ctx, s.bodies)
}

// How many versions of a batch, and of what size, one query reads.
const (
	writtenAtOnce = 1000
	writtenBytes  = 16 << 20
)

func writtenAs(b *bodies.Stored, head *record.Head, op string) blackbox.Written {
	w := blackbox.Written{ID: head.ProviderID, Version: int(b.Version), UpdatedAt: b.UpdatedAt(), FetchAt: b.FetchedAt(), Fields: b.Fields}
	switch {
	case op == "REMOVED":
		w.Action = record.Remove
	case op == "UPDATED":
		w.Action = record.Update
	case head.BodyID == b.ID && (w.Version > 1 || head.State == record.Gone):
		w.Action = blackbox.ActionOf(head.State)
	case w.Version == 1 && (op == "INSERTED" || len(w.Fields) > 0):
		w.Action = record.Insert
	}
	return w
}

// eventsOfBodies returns what the events of a range of versions say was done.
func (s *Look) eventsOfBodies(ctx context.Context, after, upto int64) (map[int64]string, error) {
	rows, err := s.db.Query(ctx, "SELECT body_id, op_type FROM ing_outbox_message WHERE body_id > ? AND body_id <= ? AND channel = ?", after, upto, OutboxChannel)
	if err != nil {
		return nil, err
	}
	said := map[int64]string{}
	return said, kernel.Each(rows, func() error {
		var body int64
		var op string
		err := rows.Scan(&body, &op)
		said[body] = op
		return err
	})
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

package ledger

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// preparedBatch is a batch with everything computed that needs no transaction.
type preparedBatch struct {
	records []preparedRecord // sorted by key: one lock order for all workers
	rejects []preparedReject
	frames  *packedFrames // content that was packed before it was known what changes
	allNew  bool          // no record of it is expected to be stored; see expectsNew
}

type preparedRecord struct {
	record.Incoming
	key     record.Key
	place   int    // among the records of the answer
	payload []byte // packed, with room for its checksum
	kind    string // of packing; empty: not packed
	fields  any    // mapped fields as the column takes them
	merged  []byte // fields to store instead of the item's, if it fills
	event   []byte // identity of the event of version 1; nil: not computed
	takes   taking
	// Checksums of the packed item and of the fields, without the row.
	payloadSum, fieldsSum uint32
}

// keyed is a record of an answer by its key.
type keyed struct {
	key   record.Key
	place int
}

func (r *preparedRecord) keyOf() *record.Key { return &r.key }

type preparedReject struct {
	record.Reject
	key, rawHash string
	raw          []byte
	codec        string
}

// prepareBatch computes what it can of a batch, and checks what the columns of records take: SQLite has no limits
// on that table (decision 164), and both databases must refuse the same.
func prepareBatch(in ingest.BatchCommit) (out preparedBatch, err error) {
	order := make([]keyed, len(in.Records)) // what is sorted is small: a record has some hundred bytes
	for i := range in.Records {
		r := &in.Records[i]
		if len(r.ProviderID) > record.MaxIDBytes || r.ProviderID == "" {
			return out, fmt.Errorf("%w: provider id of %d bytes, need 1 to %d", fault.ErrInvalid, len(r.ProviderID), record.MaxIDBytes)
		}
		if len(r.MergedInto) > record.MaxIDBytes {
			return out, fmt.Errorf("%w: %q is merged into an id of %d bytes, at most %d are stored", fault.ErrInvalid, r.ProviderID, len(r.MergedInto), record.MaxIDBytes)
		}
		order[i] = keyed{record.KeyOf(r.ProviderID), i}
	}
	slices.SortFunc(order, func(a, b keyed) int { return bytes.Compare(a.key[:], b.key[:]) })
	out.records = make([]preparedRecord, len(order))
	for i, at := range order {
		out.records[i] = preparedRecord{Incoming: in.Records[at.place], key: at.key, place: at.place}
	}
	for i := 1; i < len(out.records); i++ {
		if id := out.records[i].ProviderID; id == out.records[i-1].ProviderID {
			return out, fmt.Errorf("%w: id %q is twice in the batch", fault.ErrInvalid, id)
		}
	}
	for _, r := range in.Rejects {
		out.rejects = append(out.rejects, prepareReject(r))
	}
	return out, nil
}

func prepareReject(r record.Reject) preparedReject {
	raw, codec := bodies.Compress(r.Raw)
	if len(r.ProviderID) > record.MaxIDBytes {
		r.ProviderID = "" // the whole item is kept; half an id would mislead
	}
	return preparedReject{r, r.Key(), fingerprint.Bytes(r.Raw), raw, codec}
}

func collisionReject(item *preparedRecord, head *record.Head) preparedReject {
	return prepareReject(record.Reject{
		ProviderID: item.ProviderID, Reason: record.IDCollision, Raw: item.Payload,
		Detail: fmt.Sprintf("its hash is taken by %q", head.ProviderID),
	})
}

// expectsNew reports whether a batch is likely to have only records that are not stored: the last batch was of the
// same dataset, and all its records were new. Then nobody looks for them, and the primary key tells if one is there
// (decision 167). A first harvest and a backfill are such, and in a large table looking costs as much as inserting. A
// record that was missed writes no row that could tell.
func (s *Ledger) expectsNew(in ingest.BatchCommit) bool {
	missed := func(r record.Incoming) bool { return r.Missed }
	return s.allNew.Load() == in.DatasetID && !slices.ContainsFunc(in.Records, missed)
}

// knownHeads returns the stored heads of a batch: none where all of its records are expected to be new.
func (t *tx) knownHeads(dataset int64, ready *preparedBatch) (map[record.Key]*record.Head, error) {
	if ready.allNew {
		return nil, nil
	}
	return t.readHeads(dataset, ready.records)
}

// readHeads reads the stored heads of a batch and locks them on the server.
func (t *tx) readHeads(dataset int64, items []preparedRecord) (map[record.Key]*record.Head, error) {
	return look.ReadHeads(dataset, items, (*preparedRecord).keyOf, func(query string, args ...any) (*sql.Rows, error) {
		return t.Query(query+t.Dialect().ForUpdate, args...)
	})
}

// change is a decided write.
type change struct {
	preparedRecord
	action  record.Action
	version int
	prev    *record.Head
	at      int        // position in the batch, which its body's id names
	row     bodies.Key // what is stored of the version beside its content
}

// placeChanges gives changes the positions of their bodies: in the order of the answer.
// Items that stand together in an answer are alike more often than those whose keys are
// near each other, and pack better as neighbours (decision 87). Rows of records keep the
// order of keys. The result has the changes by position.
func placeChanges(changes []change) []*change {
	out := make([]*change, len(changes))
	for i := range changes {
		out[i] = &changes[i]
	}
	slices.SortFunc(out, func(a, b *change) int { return a.place - b.place })
	for i, c := range out {
		c.at = i
	}
	return out
}

func newChange(item *preparedRecord, head *record.Head, action record.Action) change {
	c := change{preparedRecord: *item, action: action, version: 1, prev: head}
	c.Incoming = record.Inherit(head, item.Incoming)
	if head != nil {
		c.version = head.Version
		if action.Publishes() {
			c.version++
		}
	}
	return c
}

// awaySince returns since when a record that is gone now has been missing; zero if
// it is not gone.
func (c *change) awaySince() time.Time {
	switch {
	case c.action != record.Remove:
		return time.Time{}
	case c.prev == nil || c.prev.MissingSince.IsZero():
		return c.FetchAt
	}
	return c.prev.MissingSince
}

// openedAt returns since when a record is there that was gone until now; nil for every other one.
func (c *change) openedAt(now time.Time) any {
	if c.action == record.Remove || c.prev == nil || c.prev.State != record.Gone {
		return nil
	}
	return kernel.Micros(now)
}

// writeRecords appends versions and writes heads in the order of their keys, with plain INSERT and UPDATE: a
// row that appeared meanwhile is a conflict, and the step is redone.
func (t *tx) writeRecords(in ingest.BatchCommit, batchID int64, changes []change, placed []*change, packed *packedFrames) error {
	inserted := make([]*change, 0, len(changes))
	var tombstones []any // of records that were never stored
	var now any = kernel.Micros(t.Now)
	for i := range changes {
		c := &changes[i]
		if c.action == record.Touch {
			if err := t.ExecOne("UPDATE ing_record SET updated_at = ?, source_version = ?, fetch_at = ?, changed_at = ? WHERE dataset_id = ? AND id_hash = ?",
				kernel.Micros(c.UpdatedAt), c.SourceVersion, kernel.Micros(c.FetchAt), now, in.DatasetID, c.key[:]); err != nil {
				return err
			}
			continue
		}
		if c.action == record.Remap {
			if err := t.ExecOne("UPDATE ing_record SET updated_at = ?, source_version = ?, content_hash = ?, fetch_at = ?, mapping_id = ? WHERE dataset_id = ? AND id_hash = ?",
				kernel.Micros(c.UpdatedAt), c.SourceVersion, c.ContentHash[:], kernel.Micros(c.FetchAt), c.MappingID, in.DatasetID, c.key[:]); err != nil {
				return err
			}
			continue
		}
		id := bodies.ID(batchID, c.at)
		state := record.Active
		if c.action == record.Remove {
			state = record.Gone
		}
		if c.action == record.Insert {
			inserted = append(inserted, c)
			continue
		}
		if c.prev == nil {
			tombstones = append(tombstones, in.DatasetID, c.key[:], c.ProviderID, kernel.Micros(c.UpdatedAt), c.SourceVersion, c.ContentHash[:],
				kernel.Micros(c.FetchAt), c.version, id, string(state), in.ExprID, c.MappingID, kernel.OrNull(c.MergedInto), kernel.Micros(c.awaySince()))
			continue
		}
		if c.takes == filled { // the head stays that of the item that was taken whole
			if err := t.ExecOne("UPDATE ing_record SET version = ?, body_id = ?, changed_at = ? WHERE dataset_id = ? AND id_hash = ?", c.version, id, now, in.DatasetID, c.key[:]); err != nil {
				return err
			}
			continue
		}
		if err := t.ExecOne(`UPDATE ing_record SET updated_at = ?, source_version = ?, content_hash = ?, fetch_at = ?, version = ?, body_id = ?, state_code = ?,
  expr_id = ?, mapping_id = ?, merged_into = ?, missing_since = ?, opened_at = COALESCE(?, opened_at), changed_at = ? WHERE dataset_id = ? AND id_hash = ?`,
			kernel.Micros(c.UpdatedAt), c.SourceVersion, c.ContentHash[:], kernel.Micros(c.FetchAt), c.version, id, string(state), in.ExprID, c.MappingID, kernel.OrNull(c.MergedInto),
			kernel.Micros(c.awaySince()), c.openedAt(t.Now), now, in.DatasetID, c.key[:]); err != nil {
			return err
		}
	}
	if err := t.insertHeads(in, batchID, inserted); err != nil {
		return err
	}
	if err := t.InsertFlat("ing_record", headColumns+", merged_into, missing_since", headWidth+2, tombstones); err != nil {
		return err
	}
	return t.writeVersions(in.DatasetID, batchID, placed, packed)
}

// rowKey returns what the row of a change says beside its content.
func (c *change) rowKey(id, dataset int64) bodies.Key {
	k := bodies.Key{ID: id, Dataset: dataset, Record: c.key, Version: int64(c.version), Updated: bodies.NoInstant, Fetched: bodies.NoInstant}
	if c.prev != nil {
		k.Prev = c.prev.BodyID
	}
	if !c.UpdatedAt.IsZero() {
		k.Updated = c.UpdatedAt.UnixMicro()
	}
	if !c.FetchAt.IsZero() {
		k.Fetched = c.FetchAt.UnixMicro()
	}
	return k
}

// headColumns are what is written of a record that is gone and was never stored.
const headColumns = `dataset_id, id_hash, provider_id, updated_at, source_version, content_hash, fetch_at, version, body_id, state_code,
  expr_id, mapping_id`

// What new rows have in common comes first: see InsertRows. Their version is 1, and they are there.
const (
	newHeadColumns = "dataset_id, expr_id, opened_at, fetch_at, mapping_id, id_hash, provider_id, updated_at, source_version, content_hash, version, body_id, state_code"
	newHead        = "?,?,?,?,?,1,?,'" + string(record.Active) + "'"
	newHeadWidth   = 8 // with fetch_at and mapping_id
)

// insertHeads writes the rows of records that are stored for the first time. Usually those of a batch were
// fetched at once and mapped by the same mapping, so that is passed once for all of them.
func (t *tx) insertHeads(in ingest.BatchCommit, batchID int64, changes []*change) error {
	if len(changes) == 0 {
		return nil
	}
	first, row := changes[0], newHead
	shared := []any{in.DatasetID, in.ExprID, kernel.Micros(t.Now)}
	differ := slices.ContainsFunc(changes, func(c *change) bool { return !c.FetchAt.Equal(first.FetchAt) || c.MappingID != first.MappingID })
	if differ {
		row = "?,?," + newHead
	} else {
		shared = append(shared, kernel.Micros(first.FetchAt), first.MappingID)
	}
	values := make([]any, 0, newHeadWidth*len(changes))
	for _, c := range changes {
		if differ {
			values = append(values, kernel.Micros(c.FetchAt), c.MappingID)
		}
		values = append(values, c.key[:], c.ProviderID, kernel.Micros(c.UpdatedAt), c.SourceVersion, c.ContentHash[:], bodies.ID(batchID, c.at))
	}
	return t.InsertRows("ing_record", newHeadColumns, row, shared, values)
}

// Columns written per row.
const (
	headWidth  = 12
	bodyWidth  = 10
	eventWidth = 4
)

// insertOutbox writes exactly one event row per change (I9). It refers to the
// body and carries no payload.
func (t *tx) insertOutbox(in ingest.BatchCommit, batchID int64, placed []*change) error {
	published := make([]*change, 0, len(placed))
	mixed := false
	for _, c := range placed {
		if c.action.Publishes() {
			published = append(published, c)
			mixed = mixed || c.action != published[0].action
		}
	}
	if len(published) == 0 {
		return nil
	}
	op := map[record.Action]string{record.Insert: "INSERTED", record.Update: "UPDATED", record.Remove: "REMOVED"}
	told := "'" + op[published[0].action] + "'" // usually all were inserted, or all updated
	if mixed {
		told = "?"
	}
	rows := make([]any, 0, (eventWidth+1)*len(published))
	for _, c := range published {
		dedup := c.event
		if dedup == nil || c.version != 1 {
			dedup = eventKey(in.Partition, c.ProviderID, c.version)
		}
		if mixed {
			rows = append(rows, op[c.action])
		}
		rows = append(rows, hex.EncodeToString(c.key[:]), dedup, bodies.ID(batchID, c.at), c.version)
	}
	return t.InsertRows("ing_outbox_message", `aggregate_id, created_at, aggregate_type, channel, op_type, partition_key, dedup_key, body_id, record_version, status_code`,
		"'Record','"+look.OutboxChannel+"',"+told+",?,?,?,?,'PENDING'", []any{in.DatasetID, kernel.Micros(t.Now)}, rows)
}

func eventKey(p ingest.Partition, providerID string, version int) []byte {
	key := record.EventKey(p.Source, p.Endpoint, providerID, version)
	return key[:]
}

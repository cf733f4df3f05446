package outbox

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// OutboxLanes lists the datasets with events that may be published now. Whether
// some wait is one look at an index for each dataset; the events are not counted.
func (s *Outbox) OutboxLanes(ctx context.Context) (out []event.DatasetQueue, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, kernel.Wrap("list outbox lanes", s.db.Translate(err))
	}
	rows, err := s.db.Query(ctx, `SELECT d.id, d.provenance_code, d.endpoint_name FROM ing_dataset d
  WHERE EXISTS (SELECT 1 FROM ing_outbox_message o WHERE o.status_code = 'PENDING' AND o.aggregate_id = d.id)
     OR EXISTS (SELECT 1 FROM ing_outbox_message o WHERE o.status_code = 'FAILED' AND o.aggregate_id = d.id AND o.next_retry_at <= ?)
  ORDER BY d.id`, now.UnixMicro())
	if err != nil {
		return nil, kernel.Wrap("list outbox lanes", s.db.Translate(err))
	}
	return out, kernel.Wrap("list outbox lanes", kernel.Each(rows, func() error {
		var l event.DatasetQueue
		err := rows.Scan(&l.DatasetID, &l.Source, &l.Endpoint)
		out = append(out, l)
		return err
	}))
}

// HeldEvents lists the events of a dataset that failed or are dead, in order, and
// the store's clock.
func (s *Outbox) HeldEvents(ctx context.Context, dataset int64, limit int) (out []event.Held, now time.Time, err error) {
	if now, err = s.db.Now(ctx); err != nil {
		return nil, now, kernel.Wrap("list held events", s.db.Translate(err))
	}
	rows, err := s.db.Query(ctx, `SELECT id, partition_key, status_code, next_retry_at FROM ing_outbox_message
  WHERE status_code IN ('FAILED','DEAD') AND aggregate_id = ? ORDER BY id LIMIT ?`, dataset, limit)
	if err != nil {
		return nil, now, kernel.Wrap("list held events", s.db.Translate(err))
	}
	return out, now, kernel.Wrap("list held events", kernel.Each(rows, func() error {
		var h event.Held
		var next sql.NullInt64
		err := rows.Scan(&h.Row, &h.Key, &h.Status, &next)
		h.NotBefore = kernel.Instant(next)
		out = append(out, h)
		return err
	}))
}

// changeColumns are what scanChange reads, of o (outbox), d (dataset), b (body) and r (record).
const changeColumns = `o.id, o.aggregate_id, %s, o.op_type, o.partition_key, o.dedup_key, o.record_version, o.created_at,
  o.retry_count, COALESCE(o.body_id, 0), r.provider_id, b.version, b.prev_body_id, b.updated_at, b.fetch_at, b.fields, b.payload, b.codec`

var (
	namedChange = "SELECT " + fmt.Sprintf(changeColumns, "d.provenance_code, d.endpoint_name")
	plainChange = "SELECT " + fmt.Sprintf(changeColumns, "NULL, NULL") // of one dataset: the caller knows its name
)

// PendingEvents reads what waits of a dataset, oldest first, up to a number of
// events and, roughly, of bytes: a chunk of large records must not fill the memory.
func (s *Outbox) PendingEvents(ctx context.Context, of event.DatasetQueue, limit, size int, room *event.Room) ([]event.Change, error) {
	changes, err := s.readChanges(ctx, size, room, plainChange+` FROM ing_outbox_message o`+look.ChangeJoins+`
  WHERE o.status_code = 'PENDING' AND o.aggregate_id = ? ORDER BY o.id LIMIT ?`, of.DatasetID, limit)
	for i := range changes {
		changes[i].Source, changes[i].Endpoint = of.Source, of.Endpoint
	}
	return changes, err
}

// EventsOf reads events by their rows, in order; those that are not there are left
// out. At most as many as fit a statement are read.
func (s *Outbox) EventsOf(ctx context.Context, rows []int64, size int, room *event.Room) (out []event.Change, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	list := make([]any, kernel.IDsPerStatement)
	for i := range list {
		list[i] = rows[min(i, len(rows)-1)]
	}
	return s.readChanges(ctx, size, room, namedChange+` FROM ing_outbox_message o`+look.DatasetJoin+look.ChangeJoins+`
  WHERE o.id IN (?`+strings.Repeat(",?", kernel.IDsPerStatement-1)+`) ORDER BY o.id`, list...)
}

func (s *Outbox) readChanges(ctx context.Context, size int, room *event.Room, query string, args ...any) (out []event.Change, err error) {
	rows, err := s.db.Query(ctx, query, args...)
	if err != nil {
		return nil, kernel.Wrap("read events", s.db.Translate(err))
	}
	var row changeRow
	columns := row.scanColumns()
	unsealed := map[int]int64{} // bodies without checksums, by their place in out
	framed := map[int]int64{}   // bodies without rows, likewise
	err = kernel.Each(rows, func() error {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		c := row.makeChange(room)
		if row.unsealed {
			unsealed[len(out)] = row.body
		}
		if row.codec == nil && row.body != 0 {
			framed[len(out)] = row.body
		}
		out = append(out, c)
		if size -= len(c.Fields) + len(c.Payload); size < 0 {
			return kernel.ErrEnough
		}
		return nil
	})
	if errors.Is(err, kernel.ErrEnough) {
		err = nil
	}
	if err == nil && len(framed) > 0 {
		out, err = s.addFramed(ctx, out, framed, size)
	}
	for i, body := range unsealed { // see bodies.Unsealed
		if err != nil {
			break
		}
		if i >= len(out) {
			continue
		}
		c := &out[i]
		if c.Damaged = s.bodies.CheckUnsealed(ctx, body); c.Damaged != nil && !errors.Is(c.Damaged, fault.ErrDamaged) {
			err = c.Damaged
		}
		c.NoBody = c.Damaged != nil
	}
	return out, kernel.Wrap("read events", s.db.Translate(err))
}

// addFramed adds what the versions in frames hold. It stops where what it read is
// large enough, and leaves the rest for the next call. A damaged frame must not hold up
// other events.
func (s *Outbox) addFramed(ctx context.Context, out []event.Change, framed map[int]int64, size int) ([]event.Change, error) {
	frames := bodies.Frames{Ask: s.db.Ask(ctx), Part: bodies.WholePart}
	for i := range out {
		id, ok := framed[i]
		if !ok {
			continue
		}
		b, there, err := frames.Find(id)
		if err != nil {
			return nil, err
		}
		if !there {
			continue // it was removed
		}
		fillChange(&out[i], &b)
		if size -= b.Size(); size < 0 {
			return out[:i+1], nil
		}
	}
	return out, nil
}

// fillChange adds a version to its event, which says whose it is, and which version.
func fillChange(c *event.Change, b *bodies.Stored) {
	item, _, err := b.Open()
	switch {
	case err != nil:
	case hex.EncodeToString(b.Record[:]) != c.Key || b.Dataset != c.DatasetID || int(b.Version) != c.Version || c.RecordID != "" && record.KeyOf(c.RecordID) != b.Record:
		err = b.Damaged("the event is of another version or record")
	case c.Op != event.Inserted && c.Op != event.Updated && c.Op != event.Removed:
		err = b.Damaged("the event says something that does not exist")
	}
	if c.Damaged = err; err != nil {
		return
	}
	c.UpdatedAt, c.FetchedAt, c.Fields, c.Payload, c.NoBody = b.UpdatedAt(), b.FetchedAt(), b.Fields, item, c.RecordID == ""
}

// changeRow is a row of changeColumns, the same memory for all. Texts are valid
// until the next row; what is kept goes to the room.
type changeRow struct {
	row, dataset, attempts, body       int64
	version, updated, fetched, created sql.NullInt64
	stored, prev                       sql.NullInt64 // version of the body, and the one before it
	source, endpoint, op, key          sql.RawBytes
	identity, id, fields, payload      sql.RawBytes
	codec                              sql.RawBytes
	unsealed                           bool // the body can be read, and has no checksums
}

func (r *changeRow) scanColumns() []any {
	return []any{&r.row, &r.dataset, &r.source, &r.endpoint, &r.op, &r.key, &r.identity, &r.version, &r.created, &r.attempts, &r.body, &r.id, &r.stored,
		&r.prev, &r.updated, &r.fetched, &r.fields, &r.payload, &r.codec}
}

func (r *changeRow) makeChange(room *event.Room) event.Change {
	c := event.Change{
		Row: r.row, DatasetID: r.dataset, Source: string(r.source), Endpoint: string(r.endpoint), Op: opOf(r.op), Key: string(r.key), Identity: room.Copy(r.identity),
		RecordID: string(r.id), Version: int(r.version.Int64), BatchID: r.body >> bodies.Bits, StoredAt: kernel.Instant(r.created), UpdatedAt: kernel.Instant(r.updated),
		FetchedAt: kernel.Instant(r.fetched), Fields: room.Copy(r.fields), Attempts: int(r.attempts), NoBody: r.codec == nil || r.id == nil,
	}
	if r.unsealed = false; !c.NoBody {
		c.Payload, c.Damaged = r.openBody(room) // it must not hold up the others
		c.NoBody = c.Damaged != nil
	}
	return c
}

// openBody checks the body of an event and unpacks its item. The event says whose it is,
// and which version.
func (r *changeRow) openBody(room *event.Room) ([]byte, error) {
	s, err := bodies.ReadSeal(r.codec)
	if err != nil {
		return nil, err
	}
	k := bodies.Key{
		ID: r.body, Dataset: r.dataset, Record: record.KeyOf(string(r.id)), Version: r.stored.Int64, Prev: r.prev.Int64,
		Updated: bodies.Nullable(r.updated), Fetched: bodies.Nullable(r.fetched),
	}
	var key [2 * len(k.Record)]byte
	hex.Encode(key[:], k.Record[:])
	if string(r.key) != string(key[:]) || r.version.Int64 != k.Version {
		return nil, k.Damaged("the event is of another version or record")
	}
	if op := opOf(r.op); op != event.Inserted && op != event.Updated && op != event.Removed {
		return nil, k.Damaged("the event says something that does not exist")
	}
	if err := k.CheckRow(r.fields, s); err != nil {
		return nil, err
	}
	packed, err := k.CheckPayload(r.payload, s)
	if err != nil {
		return nil, err
	}
	item, err := bodies.Unpack(packed, s.Kind, room)
	if err != nil {
		return nil, k.Damaged(err.Error())
	}
	r.unsealed = !s.Sealed
	return item, nil
}

// opOf returns the op of a text without keeping the text.
func opOf(text []byte) event.Op {
	for _, op := range []event.Op{event.Inserted, event.Updated, event.Removed} {
		if string(text) == string(op) {
			return op
		}
	}
	return event.Op(text)
}

// SettleEvents writes what became of some events of a dataset, if the lease is
// still ours, and extends it (I7). Repeating it changes nothing (I8).
func (s *Outbox) SettleEvents(ctx context.Context, in event.Settlement) error {
	return s.step(ctx, "settle events", kernel.Bulk, func(t *tx) error {
		n, err := t.Affected("UPDATE ing_named_lease SET leased_until = ? WHERE name = ? AND owner = ? AND epoch = ?",
			kernel.Micros(t.Now.Add(in.Lease)), in.Name, in.Owner, in.Epoch)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: lease %s of epoch %d is not ours any more", fault.ErrStale, in.Name, in.Epoch)
		}
		// By what it is not: with a list of what it is, a planner may walk through all
		// that waits to find a few rows.
		const still = " WHERE status_code NOT IN ('PUBLISHED','SKIPPED','DEAD') AND id "
		if err := t.execRuns("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = ?, next_retry_at = NULL"+still, in.Published, kernel.Micros(t.Now)); err != nil {
			return err
		}
		if err := t.execRuns("UPDATE ing_outbox_message SET status_code = 'SKIPPED'"+still, in.Skipped); err != nil {
			return err
		}
		if err := t.ExecIn("UPDATE ing_outbox_message SET status_code = 'FAILED', error_code = 'BEHIND', next_retry_at = created_at WHERE status_code NOT IN ('PUBLISHED','SKIPPED','DEAD','FAILED') AND id IN ", in.Behind); err != nil {
			return err
		}
		for _, f := range in.Failed {
			if err := t.failEvent(f); err != nil {
				return err
			}
		}
		return t.logAttempts(in)
	})
}

// execRuns does what ExecIn does for ids of which many follow one another, as those of a batch
// do: ids without a gap are named by the first and the last of them. Every id in between is on
// the list, so no row of another batch is touched.
func (t *tx) execRuns(query string, ids []int64, args ...any) error {
	const worth = 20 // a shorter run costs more than its place on a list
	ids = slices.Sorted(slices.Values(ids))
	var single []int64
	for begin := 0; begin < len(ids); {
		end := begin + 1
		for end < len(ids) && ids[end] == ids[end-1]+1 {
			end++
		}
		if end-begin < worth {
			single = append(single, ids[begin:end]...)
		} else if _, err := t.Exec(query+"BETWEEN ? AND ?", append(slices.Clone(args), ids[begin], ids[end-1])...); err != nil {
			return err
		}
		begin = end
	}
	return t.ExecIn(query+"IN ", single, args...)
}

func (t *tx) failEvent(f event.Failure) error {
	status := event.Failed
	if f.Dead {
		status = event.Dead
	}
	_, err := t.Exec(`UPDATE ing_outbox_message SET status_code = ?, retry_count = ?, next_retry_at = ?, error_code = ?, error_msg = ?
  WHERE id = ? AND status_code NOT IN ('PUBLISHED','SKIPPED','DEAD')`, string(status), f.Attempts, kernel.Micros(f.NotBefore), string(f.Fault), kernel.OrNull(kernel.Cut(f.Text, 512)), f.Row)
	return err
}

func (t *tx) logAttempts(in event.Settlement) error {
	for _, a := range in.Attempts {
		var one int
		known, err := kernel.Found(t.Row("SELECT 1 FROM ing_outbox_relay_log WHERE dataset_id = ? AND lease_epoch = ? AND attempt_no = ?", in.DatasetID, in.Epoch, a.No).Scan(&one))
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if _, err := t.Exec(`INSERT INTO ing_outbox_relay_log (dataset_id, lease_epoch, attempt_no, lease_owner, destination, status_code, first_message_id,
  last_message_id, events, delivered, error_code, error_msg, started_at, completed_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
			in.DatasetID, in.Epoch, a.No, in.Owner, a.Destination, string(a.Outcome), a.First, a.Last, a.Events, a.Delivered, kernel.OrNull(string(a.Fault)),
			kernel.OrNull(kernel.Cut(a.Text, 512)), kernel.Micros(a.StartedAt), kernel.Micros(a.EndedAt)); err != nil {
			return err
		}
	}
	return nil
}

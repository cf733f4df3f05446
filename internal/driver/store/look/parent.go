package look

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Parents reads stored records that are there, as parts of another list, in the order of their keys. A look takes a bounded
// number of rows, also where none of them is there; last says that there are no more. next is where the following look
// goes on.
func (s *Look) Parents(ctx context.Context, q ingest.ParentLook) (out []ingest.Parent, next string, last bool, err error) {
	out, next, last, err = s.readParents(ctx, q)
	return out, next, last, kernel.Wrap("read parents", s.db.Translate(err))
}

func (s *Look) readParents(ctx context.Context, q ingest.ParentLook) (out []ingest.Parent, next string, last bool, err error) {
	where, args, err := parentBounds(q)
	if err != nil {
		return nil, "", false, err
	}
	rows, err := s.db.Query(ctx, `SELECT r.id_hash, r.provider_id, r.state_code, r.opened_at, r.changed_at, r.fetch_at, r.body_id FROM ing_record r
  WHERE r.dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?) AND `+where+` ORDER BY r.id_hash LIMIT ?`,
		append(append([]any{q.Dataset.Source, q.Dataset.Endpoint}, args...), q.Limit)...)
	if err != nil {
		return nil, "", false, err
	}
	seen, at := 0, map[int64]int{}
	var ids []int64
	var records []view.Record
	err = kernel.Each(rows, func() error {
		var p ingest.Parent
		var key []byte
		var state string
		var opened, changed, fetched sql.NullInt64
		var body int64
		if err := rows.Scan(&key, &p.ID, &state, &opened, &changed, &fetched, &body); err != nil {
			return err
		}
		seen, next = seen+1, hex.EncodeToString(key)
		if state != string(record.Active) {
			return nil
		}
		p.Key, p.Opened, p.Changed = record.Key(key), kernel.Instant(opened), kernel.Instant(changed)
		if !changed.Valid { // it is as it was first stored, or older than the column
			p.Changed = window.Later(p.Opened, kernel.Instant(fetched))
		}
		if q.Pick != nil && !q.Pick(p) {
			return nil
		}
		at[body], ids = len(out), append(ids, body)
		out, records = append(out, p), append(records, view.Record{ID: p.ID, Key: key})
		return nil
	})
	if err != nil || len(out) == 0 {
		return out, next, seen < q.Limit, err
	}
	records, err = s.addContent(ctx, records, at, ids)
	found := map[string][]byte{}
	for _, r := range records {
		found[r.ID] = r.Payload
	}
	for i := range out { // one whose content is damaged stays: it cannot be read, and is not forgotten
		out[i].Item = found[out[i].ID]
	}
	return out, next, seen < q.Limit, err
}

// parentBounds returns which keys are looked at. A key is longer than a bound, so one that begins with it comes behind it.
func parentBounds(q ingest.ParentLook) (where string, args []any, err error) {
	if q.Only != nil {
		return "r.id_hash = ?", []any{q.Only[:]}, nil
	}
	after := max(q.From, q.After) // both are hexadecimal
	low, err := hex.DecodeString(after)
	if err != nil {
		return "", nil, err
	}
	high := []byte(strings.Repeat("\xff", len(record.Key{})+1))
	if q.To != "" {
		high, err = hex.DecodeString(q.To)
	}
	return "r.id_hash > ? AND r.id_hash < ?", []any{low, high}, err
}

// parentSample is how many keys are looked at to tell how many parents there are.
const parentSample = 2000

// CountParents tells about how many records of a dataset there are, from the keys that come first: they are hashes. Its cost
// does not grow with the dataset.
func (s *Look) CountParents(ctx context.Context, d ingest.Dataset) (int64, error) {
	var n int64
	var reached []byte
	err := s.db.QueryRow(ctx, `SELECT COUNT(*), MAX(id_hash) FROM (SELECT id_hash FROM ing_record
  WHERE dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?) ORDER BY id_hash LIMIT ?) page`,
		d.Source, d.Endpoint, parentSample).Scan(&n, &reached)
	if err != nil || n < parentSample {
		return n, kernel.Wrap("count parents", s.db.Translate(err))
	}
	part := float64(binary.BigEndian.Uint64(reached[:8])) / math.MaxUint64
	return int64(float64(n) / part), nil
}

// ParentsKnown tells which parents of a list were there when they were last read, how far they were read then, and which of them
// are new still.
func (s *Look) ParentsKnown(ctx context.Context, n ingest.Namespace) (ingest.ParentsRead, error) {
	var at, to sql.NullInt64
	_, err := kernel.Found(s.db.QueryRow(ctx, `SELECT parents_as_of, parents_read_to FROM ing_cursor WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key).Scan(&at, &to))
	out := ingest.ParentsRead{AsOf: kernel.Instant(at), To: kernel.Instant(to)}
	if err == nil {
		out.Still, err = s.stillNew(ctx, n)
	}
	return out, kernel.Wrap("read known parents", s.db.Translate(err))
}

// stillNew lists parents that came before the others were read, and were not read from their beginning.
func (s *Look) stillNew(ctx context.Context, n ingest.Namespace) (names []string, err error) {
	rows, err := s.db.Query(ctx, `SELECT p.sector_name FROM ing_cursor c JOIN ing_sector_new p ON p.cursor_id = c.id WHERE c.provenance_code = ? AND c.operation_code = ? AND c.cursor_key = ?
  AND c.namespace_scope_code = ? AND c.namespace_key = ? ORDER BY p.sector_name`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key)
	if err != nil {
		return nil, err
	}
	return names, kernel.Each(rows, func() error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
}

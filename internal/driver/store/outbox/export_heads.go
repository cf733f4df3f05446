package outbox

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// exportHead is what an export needs of a record beside its versions.
type exportHead struct {
	key           record.Key // of id
	body, mapping int64
	id, merged    []byte
	state         record.State // empty for one that does not exist
}

// exportHeads are the records of a page. The map has no pointers, so the garbage collector
// does not look into it.
type exportHeads struct {
	rows    []exportHead
	of      map[record.Key]int32
	ids     []byte // memory of their ids
	mapping int64  // of the last record that had another one than asked for
}

// find returns the record of a version, or nil.
func (h *exportHeads) find(k record.Key) *exportHead {
	at, there := h.of[k]
	if !there {
		return nil
	}
	return &h.rows[at]
}

// headsAtOnce is how many records one query asks for.
const headsAtOnce = 200

// usualID is how many bytes the id of a record has, about.
const usualID = 32

// exportHeadsSQL asks for as little as it can, because each value of a row costs more than finding the row. It does not
// ask for the key: that is computed from the id, which an export does anyway to check the id. What nearly all records
// have in common is one value that is absent: that the record is there, was merged into no other, and was mapped by the
// mapping that is given. The others have a text: mapping, a letter for the state, and the record that they were merged into.
var exportHeadsSQL = `SELECT body_id, provider_id, CASE WHEN state_code = 'ACTIVE' AND merged_into IS NULL AND mapping_id = ? THEN NULL
  WHEN state_code = 'ACTIVE' THEN CONCAT(mapping_id, ' A', COALESCE(merged_into, ''))
  WHEN state_code = 'GONE' THEN CONCAT(mapping_id, ' G', COALESCE(merged_into, '')) ELSE CONCAT(mapping_id, ' ?') END
  FROM ing_record WHERE dataset_id = ? AND id_hash IN (?` + strings.Repeat(",?", headsAtOnce-1) + ")"

// exportHeads returns the records of versions: those that were read before the first page, and the others by their keys.
func (s *Outbox) exportHeads(ctx context.Context, in export.Range, page []bodies.Stored) (*exportHeads, error) {
	heads := &exportHeads{rows: make([]exportHead, 0, len(page)), of: make(map[record.Key]int32, len(page))}
	keys := make([]record.Key, 0, len(page))
	for i := range page {
		b := &page[i]
		if b.Dataset != in.DatasetID {
			continue
		}
		if id, mapping, found := in.Heads.Find(b.ID); found && record.KeyOf(string(id)) == b.Record {
			heads.add(exportHead{key: b.Record, body: b.ID, mapping: mapping, id: id, state: record.Active})
		} else {
			keys = append(keys, b.Record)
		}
	}
	slices.SortFunc(keys, func(a, b record.Key) int { return bytes.Compare(a[:], b[:]) }) // each page of the table once, not once a query
	heads.ids = make([]byte, 0, usualID*len(keys))
	args := make([]any, 2+headsAtOnce)
	args[1] = in.DatasetID
	for chunk := range slices.Chunk(keys, headsAtOnce) {
		args[0] = heads.mapping
		for i := range headsAtOnce { // padded with the last key
			args[2+i] = chunk[min(i, len(chunk)-1)][:]
		}
		rows, err := s.db.QueryKept(ctx, exportHeadsSQL, args...)
		if err != nil {
			return nil, err
		}
		asked := heads.mapping
		if err := kernel.Each(rows, func() error { return heads.scan(rows, asked) }); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// scan adds the record of a row. asked is the mapping that the query had.
func (h *exportHeads) scan(rows *sql.Rows, asked int64) error {
	head := exportHead{mapping: asked, state: record.Active}
	var id, other sql.RawBytes
	if err := rows.Scan(&head.body, &id, &other); err != nil {
		return err
	}
	if other != nil {
		if err := head.setOther(string(other)); err != nil {
			return err
		}
		h.mapping = head.mapping // the next ones are likely to have it, too
	}
	at := len(h.ids)
	h.ids = append(h.ids, id...)
	head.id = h.ids[at:len(h.ids):len(h.ids)]
	head.key = record.KeyOf(string(head.id))
	h.add(head)
	return nil
}

func (h *exportHeads) add(head exportHead) {
	h.of[head.key] = int32(len(h.rows))
	h.rows = append(h.rows, head)
}

// setOther reads the text that exportHeadsSQL gives of a record that is not as usual.
func (h *exportHead) setOther(text string) (err error) {
	mapping, rest, _ := strings.Cut(text, " ")
	switch state, merged := rest[:min(1, len(rest))], rest[min(1, len(rest)):]; state {
	case "A", "G":
		if state == "G" {
			h.state = record.Gone
		}
		if merged != "" {
			h.merged = []byte(merged)
		}
	default:
		h.state = "" // it is damaged: there is no such state
	}
	h.mapping, err = strconv.ParseInt(mapping, 10, 64)
	return err
}

// readAllHeads reads the records of a dataset that are there and were not merged, in the order of their keys and in parts, so
// that no read snapshot lasts (D§5.20). Of a dataset that has too many records for memory it reads none.
//
// Harvests may go on meanwhile. A version that is found here was the current one of its record at the mark, whatever is stored
// later: all batches of the range were settled before the mark, so no newer version of the range can come.
func (s *Outbox) readAllHeads(ctx context.Context, in export.Range) error {
	var records int
	if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM ing_record WHERE dataset_id = ? LIMIT ?) part", in.DatasetID, export.MostHeads+1).Scan(&records); err != nil || records > export.MostHeads {
		return err
	}
	in.Heads.Expect(records)
	for after, more := []byte{}, true; more; {
		upto, further, err := s.partEnd(ctx, in.DatasetID, after)
		if err != nil {
			return err
		}
		rows, err := s.db.Query(ctx, `SELECT body_id, mapping_id, provider_id FROM ing_record
  WHERE dataset_id = ? AND id_hash > ? AND id_hash <= ? AND state_code = 'ACTIVE' AND merged_into IS NULL`, in.DatasetID, after, upto)
		if err != nil {
			return err
		}
		var body, mapping int64
		var id sql.RawBytes
		if err := kernel.Each(rows, func() error {
			if err := rows.Scan(&body, &mapping, &id); err != nil {
				return err
			}
			if !in.Heads.Add(body, mapping, id) {
				return kernel.ErrEnough
			}
			return nil
		}); err != nil {
			if errors.Is(err, kernel.ErrEnough) {
				err = nil
			}
			return err
		}
		after, more = upto, further
	}
	in.Heads.Order()
	return nil
}

package outbox

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

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
// mapping that is given. The others have a text: mapping, state, and the record that they were merged into.
var exportHeadsSQL = `SELECT body_id, provider_id, CASE WHEN state_code = 'ACTIVE' AND merged_into IS NULL AND mapping_id = ? THEN NULL
  ELSE CONCAT(mapping_id, ' ', state_code, ' ', COALESCE(merged_into, '')) END
  FROM ing_record WHERE dataset_id = ? AND id_hash IN (?` + strings.Repeat(",?", headsAtOnce-1) + ")"

// exportHeads reads the records of versions, by their keys.
func (s *Outbox) exportHeads(ctx context.Context, dataset int64, page []bodies.Stored) (*exportHeads, error) {
	keys := make([]record.Key, 0, len(page))
	for i := range page {
		if page[i].Dataset == dataset {
			keys = append(keys, page[i].Record)
		}
	}
	slices.SortFunc(keys, func(a, b record.Key) int { return bytes.Compare(a[:], b[:]) }) // each page of the table once, not once a query
	heads := &exportHeads{rows: make([]exportHead, 0, len(keys)), of: make(map[record.Key]int32, len(keys)), ids: make([]byte, 0, usualID*len(keys))}
	args := make([]any, 2+headsAtOnce)
	args[1] = dataset
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
	h.of[head.key] = int32(len(h.rows))
	h.rows = append(h.rows, head)
	return nil
}

// setOther reads what a record has that is not as usual.
func (h *exportHead) setOther(text string) (err error) {
	mapping, rest, _ := strings.Cut(text, " ")
	state, merged, _ := strings.Cut(rest, " ")
	switch record.State(state) {
	case record.Active, record.Gone:
		h.state = record.State(state)
	default:
		h.state = ""
	}
	if merged != "" {
		h.merged = []byte(merged)
	}
	h.mapping, err = strconv.ParseInt(mapping, 10, 64)
	return err
}

package outbox

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
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
	rows []exportHead
	of   map[record.Key]int32
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

// exportHeadsSQL does not ask for the key: it is computed from the id, which an export does
// anyway to check the id.
var exportHeadsSQL = "SELECT body_id, provider_id, state_code, mapping_id, merged_into FROM ing_record WHERE dataset_id = ? AND id_hash IN (?" + strings.Repeat(",?", headsAtOnce-1) + ")"

// exportHeads reads the records of versions, by their keys.
func (s *Outbox) exportHeads(ctx context.Context, dataset int64, page []bodies.Stored) (*exportHeads, error) {
	keys := make([]record.Key, 0, len(page))
	for i := range page {
		if page[i].Dataset == dataset {
			keys = append(keys, page[i].Record)
		}
	}
	slices.SortFunc(keys, func(a, b record.Key) int { return bytes.Compare(a[:], b[:]) }) // each page of the table once, not once a query
	heads := &exportHeads{rows: make([]exportHead, 0, len(keys)), of: make(map[record.Key]int32, len(keys))}
	args := make([]any, 1+headsAtOnce)
	args[0] = dataset
	for chunk := range slices.Chunk(keys, headsAtOnce) {
		for i := range headsAtOnce { // padded with the last key
			args[1+i] = chunk[min(i, len(chunk)-1)][:]
		}
		rows, err := s.db.QueryKept(ctx, exportHeadsSQL, args...)
		if err != nil {
			return nil, err
		}
		if err := kernel.Each(rows, func() error { return heads.scan(rows) }); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// scan adds the record of a row.
func (h *exportHeads) scan(rows *sql.Rows) error {
	var head exportHead
	var state string
	if err := rows.Scan(&head.body, &head.id, &state, &head.mapping, &head.merged); err != nil {
		return err
	}
	switch state {
	case string(record.Active):
		head.state = record.Active
	case string(record.Gone):
		head.state = record.Gone
	}
	head.key = record.KeyOf(string(head.id))
	h.of[head.key] = int32(len(h.rows))
	h.rows = append(h.rows, head)
	return nil
}

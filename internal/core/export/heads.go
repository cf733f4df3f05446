package export

import (
	"cmp"
	"slices"
)

const (
	// MostHeads is how many records a dataset may have whose heads an export keeps in memory.
	MostHeads = 500_000
	// mostIDBytes is how much their ids may take.
	mostIDBytes = 16 << 20
)

// Heads are the records of a dataset by their current versions. An export of a whole dataset that is not too
// large reads them in the order of their keys, before anything else, for a third of what it costs to look
// each of them up. It holds no records that are gone or were merged into others: these are looked up.
type Heads struct {
	asked bool
	rows  []headRow
	ids   []byte
	next  int // where the version after the last one that was found stands
}

type headRow struct {
	body, mapping int64
	id, length    int32 // in ids
}

// Ask reports whether the heads still have to be read, and notes that they are.
func (h *Heads) Ask() bool {
	if h == nil || h.asked {
		return false
	}
	h.asked = true
	return true
}

// Expect makes room for so many records.
func (h *Heads) Expect(records int) {
	h.rows, h.ids = make([]headRow, 0, records), make([]byte, 0, records*usualID)
}

// usualID is how many bytes the id of a record has, about.
const usualID = 32

// Add adds a record by its current version. It is false, and nothing will be found, if their ids take too much
// memory.
func (h *Heads) Add(body, mapping int64, id []byte) bool {
	if len(h.ids)+len(id) > mostIDBytes {
		h.rows, h.ids = nil, nil
		return false
	}
	h.rows = append(h.rows, headRow{body, mapping, int32(len(h.ids)), int32(len(id))})
	h.ids = append(h.ids, id...)
	return true
}

// Order makes records that were added ready to be found.
func (h *Heads) Order() {
	slices.SortFunc(h.rows, func(a, b headRow) int { return cmp.Compare(a.body, b.body) })
}

// Find returns the record whose current version has an id. It is quick for versions that are asked for in
// their order.
func (h *Heads) Find(body int64) (id []byte, mapping int64, found bool) {
	if h == nil {
		return nil, 0, false
	}
	if h.next >= len(h.rows) || h.rows[h.next].body != body {
		if h.next, found = slices.BinarySearchFunc(h.rows, body, func(r headRow, body int64) int { return cmp.Compare(r.body, body) }); !found {
			return nil, 0, false
		}
	}
	r := h.rows[h.next]
	h.next++
	return h.ids[r.id : r.id+r.length : r.id+r.length], r.mapping, true
}

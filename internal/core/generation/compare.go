package generation

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/patra-ingest/patra/internal/core/record"
)

// IDBytes is how long a packed id is: the beginning of a hash. Of ten million ids two share a hash once in 300,000
// lists, and then one of them counts as seen while the other one is there.
const IDBytes = 8

// IDOf returns the hash of an id by which generations are compared: the first bytes of the
// key of its record.
func IDOf(key record.Key) uint64 { return binary.BigEndian.Uint64(key[:IDBytes]) }

// PackIDs writes the hashes of a page.
func PackIDs(keys []record.Key) []byte {
	out := make([]byte, 0, IDBytes*len(keys))
	for _, key := range keys {
		out = binary.BigEndian.AppendUint64(out, IDOf(key))
	}
	return out
}

// KeyRange returns the keys that share a hash: first ≤ key ≤ last.
func KeyRange(id uint64) (first, last record.Key) {
	binary.BigEndian.PutUint64(first[:], id)
	for i := range last {
		last[i] = math.MaxUint8
	}
	binary.BigEndian.PutUint64(last[:], id)
	return first, last
}

// Pages gives out the packed ids of a generation, page by page and in any order, whenever
// it is called.
type Pages func(take func(page []byte)) error

// Sets are the ids that are compared, by what their generations are to the new one; nil
// where there is none.
type Sets struct {
	New, Last, Shrunk Pages
	Recent, Older     []Pages // those of Last and Shrunk among them
	IDs               int64   // in all of them together, those of every set counted once more for each role
	Room              int     // ids that may be in memory at once (default 4 million)
	MayBeGone         int     // vanished ids that are listed; if there are more, they are only counted
}

// Counts are what a comparison found, in different ids.
type Counts struct {
	Items              int64 // of the new generation
	Last, LastKept     int64 // of the last whole one, and those of them that are in the new one
	Shrunk, ShrunkKept int64 // likewise of the one that waits to be confirmed
	Vanished           int64 // of older generations, in no recent one and not in the new one
}

// Comparison is what was found, and the vanished ids, sorted, if they are few enough.
type Comparison struct {
	Counts
	Gone []uint64
}

const defaultRoom = 4 << 20

// Compare compares a new generation with kept ones. Ids are taken by ranges of their
// hashes, as many at once as there is room for; hashes are spread evenly, so the ranges
// are. Pages are read once for each range.
func Compare(s Sets) (out Comparison, err error) {
	if s.Room <= 0 {
		s.Room = defaultRoom
	}
	rounds := uint64(1 + max(0, s.IDs-1)/int64(s.Room))
	width := math.MaxUint64/rounds + 1 // 0: one round takes all
	for i := range rounds {
		r := idRange{low: i * width, high: i*width + (width - 1)}
		if i == rounds-1 {
			r.high = math.MaxUint64
		}
		if err := s.compareRange(r, &out); err != nil {
			return Comparison{}, err
		}
	}
	if out.Vanished > int64(s.MayBeGone) {
		out.Gone = nil
	}
	return out, nil
}

// idRange are the hashes low ≤ id ≤ high.
type idRange struct{ low, high uint64 }

// compareRange compares what lies in one range.
func (s Sets) compareRange(r idRange, out *Comparison) error {
	seen, err := r.load(s.New)
	if err != nil {
		return err
	}
	out.Items += int64(len(seen))
	for _, c := range []struct {
		with      Pages
		all, kept *int64
	}{{s.Last, &out.Last, &out.LastKept}, {s.Shrunk, &out.Shrunk, &out.ShrunkKept}} {
		ids, err := r.load(c.with)
		if err != nil {
			return err
		}
		*c.all += int64(len(ids))
		*c.kept += int64(len(ids) - len(without(ids, seen)))
	}
	for _, pages := range s.Recent {
		ids, err := r.load(pages)
		if err != nil {
			return err
		}
		seen = union(seen, ids)
	}
	var lost []uint64
	for _, pages := range s.Older {
		ids, err := r.load(pages)
		if err != nil {
			return err
		}
		lost = union(lost, without(ids, seen))
	}
	out.Vanished += int64(len(lost))
	if room := s.MayBeGone - len(out.Gone); room > 0 {
		out.Gone = append(out.Gone, lost[:min(len(lost), room)]...)
	}
	return nil
}

// load returns the different ids of a generation that lie in the range, sorted.
func (r idRange) load(from Pages) (ids []uint64, err error) {
	if from == nil {
		return nil, nil
	}
	err = from(func(page []byte) {
		for ; len(page) >= IDBytes; page = page[IDBytes:] {
			if id := binary.BigEndian.Uint64(page); id >= r.low && id <= r.high {
				ids = append(ids, id)
			}
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// without returns the ids that are not among others. Both are sorted; ids is written over.
func without(ids, others []uint64) []uint64 {
	out, i := ids[:0], 0
	for _, id := range ids {
		for i < len(others) && others[i] < id {
			i++
		}
		if i == len(others) || others[i] != id {
			out = append(out, id)
		}
	}
	return out
}

// union merges two sorted lists of different ids.
func union(a, b []uint64) []uint64 {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

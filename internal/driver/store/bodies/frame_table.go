package bodies

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The table of a frame tells of each version what a row would. What all of its entries have
// in common, as those of one answer do, is said once (decision 164).

const (
	// First byte of a table. In the former format fields stood behind each item, in the
	// plain one as they are behind all items, and in the long one every entry said all.
	frameFormat  = 4
	longFormat   = 3
	plainFormat  = 2
	formerFormat = 1

	shortEntry = len(Key{}.Record) + 1 + 1

	// What an entry has.
	flagPrev    = 1
	flagUpdated = 2
	flagFetched = 4
	everyFlag   = flagPrev | flagUpdated | flagFetched

	// What all entries have in common.
	sharedFlags   = 1
	sharedStep    = 2 // each id is one larger than the one before
	sharedDataset = 4
	sharedVersion = 8
	sharedFetched = 16
	everyShared   = sharedFlags | sharedStep | sharedDataset | sharedVersion | sharedFetched

	mostVersions = math.MaxInt64
)

// frameTable is what the table of a frame says.
type frameTable struct {
	format  byte
	entries []Entry
	sum     [sha256.Size]byte // of the content as it is stored
	between string            // what stands between two items
	size    int               // of items and fields, and of what is between
	behind  int               // where the last item ends in the content
}

// hasRecipes reports whether recipes of fields stand behind the items, instead of the fields.
func (t *frameTable) hasRecipes() bool { return t.format >= longFormat }

// shared is what all entries of a table have in common.
type shared struct {
	what, flags               byte
	dataset, version, fetched int64
}

func (s shared) has(what byte) bool { return s.what&what != 0 }

// findShared returns what some versions have in common.
func findShared(versions []Version) shared {
	first := &versions[0]
	s := shared{what: everyShared, flags: first.flags(), dataset: first.Dataset, version: first.Version, fetched: first.Fetched}
	differ := func(what byte, differs bool) {
		if differs {
			s.what &^= what
		}
	}
	differ(sharedFetched, s.flags&flagFetched == 0)
	for i := range versions {
		v := &versions[i]
		differ(sharedFlags, v.flags() != s.flags)
		differ(sharedStep, v.ID-first.ID != int64(i))
		differ(sharedDataset, v.Dataset != s.dataset)
		differ(sharedVersion, v.Version != s.version)
		differ(sharedFetched, v.Fetched != s.fetched)
	}
	return s
}

// flags tells what a version has.
func (k *Key) flags() (flags byte) {
	if k.Prev != 0 {
		flags |= flagPrev
	}
	if k.Updated != NoInstant {
		flags |= flagUpdated
	}
	if k.Fetched != NoInstant {
		flags |= flagFetched
	}
	return flags
}

// writeTable writes the table of a frame of some versions.
func writeTable(versions []Version, packed Packed) []byte {
	sum := sha256.Sum256(packed.Content)
	t := make([]byte, 0, 64+len(versions)*40)
	t = append(t, frameFormat)
	t = binary.AppendUvarint(t, uint64(versions[0].ID))
	t = binary.AppendUvarint(t, uint64(len(versions)))
	t = append(t, sum[:]...)
	t = binary.AppendUvarint(t, uint64(len(packed.Between)))
	t = append(t, packed.Between...)
	all := findShared(versions)
	t = appendShared(t, all)
	at := Key{ID: versions[0].ID}
	for i := range versions {
		t = appendEntry(t, &at, &versions[i], all)
	}
	return t
}

func appendShared(t []byte, s shared) []byte {
	t = append(t, s.what)
	if s.has(sharedFlags) {
		t = append(t, s.flags)
	}
	if s.has(sharedDataset) {
		t = binary.AppendVarint(t, s.dataset)
	}
	if s.has(sharedVersion) {
		t = binary.AppendUvarint(t, uint64(s.version))
	}
	if s.has(sharedFetched) {
		t = binary.AppendVarint(t, s.fetched)
	}
	return t
}

// appendEntry writes what differs from the entry before, and is not the same for all.
func appendEntry(t []byte, at *Key, v *Version, all shared) []byte {
	flags := v.flags()
	if !all.has(sharedFlags) {
		t = append(t, flags)
	}
	if !all.has(sharedStep) {
		t = binary.AppendUvarint(t, uint64(v.ID-at.ID))
	}
	if !all.has(sharedDataset) {
		t = binary.AppendVarint(t, v.Dataset-at.Dataset)
	}
	t = append(t, v.Record[:]...)
	if !all.has(sharedVersion) {
		t = binary.AppendUvarint(t, uint64(v.Version))
	}
	if flags&flagPrev != 0 {
		t = binary.AppendVarint(t, v.ID-v.Prev)
	}
	if flags&flagUpdated != 0 {
		t = binary.AppendVarint(t, v.Updated-at.Updated)
		at.Updated = v.Updated
	}
	if flags&flagFetched != 0 && !all.has(sharedFetched) {
		t = binary.AppendVarint(t, v.Fetched-at.Fetched)
		at.Fetched = v.Fetched
	}
	t = binary.AppendUvarint(t, uint64(len(v.Item)))
	t = binary.AppendUvarint(t, uint64(len(v.Fields)))
	at.ID, at.Dataset = v.ID, v.Dataset
	return t
}

// readTable reads what MakeFrame wrote, and believes no number before it was held
// against the bytes that are there.
func (f *Frame) readTable() (t frameTable, err error) {
	r := tableReader{rest: f.Table}
	t.format = r.takeByte()
	if r.err == nil && (t.format < formerFormat || t.format > frameFormat) {
		return t, fmt.Errorf("its table has format %d, which this program does not know: it is damaged, or was written by a newer program", t.format)
	}
	id, count := r.takeID(), r.takeUvarint()
	copy(t.sum[:], r.take(sha256.Size))
	if t.format != formerFormat {
		n := r.takeLength()
		if n > MaxBetween && r.err == nil {
			r.err = fmt.Errorf("its table tells of %d bytes between two items, at most %d may be there", n, MaxBetween)
		}
		t.between = string(r.take(n))
	}
	var all shared
	if t.format == frameFormat {
		all = r.readShared()
	}
	switch {
	case r.err != nil:
		return t, r.err
	case id != f.ID:
		return t, fmt.Errorf("its table is of frame %d", id)
	case count == 0 || count > uint64(len(r.rest)/shortEntry) || count != uint64(f.Count):
		return t, fmt.Errorf("its table tells of %d versions, the row of %d, and it has %d bytes", count, f.Count, len(r.rest))
	}
	t.entries = make([]Entry, count)
	at := Key{ID: id}
	for i := range t.entries {
		e := &t.entries[i]
		if err := r.readEntry(e, &at, int64(min(i, 1)), all); err != nil {
			return t, err
		}
		if i > 0 && e.ID <= t.entries[i-1].ID || e.ID > f.Last || !t.place(i) {
			return t, fmt.Errorf("entry %d is out of its bounds", i)
		}
	}
	if len(r.rest) > 0 {
		return t, fmt.Errorf("its table goes on for %d bytes behind its last entry", len(r.rest))
	}
	last := &t.entries[len(t.entries)-1]
	if t.behind = last.begin + last.item; t.format == plainFormat {
		t.placeFields()
	}
	return t, nil
}

// place tells an entry where its content lies. It is false if that is more than a frame
// may have.
func (t *frameTable) place(i int) bool {
	e := &t.entries[i]
	switch {
	case t.format == formerFormat && i > 0:
		e.begin = t.entries[i-1].fieldsAt + t.entries[i-1].fields
	case i > 0:
		e.begin = t.entries[i-1].begin + t.entries[i-1].item + len(t.between)
		t.size += len(t.between)
	}
	e.fieldsAt = e.begin + e.item
	t.size += e.item + e.fields
	return t.size <= FrameMost
}

// placeFields tells where fields lie that stand as they are behind all items.
func (t *frameTable) placeFields() {
	at := t.behind
	for i := range t.entries {
		t.entries[i].fieldsAt = at
		at += t.entries[i].fields
	}
}

// readShared reads what appendShared wrote.
func (r *tableReader) readShared() (s shared) {
	if s.what = r.takeByte(); s.what&^everyShared != 0 && r.err == nil {
		r.err = fmt.Errorf("its entries share the unknown %#x", s.what)
	}
	if s.has(sharedFlags) {
		s.flags = r.takeByte()
	}
	if s.has(sharedDataset) {
		s.dataset = r.takeVarint()
	}
	if s.has(sharedVersion) {
		s.version = r.takeID()
	}
	if s.has(sharedFetched) {
		s.fetched = r.takeVarint()
	}
	return s
}

func (r *tableReader) readEntry(e *Entry, at *Key, step int64, all shared) error {
	flags := all.flags
	if !all.has(sharedFlags) {
		flags = r.takeByte()
	}
	if flags&^everyFlag != 0 {
		return fmt.Errorf("an entry has the unknown flags %#x", flags)
	}
	if !all.has(sharedStep) {
		step = r.takeID()
	}
	e.ID = at.ID + step
	if e.Dataset = all.dataset; !all.has(sharedDataset) {
		e.Dataset = r.takeVarint() + at.Dataset
	}
	copy(e.Record[:], r.take(len(e.Record)))
	if e.Version = all.version; !all.has(sharedVersion) {
		e.Version = r.takeID()
	}
	e.Updated, e.Fetched = NoInstant, NoInstant
	if flags&flagPrev != 0 {
		e.Prev = e.ID - r.takeVarint()
	}
	if flags&flagUpdated != 0 {
		e.Updated = r.takeVarint() + at.Updated
		at.Updated = e.Updated
	}
	switch {
	case flags&flagFetched == 0:
	case all.has(sharedFetched):
		e.Fetched = all.fetched
	default:
		e.Fetched = r.takeVarint() + at.Fetched
		at.Fetched = e.Fetched
	}
	e.item, e.fields = r.takeLength(), r.takeLength()
	if r.err == nil && e.ID < at.ID {
		r.err = errors.New("an id is larger than ids are")
	}
	at.ID, at.Dataset = e.ID, e.Dataset
	return r.err
}

// tableReader takes numbers off a table. After the first error all are zero.
type tableReader struct {
	rest []byte
	err  error
}

var errShortTable = errors.New("its table ends in the middle of an entry")

func (r *tableReader) take(n int) []byte {
	if r.err != nil || len(r.rest) < n {
		if r.err == nil {
			r.err = errShortTable
		}
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *tableReader) takeByte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *tableReader) takeUvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.take(len(r.rest) + 1)
		return 0
	}
	r.take(n)
	return v
}

func (r *tableReader) takeVarint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.take(len(r.rest) + 1)
		return 0
	}
	r.take(n)
	return v
}

func (r *tableReader) takeID() int64 {
	v := r.takeUvarint()
	if v > mostVersions && r.err == nil {
		r.err = errors.New("a number is larger than numbers are")
	}
	if r.err != nil {
		return 0
	}
	return int64(v)
}

func (r *tableReader) takeLength() int {
	v := r.takeUvarint()
	if v > FrameMost && r.err == nil {
		r.err = fmt.Errorf("an entry tells of %d bytes, a frame has at most %d", v, FrameMost)
	}
	if r.err != nil {
		return 0
	}
	return int(v)
}

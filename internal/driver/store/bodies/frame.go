package bodies

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// A frame holds some versions that follow one another by their ids, about 256 KB of
// items and fields packed as one (decisions 90, 110). Its table tells of each version what
// a row would, so history is walked without unpacking anything. docs/frames.md has
// the format for whoever reads it without this program.

const (
	framePlain = 256 << 10 // bytes of content that fill a frame
	FrameLeast = 64 << 10  // bytes of changed content that are worth frames of their own
	frameLeast = 32 << 10  // a last frame below this is joined to the one before it
	FrameMost  = 16 << 20  // bytes of content that a frame may unpack to; a larger version stays a row

	// First byte of a table. In the former format fields stood behind each item, in the
	// plain one as they are behind all items.
	frameFormat  = 3
	plainFormat  = 2
	formerFormat = 1

	contentMost = FrameMost + 64<<10 // bytes that items and recipes may have

	MaxBetween   = 32 // bytes between two items
	shortEntry   = 1 + 1 + 1 + 16 + 1 + 1 + 1
	flagPrev     = 1
	flagUpdated  = 2
	flagFetched  = 4
	everyFlag    = flagPrev | flagUpdated | flagFetched
	mostVersions = math.MaxInt64
)

// Version is one version of a record with its content.
type Version struct {
	Key
	Item, Fields []byte        // empty: none
	Parts        []record.Part // values of the fields, if it is known which they are
}

func (v *Version) size() int { return len(v.Item) + len(v.Fields) }

func contentSize(versions []Version) (n int) {
	for i := range versions {
		n += versions[i].size()
	}
	return n
}

// Frame is a row of ing_body_frame.
type Frame struct {
	ID, Last int64 // every version in it has an id from ID to Last
	Count    int   // of versions
	Codec    string
	Hash     []byte // SHA-256 of codec, a line feed and the table, which holds that of the content
	Table    []byte
	Content  []byte // packed items and fields
}

// Entry is what the table of a frame says of one version.
type Entry struct {
	Key
	begin, item      int // where its item begins in the content, and how long it is
	fieldsAt, fields int // the same of its fields, if they lie there as they are
}

// Size is how many bytes a version has.
type Size struct{ Item, Fields int }

// weight is what a version adds to the content of a frame, about: most of its fields lie
// in its item (decision 109).
func (s Size) weight() int { return s.Item + s.Fields/8 }

// CutFrames returns where frames end, for versions of given sizes: after how many.
func CutFrames(sizes []Size) (ends []int) {
	begin, weight, whole := 0, 0, 0
	for i, n := range sizes {
		if i > begin && whole+n.Item+n.Fields > FrameMost-(i-begin+1)*MaxBetween {
			ends, begin, weight, whole = append(ends, i), i, 0, 0
		}
		weight, whole = weight+n.weight(), whole+n.Item+n.Fields
		if weight >= framePlain {
			ends, begin, weight, whole = append(ends, i+1), i+1, 0, 0
		}
	}
	if begin == len(sizes) {
		return ends
	}
	if last := len(ends) - 1; last >= 0 && weight < frameLeast && whole < framePlain && sizes[begin-1].weight() < framePlain {
		ends[last] = len(sizes)
		return ends
	}
	return append(ends, len(sizes))
}

// MakeFrame makes a frame of versions in the order of their ids and of their packed
// content.
func MakeFrame(versions []Version, packed Packed) Frame {
	f := Frame{ID: versions[0].ID, Last: versions[len(versions)-1].ID, Count: len(versions), Codec: packed.Codec, Content: packed.Content}
	sum := sha256.Sum256(packed.Content)
	t := make([]byte, 0, 64+len(versions)*40)
	t = append(t, frameFormat)
	t = binary.AppendUvarint(t, uint64(f.ID))
	t = binary.AppendUvarint(t, uint64(f.Count))
	t = append(t, sum[:]...)
	t = binary.AppendUvarint(t, uint64(len(packed.Between)))
	t = append(t, packed.Between...)
	at := Key{ID: f.ID}
	for i := range versions {
		t = appendEntry(t, &at, &versions[i])
	}
	f.Table = t
	f.Hash = f.sum()
	return f
}

// appendEntry writes what differs from the entry before.
func appendEntry(t []byte, at *Key, v *Version) []byte {
	flags := byte(0)
	if v.Prev != 0 {
		flags |= flagPrev
	}
	if v.Updated != NoInstant {
		flags |= flagUpdated
	}
	if v.Fetched != NoInstant {
		flags |= flagFetched
	}
	t = append(t, flags)
	t = binary.AppendUvarint(t, uint64(v.ID-at.ID))
	t = binary.AppendVarint(t, v.Dataset-at.Dataset)
	t = append(t, v.Record[:]...)
	t = binary.AppendUvarint(t, uint64(v.Version))
	if v.Prev != 0 {
		t = binary.AppendVarint(t, v.ID-v.Prev)
	}
	if v.Updated != NoInstant {
		t = binary.AppendVarint(t, v.Updated-at.Updated)
		at.Updated = v.Updated
	}
	if v.Fetched != NoInstant {
		t = binary.AppendVarint(t, v.Fetched-at.Fetched)
		at.Fetched = v.Fetched
	}
	t = binary.AppendUvarint(t, uint64(len(v.Item)))
	t = binary.AppendUvarint(t, uint64(len(v.Fields)))
	at.ID, at.Dataset = v.ID, v.Dataset
	return t
}

// BuildFrames makes the frames of versions in the order of their ids.
func BuildFrames(versions []Version) (out []Frame) {
	sizes := make([]Size, len(versions))
	for i := range versions {
		sizes[i] = Size{len(versions[i].Item), len(versions[i].Fields)}
	}
	begin := 0
	for _, end := range CutFrames(sizes) {
		part := versions[begin:end]
		out, begin = append(out, MakeFrame(part, PackContent(part, ""))), end
	}
	return out
}

func (f *Frame) sum() []byte {
	h := sha256.New()
	h.Write([]byte(f.Codec + "\n"))
	h.Write(f.Table)
	return h.Sum(nil)
}

// Entries reads the table of a frame, after it was held against its hash.
func (f *Frame) Entries() ([]Entry, error) {
	t, err := f.checkTable()
	return t.entries, err
}

// frameTable is what the table of a frame says.
type frameTable struct {
	format  byte
	entries []Entry
	sum     [sha256.Size]byte // of the content as it is stored
	between string            // what stands between two items
	size    int               // of items and fields, and of what is between
	behind  int               // where the last item ends in the content
}

// checkTable holds the table of a frame against its hash and its row, and reads it.
func (f *Frame) checkTable() (t frameTable, err error) {
	if string(f.sum()) != string(f.Hash) {
		return frameTable{}, f.damaged(errors.New("its table does not fit its hash"))
	}
	if t, err = f.readTable(); err != nil {
		return frameTable{}, f.damaged(err)
	}
	if last := t.entries[len(t.entries)-1].ID; last != f.Last {
		return frameTable{}, f.damaged(fmt.Errorf("its table ends with body %d", last))
	}
	return t, nil
}

// Open reads all versions of a frame. Nothing of it is handed out unless all of it
// fits its hashes.
func (f *Frame) Open() ([]Version, error) { return f.open(false, nil) }

// Reopen reads versions that are to be packed again: with the parts of their fields.
func (f *Frame) Reopen() ([]Version, error) { return f.open(true, nil) }

// openFields reads all versions of a frame without their items. Fields are put together
// from what is unpacked, so that is needed only meanwhile, and its memory is used again:
// clearing new memory for every frame was a sixteenth of the time of an export.
func (f *Frame) openFields() ([]Version, error) {
	buffer := plainBuffers.Get().(*[]byte)
	defer plainBuffers.Put(buffer)
	out, err := f.open(false, buffer)
	for i := range out {
		out[i].Item = nil
	}
	return out, err
}

// plainBuffers are for what is unpacked and thrown away, up to the size of usual frames.
var plainBuffers = sync.Pool{New: func() any { return new([]byte) }}

const usualPlain = 1 << 20

// open reads versions. What it unpacks may lie in a buffer that is used again, if nothing
// but the items refers to it.
func (f *Frame) open(again bool, buffer *[]byte) ([]Version, error) {
	t, err := f.checkTable()
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(f.Content); got != t.sum {
		return nil, f.damaged(errors.New("its content does not fit its hash"))
	}
	if t.format != frameFormat {
		buffer = nil // fields lie in what is unpacked
	}
	plain, err := f.unpack(&t, buffer)
	if err != nil {
		return nil, f.damaged(err)
	}
	out := make([]Version, len(t.entries))
	for i := range t.entries {
		e := &t.entries[i]
		end := e.begin + e.item
		out[i] = Version{Key: e.Key, Item: plain[e.begin:end:end]}
		if t.format != frameFormat {
			end = e.fieldsAt + e.fields
			out[i].Fields = plain[e.fieldsAt:end:end]
		}
	}
	if t.format == frameFormat {
		if err := t.readRecipes(plain[t.behind:], out, again); err != nil {
			return nil, f.damaged(err)
		}
	}
	return out, nil
}

// unpack gives the content, which must have the size that the table says: all of it, or,
// where recipes stand behind the items, at least these. No more than a frame may have is
// ever asked for.
func (f *Frame) unpack(t *frameTable, buffer *[]byte) ([]byte, error) {
	size := t.size
	switch f.Codec {
	case codecPlain:
		if t.format == frameFormat && len(f.Content) <= contentMost {
			size = max(t.behind, len(f.Content))
		}
		if len(f.Content) != size {
			return nil, fmt.Errorf("its content has %d bytes, its table tells of %d", len(f.Content), size)
		}
		return f.Content, nil
	case codecZstd:
		var head zstd.Header
		err := head.Decode(f.Content)
		if err == nil && t.format == frameFormat && head.FrameContentSize <= contentMost {
			size = max(t.behind, int(head.FrameContentSize))
		}
		if err != nil || !head.HasFCS || head.FrameContentSize != uint64(size) {
			return nil, fmt.Errorf("its content does not say that it unpacks to %d bytes", size)
		}
		plain, err := frameDecoder.DecodeAll(f.Content, plainSpace(size, buffer))
		if err != nil { // it may say EOF, which would be taken for a server that hung up
			return nil, fmt.Errorf("its content cannot be unpacked: %s", err)
		}
		if len(plain) != size {
			return nil, fmt.Errorf("its content unpacks to %d bytes, its table tells of %d", len(plain), size)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("it is packed as %q, which this program does not know: it is damaged, or was written by a newer program", f.Codec)
}

// plainSpace returns room for exactly so many bytes: the decoder takes no more.
func plainSpace(size int, buffer *[]byte) []byte {
	if buffer == nil || size > usualPlain {
		return make([]byte, 0, size)
	}
	if cap(*buffer) < size {
		*buffer = make([]byte, 0, max(size, usualPlain/2))
	}
	return (*buffer)[:0:size]
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
		if err := r.readEntry(e, &at); err != nil {
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

func (r *tableReader) readEntry(e *Entry, at *Key) error {
	flags := r.takeByte()
	if flags&^everyFlag != 0 {
		return fmt.Errorf("an entry has the unknown flags %#x", flags)
	}
	e.ID = r.takeID() + at.ID
	e.Dataset = r.takeVarint() + at.Dataset
	copy(e.Record[:], r.take(len(e.Record)))
	e.Version = r.takeID()
	e.Updated, e.Fetched = NoInstant, NoInstant
	if flags&flagPrev != 0 {
		e.Prev = e.ID - r.takeVarint()
	}
	if flags&flagUpdated != 0 {
		e.Updated = r.takeVarint() + at.Updated
		at.Updated = e.Updated
	}
	if flags&flagFetched != 0 {
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

// damaged returns the error about a damaged frame. It is named by its versions, too:
// that is what people ask for.
func (f *Frame) damaged(why error) error {
	return fmt.Errorf("%w: frame %d (versions up to body %d): %w; %s", fault.ErrDamaged, f.ID, f.Last, why, DamageNext)
}

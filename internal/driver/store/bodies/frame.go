package bodies

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A frame holds some versions that follow one another by their ids, about 128 KB of
// items and fields packed as one (decisions 87, 90). Its table tells of each version what
// a row would, so history is walked without unpacking anything. docs/frames.md has
// the format for whoever reads it without this program.

const (
	framePlain = 128 << 10 // bytes of content that fill a frame
	FrameLeast = 64 << 10  // bytes of changed content that are worth frames of their own
	frameLeast = 32 << 10  // a last frame below this is joined to the one before it
	FrameMost  = 16 << 20  // bytes of content that a frame may unpack to; a larger version stays a row

	// frameWindow holds the usual frame whole, with a last part that is joined to it. Frames
	// that were packed with the former one can still be healed: see Refill.
	frameWindow  = 256 << 10
	formerWindow = 128 << 10

	frameFormat  = 1 // first byte of a table
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
	Item, Fields []byte // empty: none
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
	begin, item, fields int // where its content begins, and how long it is
}

// CutFrames returns where frames end, for versions of given sizes: after how many.
func CutFrames(sizes []int) (ends []int) {
	begin, size := 0, 0
	for i, n := range sizes {
		if i > begin && size+n > FrameMost {
			ends, begin, size = append(ends, i), i, 0
		}
		if size += n; size >= framePlain {
			ends, begin, size = append(ends, i+1), i+1, 0
		}
	}
	if begin == len(sizes) {
		return ends
	}
	if last := len(ends) - 1; last >= 0 && size < frameLeast && sizes[begin-1] < framePlain {
		ends[last] = len(sizes)
		return ends
	}
	return append(ends, len(sizes))
}

// PackContent packs the content of some versions for one frame. It needs no ids: it
// can be done before they are known.
func PackContent(versions []Version) (packed []byte, codec string) {
	return packContent(versions, frameEncoder)
}

func packContent(versions []Version, with *zstd.Encoder) (packed []byte, codec string) {
	size := contentSize(versions)
	plain := make([]byte, 0, size)
	for i := range versions {
		plain = append(append(plain, versions[i].Item...), versions[i].Fields...)
	}
	if size < worthCompressing {
		return plain, codecPlain
	}
	return with.EncodeAll(plain, make([]byte, 0, size/4)), codecZstd
}

// MakeFrame makes a frame of versions in the order of their ids and of their packed
// content.
func MakeFrame(versions []Version, packed []byte, codec string) Frame {
	f := Frame{ID: versions[0].ID, Last: versions[len(versions)-1].ID, Count: len(versions), Codec: codec, Content: packed}
	sum := sha256.Sum256(packed)
	t := make([]byte, 0, 64+len(versions)*40)
	t = append(t, frameFormat)
	t = binary.AppendUvarint(t, uint64(f.ID))
	t = binary.AppendUvarint(t, uint64(f.Count))
	t = append(t, sum[:]...)
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
	sizes := make([]int, len(versions))
	for i := range versions {
		sizes[i] = versions[i].size()
	}
	begin := 0
	for _, end := range CutFrames(sizes) {
		part := versions[begin:end]
		packed, codec := PackContent(part)
		out, begin = append(out, MakeFrame(part, packed, codec)), end
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
	entries, _, _, err := f.checkTable()
	return entries, err
}

// checkTable holds the table of a frame against its hash and its row, and reads it.
func (f *Frame) checkTable() (entries []Entry, sum [sha256.Size]byte, size int, err error) {
	if string(f.sum()) != string(f.Hash) {
		return nil, sum, 0, f.damaged(errors.New("its table does not fit its hash"))
	}
	if entries, sum, size, err = f.readTable(); err != nil {
		return nil, sum, 0, f.damaged(err)
	}
	if last := entries[len(entries)-1].ID; last != f.Last {
		return nil, sum, 0, f.damaged(fmt.Errorf("its table ends with body %d", last))
	}
	return entries, sum, size, nil
}

// Open reads all versions of a frame. Nothing of it is handed out unless all of it
// fits its hashes.
func (f *Frame) Open() ([]Version, error) {
	entries, sum, size, err := f.checkTable()
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(f.Content); got != sum {
		return nil, f.damaged(errors.New("its content does not fit its hash"))
	}
	plain, err := f.unpack(size)
	if err != nil {
		return nil, f.damaged(err)
	}
	out := make([]Version, len(entries))
	for i, e := range entries {
		fields := e.begin + e.item
		out[i] = Version{Key: e.Key, Item: plain[e.begin:fields:fields], Fields: plain[fields : fields+e.fields : fields+e.fields]}
	}
	return out, nil
}

// unpack gives the content, which must have the size that the table says. No more
// than that is ever asked for.
func (f *Frame) unpack(size int) ([]byte, error) {
	switch f.Codec {
	case codecPlain:
		if len(f.Content) != size {
			return nil, fmt.Errorf("its content has %d bytes, its table tells of %d", len(f.Content), size)
		}
		return f.Content, nil
	case codecZstd:
		var head zstd.Header
		if err := head.Decode(f.Content); err != nil || !head.HasFCS || head.FrameContentSize != uint64(size) {
			return nil, fmt.Errorf("its content does not say that it unpacks to %d bytes", size)
		}
		plain, err := frameDecoder.DecodeAll(f.Content, make([]byte, 0, size))
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

// readTable reads what MakeFrame wrote, and believes no number before it was held
// against the bytes that are there.
func (f *Frame) readTable() (entries []Entry, sum [sha256.Size]byte, size int, err error) {
	r := tableReader{rest: f.Table}
	if format := r.takeByte(); r.err == nil && format != frameFormat {
		return nil, sum, 0, fmt.Errorf("its table has format %d, which this program does not know: it is damaged, or was written by a newer program", format)
	}
	id, count := r.takeID(), r.takeUvarint()
	copy(sum[:], r.take(sha256.Size))
	switch {
	case r.err != nil:
		return nil, sum, 0, r.err
	case id != f.ID:
		return nil, sum, 0, fmt.Errorf("its table is of frame %d", id)
	case count == 0 || count > uint64(len(r.rest)/shortEntry) || count != uint64(f.Count):
		return nil, sum, 0, fmt.Errorf("its table tells of %d versions, the row of %d, and it has %d bytes", count, f.Count, len(r.rest))
	}
	entries = make([]Entry, count)
	at := Key{ID: id}
	for i := range entries {
		e := &entries[i]
		if err := r.readEntry(e, &at); err != nil {
			return nil, sum, 0, err
		}
		if i > 0 && e.ID <= entries[i-1].ID || e.ID > f.Last || e.begin+e.item+e.fields > FrameMost {
			return nil, sum, 0, fmt.Errorf("entry %d is out of its bounds", i)
		}
		if i+1 < len(entries) {
			entries[i+1].begin = e.begin + e.item + e.fields
		}
		size = e.begin + e.item + e.fields
	}
	if len(r.rest) > 0 {
		return nil, sum, 0, fmt.Errorf("its table goes on for %d bytes behind its last entry", len(r.rest))
	}
	return entries, sum, size, nil
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

// Both are made when the program starts, with all they need: what is made on first
// use inside of a test's bubble could not be used outside of it. They are safe for
// concurrent use.
var (
	frameEncoder = newFrameEncoder(frameWindow)
	frameDecoder = newFrameDecoder()
)

const frameCoders = 2 // that work at once

func newFrameEncoder(window int) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(frameCoders), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		panic(err) // the options are constants
	}
	e.EncodeAll([]byte{0}, nil)
	return e
}

func newFrameDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(frameCoders), zstd.WithDecoderMaxMemory(FrameMost), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
}

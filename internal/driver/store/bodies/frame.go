package bodies

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// A frame holds some versions that follow one another by their ids, about 512 KB of
// items and fields packed as one (decisions 90, 110, 164). Its table tells of each version what
// a row would, so history is walked without unpacking anything. docs/frames.md has
// the format for whoever reads it without this program.

const (
	framePlain = 512 << 10 // bytes of content that fill a frame, about
	FrameLeast = 64 << 10  // bytes of changed content that are worth frames of their own
	joinBelow  = 32 << 10  // a frame with less content is joined to its neighbours
	FrameMost  = 16 << 20  // bytes of content that a frame may unpack to; a larger version stays a row

	contentMost = FrameMost + 64<<10 // bytes that items and recipes may have

	MaxBetween = 32 // bytes between two items
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

// CutFrames returns where frames end, for versions of given sizes: after how many. All
// frames of a batch get about as much: a small last one would pack badly, and a server keeps
// each in whole pages of its own (decision 164).
func CutFrames(sizes []Size) (ends []int) {
	total := 0
	for _, n := range sizes {
		total += n.weight()
	}
	parts := max(1, (total+framePlain/2)/framePlain)
	begin, weight, whole, filled := 0, 0, 0, 0
	for i, n := range sizes {
		if i > begin && whole+n.Item+n.Fields > FrameMost-(i-begin+1)*MaxBetween {
			ends, begin, whole = append(ends, i), i, 0
		}
		weight, whole = weight+n.weight(), whole+n.Item+n.Fields
		if now := weight * parts / max(total, 1); now > filled && now < parts {
			ends, begin, whole, filled = append(ends, i+1), i+1, 0, now
		}
	}
	if begin < len(sizes) {
		ends = append(ends, len(sizes))
	}
	return ends
}

// MakeFrame makes a frame of versions in the order of their ids and of their packed
// content.
func MakeFrame(versions []Version, packed Packed) Frame {
	f := Frame{ID: versions[0].ID, Last: versions[len(versions)-1].ID, Count: len(versions), Codec: packed.Codec, Content: packed.Content}
	f.Table = writeTable(versions, packed)
	f.Hash = f.sum()
	return f
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

// openOne reads one version of a frame, if it is there. The whole frame must fit its hashes, but
// only this version is put together and kept.
func (f *Frame) openOne(id int64) (v Version, there bool, err error) {
	t, err := f.checkTable()
	if err != nil {
		return v, false, err
	}
	i, there := slices.BinarySearchFunc(t.entries, id, func(e Entry, id int64) int { return cmp.Compare(e.ID, id) })
	if !there {
		return v, false, nil
	}
	if !t.hasRecipes() {
		all, err := f.Open()
		if err != nil {
			return v, false, err
		}
		return all[i], true, nil
	}
	buffer := plainBuffers.Get().(*[]byte)
	defer plainBuffers.Put(buffer)
	plain, err := f.checkContent(&t, buffer)
	if err != nil {
		return v, false, err
	}
	e := &t.entries[i]
	v = Version{Key: e.Key, Item: bytes.Clone(plain[e.begin : e.begin+e.item])}
	if v.Fields, err = t.readRecipe(plain, i); err != nil {
		return v, false, f.damaged(err)
	}
	return v, true, nil
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
	if !t.hasRecipes() {
		buffer = nil // fields lie in what is unpacked
	}
	plain, err := f.checkContent(&t, buffer)
	if err != nil {
		return nil, err
	}
	out := make([]Version, len(t.entries))
	for i := range t.entries {
		e := &t.entries[i]
		end := e.begin + e.item
		out[i] = Version{Key: e.Key, Item: plain[e.begin:end:end]}
		if !t.hasRecipes() {
			end = e.fieldsAt + e.fields
			out[i].Fields = plain[e.fieldsAt:end:end]
		}
	}
	if t.hasRecipes() {
		if err := t.readRecipes(plain[t.behind:], out, again); err != nil {
			return nil, f.damaged(err)
		}
	}
	return out, nil
}

// checkContent holds the content of a frame against its hash and unpacks it.
func (f *Frame) checkContent(t *frameTable, buffer *[]byte) ([]byte, error) {
	if got := sha256.Sum256(f.Content); got != t.sum {
		return nil, f.damaged(errors.New("its content does not fit its hash"))
	}
	plain, err := f.unpack(t, buffer)
	if err != nil {
		return nil, f.damaged(err)
	}
	return plain, nil
}

// unpack gives the content, which must have the size that the table says: all of it, or,
// where recipes stand behind the items, at least these. No more than a frame may have is
// ever asked for.
func (f *Frame) unpack(t *frameTable, buffer *[]byte) ([]byte, error) {
	size := t.size
	switch f.Codec {
	case codecPlain:
		if t.hasRecipes() && len(f.Content) <= contentMost {
			size = max(t.behind, len(f.Content))
		}
		if len(f.Content) != size {
			return nil, fmt.Errorf("its content has %d bytes, its table tells of %d", len(f.Content), size)
		}
		return f.Content, nil
	case codecZstd:
		var head zstd.Header
		err := head.Decode(f.Content)
		if err == nil && t.hasRecipes() && head.FrameContentSize <= contentMost {
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

// damaged returns the error about a damaged frame. It is named by its versions, too:
// that is what people ask for.
func (f *Frame) damaged(why error) error {
	return fmt.Errorf("%w: frame %d (versions up to body %d): %w; %s", fault.ErrDamaged, f.ID, f.Last, why, DamageNext)
}

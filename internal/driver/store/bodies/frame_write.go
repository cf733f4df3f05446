package bodies

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const frameWidth = 7

// InsertFrames writes frames. Their versions must stand nowhere else when the
// transaction ends.
func InsertFrames(t *kernel.Tx, frames []Frame) error {
	values := make([]any, 0, frameWidth*len(frames))
	for _, f := range frames {
		values = append(values, f.ID, f.Last, f.Count, f.Codec, f.Hash, f.Table, f.Content)
	}
	return t.InsertFlat("ing_body_frame", frameColumns+", content", frameWidth, values)
}

// Removal collects versions that are to be removed. A frame that keeps some is written
// anew without the others; one that keeps none is removed.
type Removal struct {
	rows   []int64
	frames map[int64]*openFrame
	gone   map[int64]bool
}

// openFrame is a frame with its versions.
type openFrame struct {
	Frame
	versions []Version
}

// Add notes that a version is to be removed. One whose frame is damaged cannot be: the
// others could not be written anew.
func (r *Removal) Add(ask Ask, b Stored) error {
	id, framed := b.Frame()
	if _, opened := r.frames[id]; framed && !opened {
		f, there, err := ReadFrame(ask, id, WholePart)
		if err == nil && (!there || f.ID != id) {
			err = fmt.Errorf("%w: frame %d was changed meanwhile", fault.ErrBusy, id)
		}
		if err != nil {
			return err
		}
		versions, err := f.Reopen()
		if err != nil {
			return err
		}
		if r.frames == nil {
			r.frames = map[int64]*openFrame{}
		}
		r.frames[id] = &openFrame{f, versions}
	}
	if !framed {
		r.rows = append(r.rows, b.ID)
	}
	if r.gone == nil {
		r.gone = map[int64]bool{}
	}
	r.gone[b.ID] = true
	return nil
}

// Has reports whether a version is to be removed.
func (r *Removal) Has(id int64) bool { return r.gone[id] }

// Versions returns how many versions are to be removed, and of how many frames.
func (r *Removal) Versions() (versions, frames int) { return len(r.gone), len(r.frames) }

// Do removes them, and returns the frames that are small without them. A frame that
// somebody else changed meanwhile is an error.
func (r *Removal) Do(t *kernel.Tx) (small []int64, err error) {
	if err := DeleteRows(t, r.rows); err != nil {
		return nil, err
	}
	var old, rest []Frame
	for _, id := range slices.Sorted(maps.Keys(r.frames)) { // one lock order
		f := r.frames[id]
		old = append(old, f.Frame)
		kept := slices.DeleteFunc(slices.Clone(f.versions), func(v Version) bool { return r.gone[v.ID] })
		if len(kept) > 0 {
			rest = append(rest, BuildFrames(kept)...)
		}
		if contentSize(kept) < joinBelow && len(kept) > 0 {
			small = append(small, kept[0].ID)
		}
	}
	return small, ReplaceFrames(t, old, rest)
}

// ReplaceFrames writes frames in the place of others, which must be as they were read.
func ReplaceFrames(t *kernel.Tx, old, frames []Frame) error {
	for _, f := range old {
		n, err := t.Affected("DELETE FROM ing_body_frame WHERE frame_id = ? AND hash = ?", f.ID, f.Hash)
		if err == nil && n != 1 {
			err = fmt.Errorf("%w: frame %d was changed meanwhile; try again", fault.ErrBusy, f.ID)
		}
		if err != nil {
			return err
		}
	}
	return InsertFrames(t, frames)
}

// DeleteRows removes the rows of versions. All of them must be there: one that is not
// was removed or moved by somebody else meanwhile.
func DeleteRows(t *kernel.Tx, ids []int64) error {
	for chunk := range slices.Chunk(ids, kernel.IDsPerStatement) {
		list := make([]any, kernel.IDsPerStatement)
		for i := range list { // padded, so that there is one statement
			list[i] = chunk[min(i, len(chunk)-1)]
		}
		n, err := t.Affected("DELETE FROM ing_record_body WHERE body_id IN ("+kernel.Marks(len(list))+")", list...)
		if err == nil && n != int64(len(chunk)) {
			err = fmt.Errorf("%w: %d of %d versions were moved or removed meanwhile; try again", fault.ErrBusy, int64(len(chunk))-n, len(chunk))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

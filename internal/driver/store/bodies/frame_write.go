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

// Remove removes versions, wherever they are. A frame that keeps some is written
// anew without the others; one that keeps none is removed.
func Remove(t *kernel.Tx, gone []Stored) error {
	var rows []int64
	from := map[int64][]int64{} // frame → versions
	for i := range gone {
		if id, framed := gone[i].Frame(); framed {
			from[id] = append(from[id], gone[i].ID)
		} else {
			rows = append(rows, gone[i].ID)
		}
	}
	if err := DeleteRows(t, rows); err != nil {
		return err
	}
	var rest []Frame
	for _, id := range slices.Sorted(maps.Keys(from)) { // one lock order
		f, there, err := readFrameToWrite(t, id)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("%w: frame %d was changed meanwhile", fault.ErrBusy, id)
		}
		kept, err := f.Open()
		if err != nil {
			return err
		}
		kept = slices.DeleteFunc(kept, func(v Version) bool { return slices.Contains(from[id], v.ID) })
		if err := t.ExecOne("DELETE FROM ing_body_frame WHERE frame_id = ?", id); err != nil {
			return err
		}
		if len(kept) > 0 {
			rest = append(rest, BuildFrames(kept)...)
		}
	}
	return InsertFrames(t, rest)
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

// readFrameToWrite reads a frame and locks it where the database has locks for rows.
func readFrameToWrite(t *kernel.Tx, id int64) (f Frame, there bool, err error) {
	rows, err := t.Query(selectFrames(WholePart)+" FROM ing_body_frame WHERE frame_id = ?"+t.Dialect().ForUpdate, id)
	if err != nil {
		return f, false, err
	}
	return f, there, kernel.Each(rows, func() error {
		there = true
		f, err = scanFrame(rows, WholePart)
		return err
	})
}

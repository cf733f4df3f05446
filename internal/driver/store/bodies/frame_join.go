package bodies

import (
	"errors"
	"fmt"
	"iter"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// joinedMost is how many bytes of content frames may have that are joined: what a frame
// has with a last part that is too small to stand alone.
const joinedMost = framePlain + joinBelow

// Table is a frame without its content.
type Table struct {
	Frame
	size   int   // of the content that is not packed
	Damage error // nothing is known of it
}

// ReadTables reads the frames behind a version, and the one before them, in the order
// of their ids.
func ReadTables(ask Ask, from, upto int64, limit int) (out []Table, err error) {
	rows, err := ask(selectFrames(KeyPart)+" FROM ing_body_frame WHERE frame_id >= COALESCE((SELECT MAX(frame_id) FROM ing_body_frame WHERE frame_id < ?), 0) AND frame_id <= ? ORDER BY frame_id LIMIT ?", from, upto, limit)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		f, err := scanFrame(rows, KeyPart)
		if err != nil {
			return err
		}
		t := Table{Frame: f}
		read, err := f.checkTable()
		if t.size = read.size; errors.Is(err, fault.ErrDamaged) {
			t.Damage, err = err, nil
		}
		out = append(out, t)
		return err
	})
}

// JoinableRuns returns frames in runs, each of which makes one frame: a small one goes
// with its neighbours as long as the frame does not become too large. Frames that were
// joined make the same runs again. A damaged frame is alone.
func JoinableRuns(page []Table) iter.Seq[[]Table] {
	return func(yield func([]Table) bool) {
		begin, size := 0, 0
		for i := range page {
			t := &page[i]
			small := size < joinBelow || t.size < joinBelow
			if i > begin && (!small || size+t.size >= joinedMost || t.Damage != nil || page[begin].Damage != nil) {
				if !yield(page[begin:i]) {
					return
				}
				begin, size = i, 0
			}
			size += t.size
		}
		if begin < len(page) {
			yield(page[begin:])
		}
	}
}

// JoinFrames reads the frames of a run and makes one of them. One whose content is
// damaged is noted as such.
func JoinFrames(ask Ask, run []Table) (old []Frame, joined Frame, err error) {
	var versions []Version
	for i := range run {
		f, there, err := ReadFrame(ask, run[i].ID, WholePart)
		if err == nil && (!there || f.ID != run[i].ID) {
			err = fmt.Errorf("%w: frame %d was changed meanwhile; try again", fault.ErrBusy, run[i].ID)
		}
		if err != nil {
			return nil, joined, err
		}
		part, err := f.Reopen()
		if err != nil {
			run[i].Damage = err
			return nil, joined, err
		}
		old, versions = append(old, f), append(versions, part...)
	}
	return old, MakeFrame(versions, PackContent(versions, "")), nil
}

// StoredSize returns how many bytes frames take.
func StoredSize(frames ...Frame) (n int64) {
	for i := range frames {
		n += int64(len(frames[i].Table) + len(frames[i].Content))
	}
	return n
}

package bodies

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A lean answer is an answer without its items, which are stored as versions of records
// already (decision 165). What is left are its gaps: what stands before the first item,
// between two items and behind the last one. It is stored as runs of equal gaps: how many
// there are, how many bytes each has, and these bytes.

// restMost is how many bytes of gaps are stored. An answer with more of them holds much
// that is not in its items, such as items that were refused, and is kept whole.
const restMost = 64 << 10

// AnswerMost is the largest answer that is kept so, and that is put together again. Whole ones
// have the same limit.
const AnswerMost = 1 << 30

// LeaveOutItems returns the gaps of an answer. ok is false if the items do not lie in it,
// byte for byte and in this order, or if too much is left.
func LeaveOutItems(answer []byte, items int, at func(i int) (item []byte, offset int)) (rest []byte, ok bool) {
	var gap []byte
	run, end := uint64(0), 0
	write := func() {
		if run > 0 {
			rest = binary.AppendUvarint(binary.AppendUvarint(rest, run), uint64(len(gap)))
			rest = append(rest, gap...)
		}
	}
	if len(answer) > AnswerMost {
		return nil, false
	}
	for i := 0; i <= items; i++ {
		item, offset := []byte(nil), len(answer)
		if i < items {
			item, offset = at(i)
		}
		if offset < end || offset > len(answer) || !bytes.HasPrefix(answer[offset:], item) {
			return nil, false
		}
		next := answer[end:offset]
		if run > 0 && bytes.Equal(gap, next) {
			run++
		} else {
			write()
			gap, run = next, 1
		}
		if end = offset + len(item); len(rest)+len(gap) > restMost {
			return nil, false
		}
	}
	write()
	return rest, items > 0
}

// Joining puts an answer together again: its gaps, with an item after each but the last.
type Joining struct {
	out  []byte
	most int
	rest []byte
	gap  []byte
	run  uint64 // how often the gap is still to come
}

// JoinAnswer begins to put together an answer of so many bytes. What is stored of it may be damaged: then there is
// nothing to begin with, and adding to it fails.
func JoinAnswer(rest []byte, size int) *Joining {
	return &Joining{rest: rest, most: size, out: make([]byte, 0, max(0, min(size, restMost+FrameMost)))}
}

// Add adds the next item.
func (j *Joining) Add(item []byte) error {
	if err := j.addGap(); err != nil {
		return err
	}
	return j.add(item)
}

// Close adds what stands behind the last item and returns the answer. Whether it is the one that came is for its
// hash to tell.
func (j *Joining) Close() ([]byte, error) {
	if err := j.addGap(); err != nil {
		return nil, err
	}
	if j.run > 0 || len(j.rest) > 0 || len(j.out) != j.most {
		return nil, damagedRest("it says that there is more than there is")
	}
	return j.out, nil
}

func (j *Joining) addGap() error {
	if j.run == 0 {
		run, n := binary.Uvarint(j.rest)
		size, m := uint64(0), 0
		if n > 0 {
			size, m = binary.Uvarint(j.rest[n:])
		}
		if n <= 0 || m <= 0 || run == 0 || size > uint64(len(j.rest)-n-m) {
			return damagedRest("it ends too early")
		}
		j.run, j.gap, j.rest = run, j.rest[n+m:n+m+int(size)], j.rest[n+m+int(size):]
	}
	j.run--
	return j.add(j.gap)
}

// add never makes more of it than the answer had, whatever the rest says.
func (j *Joining) add(part []byte) error {
	if len(part) > j.most-len(j.out) {
		return damagedRest(fmt.Sprintf("it gives more than the %d bytes of the answer", j.most))
	}
	j.out = append(j.out, part...)
	return nil
}

func damagedRest(why string) error {
	return fmt.Errorf("%w: what was kept of an answer beside its items: %s", fault.ErrDamaged, why)
}

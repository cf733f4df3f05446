package bodies

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// answerOf lays items into an answer with a gap before each and one behind the last.
func answerOf(gaps, items [][]byte) (answer []byte, offsets []int) {
	for i, item := range items {
		answer = append(answer, gaps[i]...)
		offsets = append(offsets, len(answer))
		answer = append(answer, item...)
	}
	return append(answer, gaps[len(items)]...), offsets
}

func leaveOut(answer []byte, items [][]byte, offsets []int) ([]byte, bool) {
	return LeaveOutItems(answer, len(items), func(i int) ([]byte, int) { return items[i], offsets[i] })
}

func join(rest []byte, size int, items [][]byte) ([]byte, error) {
	j := JoinAnswer(rest, size)
	for _, item := range items {
		if err := j.Add(item); err != nil {
			return nil, err
		}
	}
	return j.Close()
}

// Whatever stands between items, an answer comes back to the last byte.
func TestALeanAnswerComesBack(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		text := func(most int) []byte {
			out := make([]byte, random.IntN(most+1))
			for i := range out {
				out[i] = byte(random.IntN(256))
			}
			return out
		}
		items, gaps := make([][]byte, 1+random.IntN(9)), [][]byte{text(40)}
		for i := range items {
			items[i] = text(60)
			gap := []byte(",")
			if random.IntN(4) == 0 {
				gap = text(5)
			}
			gaps = append(gaps, gap)
		}
		answer, offsets := answerOf(gaps, items)
		rest, ok := leaveOut(answer, items, offsets)
		if !ok {
			t.Fatalf("seed %d: the items lie in the answer, and were not found there", seed)
		}
		if got, err := join(rest, len(answer), items); err != nil || !bytes.Equal(got, answer) {
			t.Fatalf("seed %d: %q, %v; want %q", seed, got, err, answer)
		}
		if got, err := join(rest, len(answer), items[1:]); err == nil {
			t.Fatalf("seed %d: without its first item it is %q", seed, got)
		}
	}
}

// Gaps that are alike are stored once.
func TestEqualGapsAreStoredOnce(t *testing.T) {
	items, gaps := make([][]byte, 500), [][]byte{[]byte(`{"items":[`)}
	for i := range items {
		items[i], gaps = []byte(`{"a":1}`), append(gaps, []byte(","))
	}
	gaps[len(items)] = []byte("]}")
	answer, offsets := answerOf(gaps, items)
	if rest, ok := leaveOut(answer, items, offsets); !ok || len(rest) > 24 {
		t.Errorf("%v: %d bytes: %q", ok, len(rest), rest)
	}
}

// An answer that does not have the items as they are stored is not torn apart, nor is one of which much is left.
func TestItemsThatDoNotLieInAnAnswer(t *testing.T) {
	answer := []byte(`[{"a":1},{"b":2}]`)
	one, two := []byte(`{"a":1}`), []byte(`{"b":2}`)
	for name, c := range map[string]struct {
		items   [][]byte
		offsets []int
	}{
		"another item":     {[][]byte{one, []byte(`{"b":3}`)}, []int{1, 9}},
		"another order":    {[][]byte{two, one}, []int{9, 1}},
		"one in another":   {[][]byte{one, one[2:]}, []int{1, 3}},
		"behind the end":   {[][]byte{one, two}, []int{1, 18}},
		"beyond the end":   {[][]byte{one, append(two, ']', ']')}, []int{1, 9}},
		"a negative place": {[][]byte{one, two}, []int{-1, 9}},
		"no items":         {nil, nil},
	} {
		if rest, ok := leaveOut(answer, c.items, c.offsets); ok {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
	long := append(bytes.Repeat([]byte("x"), restMost+1), one...)
	if _, ok := leaveOut(long, [][]byte{one}, []int{restMost + 1}); ok {
		t.Error("what is left is longer than what is stored")
	}
}

// Whatever stands in the rest, no more comes of it than the answer had.
func FuzzJoinAnswer(f *testing.F) {
	answer, offsets := answerOf([][]byte{[]byte("["), []byte(","), []byte("]")}, [][]byte{[]byte("1"), []byte("22")})
	rest, _ := leaveOut(answer, [][]byte{[]byte("1"), []byte("22")}, offsets)
	f.Add(rest, len(answer), 2)
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1, ','}, 1<<20, 100)
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 10, 1)
	f.Fuzz(func(t *testing.T, rest []byte, size, items int) {
		size, items = size&0xfffff, items&0xff
		got, err := join(rest, size, make([][]byte, items))
		if err != nil && !errors.Is(err, fault.ErrDamaged) || err == nil && len(got) != size || cap(got) > size+1024 {
			t.Errorf("%d of %d bytes, %v", len(got), size, err)
		}
	})
}

package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// randomVersions draws versions with all that a version can lack.
func randomVersions(dice *rand.Rand, n, size int) (out []Version) {
	id := int64(1+dice.IntN(1000)) << Bits
	for i := range n {
		id += int64(1 + dice.IntN(3))
		if dice.IntN(10) == 0 {
			id += 1 << Bits
		}
		v := Version{Key: Key{ID: id, Dataset: int64(1 + dice.IntN(3)), Record: record.KeyOf(fmt.Sprint("id-", i)), Version: int64(1 + dice.IntN(9)), Updated: NoInstant, Fetched: dice.Int64N(1 << 50)}}
		if dice.IntN(2) == 0 {
			v.Prev = dice.Int64N(id)
		}
		if dice.IntN(3) > 0 {
			v.Updated = dice.Int64N(1<<51) - 1<<50
		}
		if dice.IntN(8) > 0 {
			v.Item = fmt.Appendf(nil, `{"id":%d,"title":"%s"}`, i, strings.Repeat("word ", dice.IntN(size)))
		}
		if dice.IntN(4) > 0 {
			v.Fields = fmt.Appendf(nil, `{"title":"%s"}`, strings.Repeat("word ", dice.IntN(size)))
		}
		out = append(out, v)
	}
	return out
}

func TestAFrameGivesBackWhatWentIn(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		want := randomVersions(dice, 1+n%150, 1+n*3)
		var got []Version
		var keys []Key
		last := int64(-1)
		for _, f := range BuildFrames(want) {
			if f.ID <= last || f.Last < f.ID {
				t.Fatalf("frame %d to %d comes after %d", f.ID, f.Last, last)
			}
			last = f.Last
			versions, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			entries, err := f.Entries()
			if err != nil || len(entries) != len(versions) {
				t.Fatalf("%d entries of %d versions: %v", len(entries), len(versions), err)
			}
			for _, e := range entries {
				keys = append(keys, e.Key)
			}
			got = append(got, versions...)
		}
		if len(got) != len(want) {
			t.Fatalf("%d versions came back of %d", len(got), len(want))
		}
		for i := range want {
			if got[i].Key != want[i].Key || keys[i] != want[i].Key || !bytes.Equal(got[i].Item, want[i].Item) || !bytes.Equal(got[i].Fields, want[i].Fields) {
				t.Fatalf("version %d came back as %+v", i, got[i].Key)
			}
		}
	}
}

// What a version may say at most, and least.
func TestAFrameTakesTheLargestNumbers(t *testing.T) {
	want := []Version{
		{Key: Key{ID: 0, Dataset: math.MaxInt64, Version: math.MaxInt64, Updated: math.MinInt64 + 1, Fetched: math.MaxInt64}},
		{Key: Key{ID: math.MaxInt64, Dataset: math.MinInt64, Version: 0, Prev: math.MaxInt64 - 1, Updated: math.MaxInt64, Fetched: NoInstant}},
	}
	f := BuildFrames(want)[0]
	got, err := f.Open()
	if err != nil || got[0].Key != want[0].Key || got[1].Key != want[1].Key {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFramesAreCutBySize(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  []int
	}{
		{nil, nil},
		{[]int{1}, []int{1}},
		{[]int{50 << 10, 50 << 10, 50 << 10, 30 << 10}, []int{4}}, // the last 30 KB are below the least
		{[]int{128 << 10, 40 << 10}, []int{1, 2}},
		{[]int{80 << 10, 80 << 10, 1, 1}, []int{4}},
		{[]int{1 << 20, 1}, []int{1, 2}}, // a large version stays alone: who wants the other need not unpack it
		{[]int{10, FrameMost}, []int{1, 2}},
	} {
		if got := CutFrames(c.sizes); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v is cut at %v, want %v", c.sizes, got, c.want)
		}
	}
}

// Every changed bit and every missing byte is noticed, and the message names the frame.
func TestADamagedFrameIsNeverRead(t *testing.T) {
	f := BuildFrames(randomVersions(rand.New(rand.NewPCG(3, 4)), 20, 30))[0]
	refuse := func(what string, f Frame) {
		t.Helper()
		versions, err := f.Open()
		switch {
		case err == nil || versions != nil:
			t.Errorf("%s: %d versions were read", what, len(versions))
		case !errors.Is(err, fault.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("frame %d ", f.ID)):
			t.Errorf("%s: %v", what, err)
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%s looks like a line that broke: %v", what, err)
		}
	}
	for name, part := range map[string]*[]byte{"table": &f.Table, "content": &f.Content, "hash": &f.Hash} {
		whole := *part
		for i := range whole {
			*part = bytes.Clone(whole)
			(*part)[i] ^= 1 << (i % 8)
			refuse(fmt.Sprintf("%s, byte %d", name, i), f)
			*part = whole[:i]
			refuse(fmt.Sprintf("%s, %d bytes", name, i), f)
		}
		*part = whole
	}
	for name, change := range map[string]func(*Frame){
		"id":    func(f *Frame) { f.ID++ },
		"count": func(f *Frame) { f.Count++ },
		"last":  func(f *Frame) { f.Last-- },
		"later": func(f *Frame) { f.Last++ },
		"codec": func(f *Frame) { f.Codec = codecPlain },
	} {
		g := f
		change(&g)
		refuse(name, g)
	}
}

// Who can write the hash too can still not make the reader ask for more memory than
// a frame may have.
func TestForgedLengthsAreNotBelieved(t *testing.T) {
	base := Version{Key: Key{ID: 7, Version: 1, Updated: NoInstant, Fetched: NoInstant}, Item: bytes.Repeat([]byte("x"), 4000)}
	bomb := frameEncoder.EncodeAll(make([]byte, FrameMost+1), nil)
	for name, forge := range map[string]func(*Frame){
		"content of another size": func(f *Frame) { f.Content = frameEncoder.EncodeAll(make([]byte, 3000), nil) },
		"a bomb":                  func(f *Frame) { f.Content = bomb },
		"a bomb behind it":        func(f *Frame) { f.Content = append(bytes.Clone(f.Content), bomb...) },
		"a count of many":         func(f *Frame) { f.Count = 1 << 40 },
		"no content":              func(f *Frame) { f.Content = nil },
		"plain of another size":   func(f *Frame) { f.Codec, f.Content = codecPlain, []byte("short") },
	} {
		packed, codec := PackContent([]Version{base})
		f := MakeFrame([]Version{base}, packed, codec)
		forge(&f)
		reseal(&f)
		if versions, err := f.Open(); !errors.Is(err, fault.ErrDamaged) || versions != nil {
			t.Errorf("%s: %d versions, %v", name, len(versions), err)
		}
	}
	f := MakeFrame([]Version{base}, nil, codecZstd)
	f.Table = append(f.Table[:len(f.Table)-3], 0xff, 0xff, 0xff, 0xff, 0x7f, 0) // an item of 32 GB
	reseal(&f)
	if _, err := f.Entries(); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("an item of many gigabytes: %v", err)
	}
}

// reseal makes the hashes of a forged frame fit.
func reseal(f *Frame) {
	sum := sha256.Sum256(f.Content)
	_, n := binary.Uvarint(f.Table[1:])
	_, m := binary.Uvarint(f.Table[1+n:])
	if f.Count > 1<<30 {
		t := append([]byte{frameFormat}, f.Table[1:1+n]...)
		t = binary.AppendUvarint(t, uint64(f.Count))
		f.Table = append(t, f.Table[1+n+m:]...)
		_, m = binary.Uvarint(f.Table[1+n:])
	}
	copy(f.Table[1+n+m:], sum[:])
	f.Hash = f.sum()
}

// FuzzFrame forges tables and contents whose hashes fit. The reader gives an error or
// versions that make the same frame again, and never takes more memory than a frame may.
func FuzzFrame(f *testing.F) {
	dice := rand.New(rand.NewPCG(5, 6))
	for n := range 8 {
		frame := BuildFrames(randomVersions(dice, 1+3*n, 20))[0]
		f.Add(frame.Table, frame.Content, frame.Codec == codecZstd)
		f.Add(frame.Table[:len(frame.Table)/2], frame.Content, true)
		f.Add(frame.Table, frame.Content[:len(frame.Content)/2], true)
	}
	f.Add([]byte{frameFormat}, []byte{}, false)
	f.Add([]byte{}, frameEncoder.EncodeAll(make([]byte, 1<<20), nil), true)
	f.Fuzz(func(t *testing.T, table, content []byte, packed bool) {
		frame := Frame{Last: math.MaxInt64, Codec: codecPlain, Table: bytes.Clone(table), Content: content}
		if packed {
			frame.Codec = codecZstd
		}
		if len(table) > 1 {
			id, n := binary.Uvarint(table[1:])
			if n > 0 {
				count, m := binary.Uvarint(table[1+n:])
				frame.ID, frame.Count = int64(id), int(count)
				sum := sha256.Sum256(content)
				if m > 0 {
					copy(frame.Table[1+n+m:], sum[:])
				}
			}
		}
		frame.Hash = frame.sum()
		if entries, _, _, err := frame.readTable(); err == nil {
			frame.Last = entries[len(entries)-1].ID
		}
		versions, err := frame.Open()
		if err != nil {
			if !errors.Is(err, fault.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprint("frame ", frame.ID)) {
				t.Fatalf("an error that does not name the frame: %v", err)
			}
			return
		}
		size := 0
		for i := range versions {
			size += versions[i].size()
		}
		if size > FrameMost {
			t.Fatalf("%d bytes came out", size)
		}
		again := MakeFrame(versions, content, frame.Codec)
		entries, err := again.Entries()
		if err != nil || len(entries) != len(versions) {
			t.Fatalf("what was read makes no frame: %v", err)
		}
		for i := range entries {
			if entries[i].Key != versions[i].Key {
				t.Fatalf("entry %d became %+v", i, entries[i].Key)
			}
		}
	})
}

// Frames of programs that packed with a smaller window are healed like others.
func TestFramesOfTheFormerWindowAreHealed(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 9))
	for _, size := range []int{40 << 10, 100 << 10, 300 << 10} {
		half := make([]byte, size/2)
		for i := range half {
			half[i] = byte('a' + dice.IntN(4))
		}
		v := Version{Key: Key{ID: 7, Dataset: 1, Version: 1, Updated: NoInstant, Fetched: NoInstant}, Item: append(half, half...)}
		content, codec := packContent([]Version{v}, newFrameEncoder(formerWindow))
		f := MakeFrame([]Version{v}, content, codec)
		f.Content = nil
		if err := f.Refill(func(int64) ([]byte, []byte, bool) { return v.Item, nil, true }); err != nil || !bytes.Equal(f.Content, content) {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
}

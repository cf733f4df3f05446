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
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
)

// randomVersions draws versions with all that a version can lack.
func randomVersions(dice *rand.Rand, n, size int) (out []Version) {
	id, parts := int64(1+dice.IntN(1000))<<Bits, dice.IntN(3) > 0
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
			v.Fields = fmt.Appendf(nil, `{"id":%d,"title":"%s"}`, i, strings.Repeat("word ", dice.IntN(size)))
			if parts {
				v.Parts = partsOf(dice, &v)
			}
		}
		out = append(out, v)
	}
	return out
}

// partsOf tells which values the fields of a version have, and where they may lie: most of
// it is true.
func partsOf(dice *rand.Rand, v *Version) (out []record.Part) {
	for at := 0; at < len(v.Fields); {
		end := at + 1 + dice.IntN(len(v.Fields)-at)
		if comma := bytes.IndexByte(v.Fields[at:], ','); comma >= 0 && dice.IntN(4) > 0 {
			end = at + comma
		}
		begin := min(end, at+bytes.IndexByte(v.Fields[at:], ':')+1)
		part := record.Part{Begin: int32(begin), End: int32(end), Place: int32(bytes.Index(v.Item, v.Fields[begin:end]))}
		if dice.IntN(10) == 0 {
			part.Place = int32(dice.IntN(1<<12) - 1)
		}
		out, at = append(out, part), end
	}
	if dice.IntN(20) == 0 {
		out[dice.IntN(len(out))].End += int32(dice.IntN(9))
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
			readOneByOne(t, &f, versions)
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

// readOneByOne expects that each version of a frame is read alone as it is read with the others.
func readOneByOne(t *testing.T, f *Frame, versions []Version) {
	t.Helper()
	for i := range versions {
		want := &versions[i]
		got, there, err := f.openOne(want.ID)
		if err != nil || !there || got.Key != want.Key || !bytes.Equal(got.Item, want.Item) || !bytes.Equal(got.Fields, want.Fields) {
			t.Fatalf("version %d of %d, read alone: %v, %v, %+v", i, len(versions), err, there, got.Key)
		}
		if i+1 < len(versions) && versions[i+1].ID > want.ID+1 {
			if _, there, err := f.openOne(want.ID + 1); there || err != nil {
				t.Errorf("a version that is not in the frame is read from it: %v", err)
			}
		}
	}
}

// What all versions have in common is said once, and each of it only if all have it.
func TestATableSaysOnceWhatAllShare(t *testing.T) {
	same := make([]Version, 30)
	for i := range same {
		same[i] = Version{Key: Key{ID: 5<<Bits + int64(i), Dataset: 7, Record: record.KeyOf(fmt.Sprint(i)), Version: 3, Prev: int64(i + 1), Updated: int64(i) * 1e6, Fetched: 1_700_000_000_000_000}, Item: []byte("{}")}
	}
	alike := MakeFrame(same, PackContent(same, ""))
	if older := olderFrame(longFormat, same, PackContent(same, "")); len(alike.Table) > len(older.Table)-5*29 {
		t.Errorf("%d bytes where every entry that says all takes %d", len(alike.Table), len(older.Table))
	}
	for name, change := range map[string]func(k *Key){
		"nothing": func(*Key) {}, "a gap": func(k *Key) { k.ID++ }, "dataset": func(k *Key) { k.Dataset = -7 }, "version": func(k *Key) { k.Version++ },
		"fetched": func(k *Key) { k.Fetched-- }, "never fetched": func(k *Key) { k.Fetched = NoInstant }, "first": func(k *Key) { k.Prev = 0 }, "undated": func(k *Key) { k.Updated = NoInstant },
	} {
		for _, at := range []int{0, 12, 29} {
			want := slices.Clone(same)
			if name == "a gap" {
				for i := at; i < len(want); i++ {
					change(&want[i].Key)
				}
			} else {
				change(&want[at].Key)
			}
			f := MakeFrame(want, PackContent(want, ""))
			got, err := f.Entries()
			if err != nil {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
			for i := range want {
				if got[i].Key != want[i].Key {
					t.Errorf("%s at %d: entry %d came back as %+v, was %+v", name, at, i, got[i].Key, want[i].Key)
				}
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
		{[]int{100 << 10, 100 << 10, 100 << 10, 30 << 10}, []int{4}},
		{[]int{512 << 10, 200 << 10}, []int{2}}, // one of 712 KB, not one of 512 and a small one
		{[]int{400 << 10, 400 << 10, 400 << 10}, []int{2, 3}},
		{[]int{300 << 10, 300 << 10, 300 << 10, 300 << 10}, []int{2, 4}}, // as much in each
		{[]int{0, 0}, []int{2}},
		{[]int{300 << 10, 0, 0}, []int{3}}, // deletions, which have no content, make no frame of their own
		{[]int{600 << 10, 600 << 10, 0}, []int{1, 3}},
		{[]int{1 << 20, 1}, []int{1, 2}}, // a large version stays alone: who wants the other need not unpack it
		{[]int{10, FrameMost}, []int{1, 2}},
	} {
		sizes := make([]Size, len(c.sizes))
		for i, n := range c.sizes {
			sizes[i] = Size{n - n/4, 0} // fields count for an eighth
			sizes[i].Fields = (n - sizes[i].Item) * 8
		}
		if got := CutFrames(sizes); !reflect.DeepEqual(got, c.want) {
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
		if _, _, alone := f.openOne(f.ID); fmt.Sprint(alone) != fmt.Sprint(err) {
			t.Errorf("%s: read alone %v, with all others %v", what, alone, err)
		}
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
	bomb := newPacker(zstd.SpeedFastest, frameWindow).EncodeAll(make([]byte, FrameMost+1), nil)
	for name, forge := range map[string]func(*Frame){
		"content of another size": func(f *Frame) {
			f.Content = newPacker(zstd.SpeedFastest, frameWindow).EncodeAll(make([]byte, 3000), nil)
		},
		"a bomb":                func(f *Frame) { f.Content = bomb },
		"a bomb behind it":      func(f *Frame) { f.Content = append(bytes.Clone(f.Content), bomb...) },
		"a count of many":       func(f *Frame) { f.Count = 1 << 40 },
		"no content":            func(f *Frame) { f.Content = nil },
		"plain of another size": func(f *Frame) { f.Codec, f.Content = codecPlain, []byte("short") },
	} {
		f := MakeFrame([]Version{base}, PackContent([]Version{base}, ""))
		forge(&f)
		reseal(&f)
		if versions, err := f.Open(); !errors.Is(err, fault.ErrDamaged) || versions != nil {
			t.Errorf("%s: %d versions, %v", name, len(versions), err)
		}
	}
	f := MakeFrame([]Version{base}, Packed{Codec: codecZstd})
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
		t := append([]byte{f.Table[0]}, f.Table[1:1+n]...)
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
		former := formerFrame(randomVersions(dice, 1+3*n, 20), formerWindow)
		f.Add(former.Table, former.Content, former.Codec == codecZstd)
		apart := randomVersions(dice, 1+3*n, 20)
		for _, format := range []byte{plainFormat, longFormat} {
			older := smallFrame(format, apart, ",")
			f.Add(older.Table, older.Content, older.Codec == codecZstd)
		}
		between := MakeFrame(apart, PackContent(apart, ",\n"))
		f.Add(between.Table, between.Content, between.Codec == codecZstd)
		f.Add(frame.Table, frame.Content[:len(frame.Content)/2], true)
	}
	f.Add([]byte{frameFormat}, []byte{}, false)
	f.Add([]byte{}, newPacker(zstd.SpeedFastest, frameWindow).EncodeAll(make([]byte, 1<<20), nil), true)
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
		if t, err := frame.readTable(); err == nil {
			frame.Last = t.entries[len(t.entries)-1].ID
		}
		versions, err := frame.Open()
		if err != nil {
			_, _, alone := frame.openOne(frame.Last) // it may be whole where another one is not
			for _, err := range []error{err, alone} {
				if err != nil && (!errors.Is(err, fault.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprint("frame ", frame.ID))) {
					t.Fatalf("an error that does not name the frame: %v", err)
				}
			}
			return
		}
		readOneByOne(t, &frame, versions[:min(len(versions), 20)])
		size := 0
		for i := range versions {
			size += versions[i].size()
		}
		if size > FrameMost {
			t.Fatalf("%d bytes came out", size)
		}
		again := MakeFrame(versions, Packed{Content: content, Codec: frame.Codec})
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

// olderFrame makes a frame as programs did that let every entry of a table say all.
func olderFrame(format byte, versions []Version, packed Packed) Frame {
	f := MakeFrame(versions, packed)
	sum := sha256.Sum256(packed.Content)
	t := binary.AppendUvarint(binary.AppendUvarint([]byte{format}, uint64(f.ID)), uint64(len(versions)))
	t = append(t, sum[:]...)
	if format != formerFormat { // it said nothing about what is between items
		t = append(binary.AppendUvarint(t, uint64(len(packed.Between))), packed.Between...)
	}
	at := Key{ID: f.ID}
	for i := range versions {
		t = appendEntry(t, &at, &versions[i], shared{})
	}
	f.Table = t
	f.Hash = f.sum()
	return f
}

// formerFrame makes a frame as programs did that put the fields of a version behind its
// item.
func formerFrame(versions []Version, window int) Frame {
	content, codec := packFormer(versions, window)
	return olderFrame(formerFormat, versions, Packed{Content: content, Codec: codec})
}

// smallFrame makes a frame as programs did that filled it with 256 KB.
func smallFrame(format byte, versions []Version, between string) Frame {
	fields := fieldWritersOf(format)[0](versions, between)
	if itemsSize(versions, between)+len(fields) < worthCompressing {
		return olderFrame(format, versions, packContent(versions, between, fields))
	}
	return olderFrame(format, versions, packSmall(versions, between, fields))
}

// Frames of former programs are read like others, and healed.
func TestFramesOfFormerProgramsAreReadAndHealed(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 9))
	for n := range 60 {
		want := randomVersions(dice, 1+n, 1+n*8)
		for _, f := range []Frame{
			formerFrame(want, formerWindow), formerFrame(want, eldestWindow), smallFrame(plainFormat, want, ""), smallFrame(plainFormat, want, ",\n"),
			smallFrame(longFormat, want, ""), smallFrame(longFormat, want, ","),
		} {
			got, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			readOneByOne(t, &f, got)
			content := map[int64]integrity.Content{}
			for i := range want {
				content[want[i].ID] = integrity.Content{Item: want[i].Item, Fields: want[i].Fields, Parts: want[i].Parts}
				if got[i].Key != want[i].Key || !bytes.Equal(got[i].Item, want[i].Item) || !bytes.Equal(got[i].Fields, want[i].Fields) {
					t.Fatalf("version %d came back as %+v", i, got[i])
				}
			}
			packed := f.Content
			f.Content = nil
			if err := f.Refill(content); err != nil || !bytes.Equal(f.Content, packed) {
				t.Errorf("a frame of %d versions is not healed: %v", len(want), err)
			}
		}
	}
}

// What stands between items is no part of any, whatever it is, and the frame is healed
// with it.
func TestWhatStandsBetweenItemsIsLeftOut(t *testing.T) {
	dice := rand.New(rand.NewPCG(8, 9))
	for n := range 100 {
		want := randomVersions(dice, 1+n, 1+n*4)
		between := []string{"", ",", "\n", ", \r\n", strings.Repeat(" ", MaxBetween)}[dice.IntN(5)]
		f := MakeFrame(want, PackContent(want, between))
		got, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content := map[int64]integrity.Content{}
		for i := range want {
			content[want[i].ID] = integrity.Content{Item: want[i].Item, Fields: want[i].Fields, Parts: want[i].Parts}
			if got[i].Key != want[i].Key || !bytes.Equal(got[i].Item, want[i].Item) || !bytes.Equal(got[i].Fields, want[i].Fields) {
				t.Fatalf("%q between items: version %d came back as %+v", between, i, got[i])
			}
		}
		packed := f.Content
		f.Content = nil
		if err := f.Refill(content); err != nil || !bytes.Equal(f.Content, packed) {
			t.Errorf("a frame with %q between items is not healed: %v", between, err)
		}
	}
}

// The same content gives the same bytes, whatever the packer did before: healing proves
// by them (decision 92).
func TestPackingDependsOnNothingButTheContent(t *testing.T) {
	dice := rand.New(rand.NewPCG(9, 9))
	want := randomVersions(dice, 200, 1500)
	first := PackContent(want, ",")
	for n := range 50 {
		PackContent(randomVersions(dice, 1+n*4, 1+dice.IntN(2000)), "")
		if again := PackContent(want, ","); !bytes.Equal(again.Content, first.Content) {
			t.Fatalf("round %d: %d bytes became %d others", n, len(first.Content), len(again.Content))
		}
	}
}

// The blocks of the items are a text of their own.
func TestBlocksUnpackToTheItems(t *testing.T) {
	dice := rand.New(rand.NewPCG(10, 9))
	for n := range 100 {
		want := randomVersions(dice, 1+n, 1+n*30)
		var items packWriter
		writeItems(&items, want, ",")
		end := len(items.out)
		p := PackContent(want, ",")
		if p.Codec == codecPlain {
			if len(p.Blocks()) > 0 {
				t.Error("content that is not packed has blocks")
			}
			continue
		}
		// The header of the whole, the blocks, and an empty last one.
		whole := append(append(bytes.Clone(p.Content[:p.head]), p.Blocks()...), 1, 0, 0)
		d, err := zstd.NewReader(bytes.NewReader(whole), zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, end)
		if _, err := io.ReadFull(d, got); err != nil || !bytes.Equal(got, items.out) {
			t.Fatalf("%d versions: the blocks do not unpack to their items: %v", len(want), err)
		}
		d.Close()
	}
}

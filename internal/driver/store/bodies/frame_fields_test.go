package bodies

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
)

// works returns versions whose fields repeat their items, with their parts.
func works(n int) (out []Version) {
	for i := range n {
		title := fmt.Sprintf(`"A title with the number %d of %d words"`, i, i%7)
		v := Version{Key: Key{ID: int64(i + 1), Dataset: 1, Record: record.KeyOf(title), Version: 1, Updated: NoInstant, Fetched: 7},
			Item: fmt.Appendf(nil, `{"DOI":"10.1000/%08d","title":[%s],"volume":%d,"authors":[{"family":"Sato %d"},{"family":"Ito"}]}`, i*7919, title, i%90, i)}
		add := func(name string, value []byte, copied bool) {
			v.Fields = append(append(v.Fields, `,"`+name+`":`...), value...)
			part := record.Part{Begin: int32(len(v.Fields) - len(value)), End: int32(len(v.Fields)), Place: -1}
			if copied {
				part.Place = int32(bytes.Index(v.Item, value))
			}
			v.Parts = append(v.Parts, part)
		}
		if i%3 > 0 {
			add("authors", v.Item[bytes.Index(v.Item, []byte(`[{`)):len(v.Item)-1], true)
		}
		add("computed", fmt.Appendf(nil, "%d", i*i), false)
		add("title", []byte(title), true)
		add("volume", fmt.Appendf(nil, "%d", i%90), true)
		v.Fields[0] = '{'
		v.Fields = append(v.Fields, '}')
		out = append(out, v)
	}
	return out
}

// Values that lie in the item are not held again: what is unpacked is shorter by them.
func TestFieldsAreToldByTheirPlaces(t *testing.T) {
	want := works(300)
	told, fields := len(writeRecipes(want, false)), 0
	for i := range want {
		fields += len(want[i].Fields)
	}
	if told*4 > fields {
		t.Errorf("%d bytes tell of fields of %d", told, fields)
	}
	with, without := PackContent(want, ","), packContent(want, ",", plainFields(want, ","))
	if len(with.Content) >= len(without.Content) {
		t.Errorf("packed %d bytes, %d with the fields as they are", len(with.Content), len(without.Content))
	}
	for _, packed := range []Packed{with, packWithoutParts(want, ",")} {
		frame := MakeFrame(want, packed)
		got, err := frame.Open()
		if err != nil {
			t.Fatal(err)
		}
		readOneByOne(t, &frame, got)
		for i := range want {
			if !bytes.Equal(got[i].Item, want[i].Item) || !bytes.Equal(got[i].Fields, want[i].Fields) || got[i].Parts != nil {
				t.Fatalf("version %d came back as %s", i, got[i].Fields)
			}
		}
	}
}

// What was read to be packed again is packed as it was, with its parts or without.
func TestPackingAgainGivesTheSame(t *testing.T) {
	dice := rand.New(rand.NewPCG(11, 9))
	for n := range 200 {
		want := randomVersions(dice, 1+n, 1+n*2)
		if n%2 == 0 {
			want = works(1 + n)
		}
		packed := PackContent(want, ",")
		f := MakeFrame(want, packed)
		again, err := f.Reopen()
		if err != nil {
			t.Fatal(err)
		}
		if got := PackContent(again, ","); !bytes.Equal(got.Content, packed.Content) {
			t.Fatalf("round %d: %d bytes became %d others", n, len(packed.Content), len(got.Content))
		}
	}
}

// One version without parts is enough for a frame without: healing knows two ways.
func TestPartsCountIfAllFieldsHaveThem(t *testing.T) {
	want := works(20)
	want[7].Parts = nil
	if !bytes.Equal(PackContent(want, "").Content, packWithoutParts(want, "").Content) {
		t.Error("a frame has some fields by their places and some as they are")
	}
	want[7].Fields = []byte("{}") // it has no values
	if bytes.Equal(PackContent(want, "").Content, packWithoutParts(want, "").Content) {
		t.Error("a version without fields hides the parts of the others")
	}
}

// A frame is healed from versions whose parts are known, whether it was made with parts
// or of rows that have none.
func TestFramesOfRowsAreHealed(t *testing.T) {
	want, content := works(40), map[int64]integrity.Content{}
	for _, v := range want {
		content[v.ID] = integrity.Content{Item: v.Item, Fields: v.Fields, Parts: v.Parts}
	}
	for _, packed := range []Packed{PackContent(want, ","), packWithoutParts(want, "")} {
		f := MakeFrame(want, packed)
		f.Content = nil
		if err := f.Refill(content); err != nil || !bytes.Equal(f.Content, packed.Content) {
			t.Error(err)
		}
	}
}

// The largest version that a frame takes is read again, whatever its parts say.
func TestTheLargestVersionIsRead(t *testing.T) {
	for _, size := range []int{FrameMost, FrameMost - 1} {
		v := Version{Key: Key{ID: 1}, Item: []byte(strings.Repeat("x", size/2))}
		v.Fields = []byte(strings.Repeat("y", size-len(v.Item)))
		for i := range int32(2000) {
			v.Parts = append(v.Parts, record.Part{Begin: 3 * i, End: 3*i + 1, Place: -1})
		}
		f := MakeFrame([]Version{v}, PackContent([]Version{v}, ""))
		if got, err := f.Open(); err != nil || !bytes.Equal(got[0].Fields, v.Fields) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Shapes without end are no shapes: the reader keeps a bounded number.
func TestShapesAreBounded(t *testing.T) {
	var want []Version
	for i := range 3000 {
		v := Version{Key: Key{ID: int64(i + 1)}, Item: []byte("item")}
		for j := range 20 {
			v.Fields = fmt.Appendf(v.Fields, `%d.%d:value;`, i, j)
			v.Parts = append(v.Parts, record.Part{Begin: int32(len(v.Fields) - 6), End: int32(len(v.Fields) - 1), Place: -1})
		}
		want = append(want, v)
	}
	f := MakeFrame(want, PackContent(want, ""))
	got, err := f.Open()
	if err != nil || !bytes.Equal(got[2999].Fields, want[2999].Fields) {
		t.Fatal(err)
	}
	forged := binary.AppendUvarint(nil, 0)
	forged = binary.AppendUvarint(forged, mostShaped+1)
	r := recipeReader{tableReader: tableReader{rest: append(forged, make([]byte, 1<<20)...)}, most: 100}
	if r.read(nil); r.err == nil {
		t.Error("a shape with more values than there may be was read")
	}
}

// Fields that are read without their items stay what they are while other frames are read
// into the same memory, whatever the frame is packed as.
func TestFieldsOutliveWhatIsUnpacked(t *testing.T) {
	dice := rand.New(rand.NewPCG(137, 1))
	type opened struct {
		versions []Stored
		want     []Version
	}
	var all []opened
	for n := range 60 {
		want := works(1 + dice.IntN(200))
		for i := range want { // no two frames have the same bytes in the same place
			want[i].Fields = bytes.ReplaceAll(want[i].Fields, []byte("title with"), fmt.Appendf(nil, "%010d", n))
			want[i].Item = bytes.ReplaceAll(want[i].Item, []byte("title with"), fmt.Appendf(nil, "%010d", n))
		}
		packed := PackContent(want, ",")
		if n%3 == 1 {
			packed = packWithoutParts(want, ",")
		}
		frame := MakeFrame(want, packed)
		if n%3 == 2 {
			frame = formerFrame(want, formerWindow)
		}
		versions, err := frame.versions(FieldsPart)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, opened{versions, want})
	}
	for n, o := range all {
		for i := range o.want {
			if !bytes.Equal(o.versions[i].Fields, o.want[i].Fields) || o.versions[i].Payload != nil {
				t.Fatalf("frame %d, version %d: %s, want %s", n, i, o.versions[i].Fields, o.want[i].Fields)
			}
		}
	}
}

// packWithoutParts packs versions of which nobody knows where their values lie.
func packWithoutParts(versions []Version, between string) Packed {
	return packContent(versions, between, recipesWithoutParts(versions, between))
}

package bodies

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
)

// fewBits is how many bits of a hash may differ for it to be the hash that is damaged:
// two hashes of different tables differ in about 128.
const fewBits = 16

// Mend returns a frame whose row says what its table proves: codec, count, end, and a
// hash of which a few bits were changed. Whether its content fits is not looked at. It is
// an error if the table is not what was written.
func (f *Frame) Mend() (mended Frame, err error) {
	for _, codec := range []string{f.Codec, codecZstd, codecPlain} {
		g := *f
		g.Codec = codec
		sum := g.sum()
		if len(f.Hash) != len(sum) {
			break
		}
		differ := 0
		for i := range sum {
			differ += bits.OnesCount8(sum[i] ^ f.Hash[i])
		}
		if differ > fewBits {
			continue
		}
		g.Hash = sum
		if _, n := binary.Uvarint(f.Table[1:]); n > 0 {
			count, _ := binary.Uvarint(f.Table[1+n:])
			g.Count = int(count)
		}
		g.Last = math.MaxInt64
		t, err := g.readTable()
		if err != nil {
			return g, f.damaged(err)
		}
		g.Last = t.entries[len(t.entries)-1].ID
		return g, nil
	}
	return *f, f.damaged(errors.New("its table does not fit its hash"))
}

// Refill gives a frame its content again. It must be what was there before, to the last
// byte.
func (f *Frame) Refill(content map[int64]integrity.Content) error {
	t, err := f.checkTable()
	if err != nil {
		return err
	}
	versions := make([]Version, len(t.entries))
	for i, e := range t.entries {
		c, there := content[e.ID]
		if !there && e.item+e.fields > 0 { // a deletion has no content
			return fmt.Errorf("%w: body %d is in none of the kept answers", fault.ErrInvalid, e.ID)
		}
		if len(c.Item) != e.item || len(c.Fields) != e.fields {
			return fmt.Errorf("%w: body %d had %d bytes of item and %d of fields, the kept answer gives %d and %d", fault.ErrInvalid, e.ID, e.item, e.fields, len(c.Item), len(c.Fields))
		}
		versions[i] = Version{Key: e.Key, Item: c.Item, Fields: c.Fields, Parts: c.Parts}
	}
	for _, write := range fieldWritersOf(t.format) {
		for _, pack := range []contentPacker{packContent, packSmall} {
			if p := pack(versions, t.between, write(versions, t.between)); p.Codec == f.Codec && sha256.Sum256(p.Content) == t.sum {
				f.Content = p.Content
				return nil
			}
		}
	}
	for _, window := range []int{formerWindow, eldestWindow} {
		packed, codec := packFormer(versions, window)
		if t.format == formerFormat && codec == f.Codec && sha256.Sum256(packed) == t.sum {
			f.Content = packed
			return nil
		}
	}
	return fmt.Errorf("%w: what the kept answers give does not fit the hash of the frame", fault.ErrInvalid)
}

// contentPacker packs items with what stands between them, and what is written of their fields.
type contentPacker func(versions []Version, between string, fields []byte) Packed

// packSmall packs as programs did that filled frames with 256 KB.
func packSmall(versions []Version, between string, fields []byte) Packed {
	return packBy(newPacker(zstd.SpeedDefault, smallWindow), versions, between, fields)
}

// fieldWriter writes what the content of a frame has of fields.
type fieldWriter func(versions []Version, between string) []byte

// fieldWritersOf returns how the fields of a frame may have been written. Those of versions
// that were rows once were taken as they are.
func fieldWritersOf(format byte) []fieldWriter {
	switch format {
	case frameFormat, longFormat:
		return []fieldWriter{recipesOf, recipesWithoutParts}
	case plainFormat:
		return []fieldWriter{plainFields}
	}
	return nil
}

// recipesWithoutParts writes fields of which nobody knows where their values lie.
func recipesWithoutParts(versions []Version, between string) []byte {
	versions = slices.Clone(versions)
	for i := range versions {
		versions[i].Parts = nil
	}
	return recipesOf(versions, between)
}

// plainFields writes fields as programs did that wrote tables of format 2: as they are.
func plainFields(versions []Version, _ string) (fields []byte) {
	for i := range versions {
		fields = append(fields, versions[i].Fields...)
	}
	return fields
}

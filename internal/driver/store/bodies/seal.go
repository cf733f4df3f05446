package bodies

import (
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/s2"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Every body carries two checksums, without a column of their own (decision 45):
//
//   - its codec is the kind of packing and, in base64, the CRC-32C of the mapped fields
//     and of everything else the row says;
//   - its payload ends with the CRC-32C of the packed item and of whose it is.
//
// There are two because most readers want the fields only, and must not read the
// item to trust them. Both name the row, so two bodies that changed places are
// noticed like a changed byte.

// Kinds of packing, as they begin the codec of a sealed body.
const (
	kindPlain = "pl"
	kindS2    = "s2"
	kindZstd  = "zs"
)

const (
	kindLength  = 2
	SumLength   = 4                                                       // of a checksum
	sealedCodec = kindLength + 6                                          // the kind, and the checksum in base64
	NoInstant   = math.MinInt64                                           // of a date the source did not give
	DamageNext  = "`patra db check` lists all damage and what to do next" // for whoever meets a damaged row
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SumOf returns the checksum of content alone, which Key completes.
func SumOf(content []byte) uint32 { return crc32.Update(0, castagnoli, content) }

// Key is what a row of ing_record_body says beside its content.
type Key struct {
	ID, Dataset      int64
	Record           record.Key
	Version          int64
	Prev             int64 // 0: none
	Updated, Fetched int64 // NoInstant: none
}

// Nullable reads an instant of a Key.
func Nullable(v sql.NullInt64) int64 {
	if !v.Valid {
		return NoInstant
	}
	return v.Int64
}

// identity is whose content it is: the row, the dataset and the record.
const identityLength = 8 + 8 + 16

func (k *Key) keyBytes() (out [identityLength + 4*8]byte) {
	binary.BigEndian.PutUint64(out[0:], uint64(k.ID))
	binary.BigEndian.PutUint64(out[8:], uint64(k.Dataset))
	copy(out[16:], k.Record[:])
	for i, n := range [...]int64{k.Version, k.Prev, k.Updated, k.Fetched} {
		binary.BigEndian.PutUint64(out[identityLength+8*i:], uint64(n))
	}
	return out
}

// sumRow completes the checksum of the fields.
func (k *Key) sumRow(fields uint32, kind string) uint32 {
	all := k.keyBytes()
	return crc32.Update(crc32.Update(fields, castagnoli, all[:]), castagnoli, []byte(kind))
}

// sumPayload completes the checksum of the packed item.
func (k *Key) sumPayload(packed uint32) uint32 {
	all := k.keyBytes()
	return crc32.Update(packed, castagnoli, all[:identityLength])
}

// Pack packs an item and leaves room for its checksum, which SealPayload writes
// once it is known which row it becomes.
func Pack(raw []byte) (packed []byte, kind string) {
	if len(raw) < worthCompressing {
		out := make([]byte, len(raw)+SumLength)
		copy(out, raw)
		return out, kindPlain
	}
	most := s2.MaxEncodedLen(len(raw))
	out := s2.Encode(make([]byte, most, most+SumLength), raw)
	return out[:len(out)+SumLength], kindS2
}

// SealPayload writes the checksum behind a packed item.
func (k *Key) SealPayload(packed []byte, sum uint32) {
	binary.BigEndian.PutUint32(packed[len(packed)-SumLength:], k.sumPayload(sum))
}

// CodecOf returns the codec of a sealed row.
func (k *Key) CodecOf(kind string, fields uint32) string {
	var sum [SumLength]byte
	binary.BigEndian.PutUint32(sum[:], k.sumRow(fields, kind))
	return kind + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Seal is what a codec says.
type Seal struct {
	Kind   string // of packing, as decompress and unpack take it
	sum    uint32
	Sealed bool // else the body was written before there were checksums
}

// ReadSeal reads a codec.
func ReadSeal(codec []byte) (s Seal, err error) {
	switch string(codec) {
	case codecPlain, codecS2, codecZstd:
		return Seal{Kind: string(codec)}, nil
	}
	var sum [sealedCodec]byte
	if len(codec) != sealedCodec {
		return s, unknownCodec(codec)
	}
	switch string(codec[:kindLength]) {
	case kindPlain:
		s.Kind = codecPlain
	case kindS2:
		s.Kind = codecS2
	case kindZstd:
		s.Kind = codecZstd
	default:
		return s, unknownCodec(codec)
	}
	if n, err := base64.RawStdEncoding.Decode(sum[:], codec[kindLength:]); err != nil || n != SumLength {
		return s, unknownCodec(codec)
	}
	s.Sealed, s.sum = true, binary.BigEndian.Uint32(sum[:])
	return s, nil
}

func unknownCodec(codec []byte) error {
	return fmt.Errorf("%w: a body is packed as %q, which this program does not know: it is damaged, or was written by a newer program; %s", fault.ErrDamaged, codec, DamageNext)
}

// Short returns the beginning of a codec for a kind of packing.
func (s Seal) Short() string {
	switch s.Kind {
	case codecS2:
		return kindS2
	case codecZstd:
		return kindZstd
	}
	return kindPlain
}

// CheckRow holds the fields and all else a row says against its checksum. A body
// without one passes.
func (k *Key) CheckRow(fields []byte, s Seal) error {
	if s.Sealed && k.sumRow(SumOf(fields), s.Short()) != s.sum {
		return k.Damaged("its fields or dates are not what was stored")
	}
	return nil
}

// CheckPayload holds a packed item against its checksum and gives it without.
func (k *Key) CheckPayload(stored []byte, s Seal) (packed []byte, err error) {
	if !s.Sealed {
		return stored, nil
	}
	n := len(stored) - SumLength
	if n < 0 || k.sumPayload(SumOf(stored[:n])) != binary.BigEndian.Uint32(stored[n:]) {
		return nil, k.Damaged("the item is not what was stored")
	}
	return stored[:n], nil
}

// Damaged returns the error about a damaged body. Callers add the id of the record.
func (k *Key) Damaged(why string) error {
	return fmt.Errorf("%w: version %d (body %d): %s; %s", fault.ErrDamaged, k.Version, k.ID, why, DamageNext)
}

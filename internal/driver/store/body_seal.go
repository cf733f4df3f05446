package store

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
	sumLength   = 4                                                       // of a checksum
	sealedCodec = kindLength + 6                                          // the kind, and the checksum in base64
	noInstant   = math.MinInt64                                           // of a date the source did not give
	damageNext  = "`patra db check` lists all damage and what to do next" // for whoever meets a damaged row
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(content []byte) uint32 { return crc32.Update(0, castagnoli, content) }

// bodyKey is what a row of ing_record_body says beside its content.
type bodyKey struct {
	id, dataset      int64
	record           record.Key
	version          int64
	prev             int64 // 0: none
	updated, fetched int64 // noInstant: none
}

// nullable reads an instant of a bodyKey.
func nullable(v sql.NullInt64) int64 {
	if !v.Valid {
		return noInstant
	}
	return v.Int64
}

// identity is whose content it is: the row, the dataset and the record.
const identityLength = 8 + 8 + 16

func (k *bodyKey) bytes() (out [identityLength + 4*8]byte) {
	binary.BigEndian.PutUint64(out[0:], uint64(k.id))
	binary.BigEndian.PutUint64(out[8:], uint64(k.dataset))
	copy(out[16:], k.record[:])
	for i, n := range [...]int64{k.version, k.prev, k.updated, k.fetched} {
		binary.BigEndian.PutUint64(out[identityLength+8*i:], uint64(n))
	}
	return out
}

// sumRow completes the checksum of the fields.
func (k *bodyKey) sumRow(fields uint32, kind string) uint32 {
	all := k.bytes()
	return crc32.Update(crc32.Update(fields, castagnoli, all[:]), castagnoli, []byte(kind))
}

// sumPayload completes the checksum of the packed item.
func (k *bodyKey) sumPayload(packed uint32) uint32 {
	all := k.bytes()
	return crc32.Update(packed, castagnoli, all[:identityLength])
}

// packBody packs an item and leaves room for its checksum, which sealPayload writes
// once it is known which row it becomes.
func packBody(raw []byte) (packed []byte, kind string) {
	if len(raw) < worthCompressing {
		out := make([]byte, len(raw)+sumLength)
		copy(out, raw)
		return out, kindPlain
	}
	most := s2.MaxEncodedLen(len(raw))
	out := s2.Encode(make([]byte, most, most+sumLength), raw)
	return out[:len(out)+sumLength], kindS2
}

// sealPayload writes the checksum behind a packed item.
func (k *bodyKey) sealPayload(packed []byte, sum uint32) {
	binary.BigEndian.PutUint32(packed[len(packed)-sumLength:], k.sumPayload(sum))
}

// codecOf is the codec of a sealed row.
func (k *bodyKey) codecOf(kind string, fields uint32) string {
	var sum [sumLength]byte
	binary.BigEndian.PutUint32(sum[:], k.sumRow(fields, kind))
	return kind + base64.RawStdEncoding.EncodeToString(sum[:])
}

// bodySeal is what a codec says.
type bodySeal struct {
	kind   string // of packing, as decompress and unpack take it
	sum    uint32
	sealed bool // else the body was written before there were checksums
}

// readSeal reads a codec.
func readSeal(codec []byte) (s bodySeal, err error) {
	switch string(codec) {
	case codecPlain, codecS2, codecZstd:
		return bodySeal{kind: string(codec)}, nil
	}
	var sum [sealedCodec]byte
	if len(codec) != sealedCodec {
		return s, unknownCodec(codec)
	}
	switch string(codec[:kindLength]) {
	case kindPlain:
		s.kind = codecPlain
	case kindS2:
		s.kind = codecS2
	case kindZstd:
		s.kind = codecZstd
	default:
		return s, unknownCodec(codec)
	}
	if n, err := base64.RawStdEncoding.Decode(sum[:], codec[kindLength:]); err != nil || n != sumLength {
		return s, unknownCodec(codec)
	}
	s.sealed, s.sum = true, binary.BigEndian.Uint32(sum[:])
	return s, nil
}

func unknownCodec(codec []byte) error {
	return fmt.Errorf("%w: a body is packed as %q, which this program does not know: it is damaged, or was written by a newer program; %s", fault.ErrDamaged, codec, damageNext)
}

// kindOf is the beginning of a codec for a kind of packing.
func (s bodySeal) short() string {
	switch s.kind {
	case codecS2:
		return kindS2
	case codecZstd:
		return kindZstd
	}
	return kindPlain
}

// checkRow holds the fields and all else a row says against its checksum. A body
// without one passes.
func (k *bodyKey) checkRow(fields []byte, s bodySeal) error {
	if s.sealed && k.sumRow(sumOf(fields), s.short()) != s.sum {
		return k.damaged("its fields or dates are not what was stored")
	}
	return nil
}

// checkPayload holds a packed item against its checksum and gives it without.
func (k *bodyKey) checkPayload(stored []byte, s bodySeal) (packed []byte, err error) {
	if !s.sealed {
		return stored, nil
	}
	n := len(stored) - sumLength
	if n < 0 || k.sumPayload(sumOf(stored[:n])) != binary.BigEndian.Uint32(stored[n:]) {
		return nil, k.damaged("the item is not what was stored")
	}
	return stored[:n], nil
}

// damaged is the error about a body. Callers add the id of the record.
func (k *bodyKey) damaged(why string) error {
	return fmt.Errorf("%w: version %d (body %d): %s; %s", fault.ErrDamaged, k.version, k.id, why, damageNext)
}

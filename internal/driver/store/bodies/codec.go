package bodies

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
)

const (
	Bits       = 20        // positions in a batch; see ID
	MaxRecords = 1 << Bits // records a batch may hold
)

// Codecs of rejected items, and of bodies from before they had checksums; see
// seal.go.
const (
	codecPlain = "plain"
	codecS2    = "s2"   // a third of the time of zstd, a quarter more room: decision 33
	codecZstd  = "zstd" // written by earlier versions
)

// worthCompressing: below this a frame's overhead eats the gain.
const worthCompressing = 256

// Compress packs an item of quarantine and gives its codec.
func Compress(raw []byte) ([]byte, string) {
	if len(raw) < worthCompressing {
		return raw, codecPlain
	}
	return s2.Encode(nil, raw), codecS2
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)) })

// Decompress undoes Compress, and what earlier versions wrote.
func Decompress(stored []byte, codec string) ([]byte, error) {
	switch codec {
	case codecPlain:
		return stored, nil
	case codecS2:
		raw, err := s2.Decode(nil, stored)
		if err != nil {
			return nil, fmt.Errorf("%w: what was packed as s2 cannot be unpacked: %s", fault.ErrDamaged, err)
		}
		return raw, nil
	case codecZstd:
		d, err := decoder()
		if err != nil {
			return nil, err
		}
		raw, err := d.DecodeAll(stored, nil)
		if err != nil { // it may say EOF, which would be taken for a server that hung up
			return nil, fmt.Errorf("%w: what was packed as zstd cannot be unpacked: %s", fault.ErrDamaged, err)
		}
		return raw, nil
	}
	return nil, unknownCodec([]byte(codec))
}

// Unpack decompresses into memory that is used again.
func Unpack(stored []byte, codec string, room *event.Room) ([]byte, error) {
	switch codec {
	case codecPlain:
		return room.Copy(stored), nil
	case codecS2:
		n, err := s2.DecodedLen(stored)
		if err != nil {
			return nil, err
		}
		return s2.Decode(room.Take(n)[:n], stored)
	}
	return Decompress(stored, codec)
}

// ID gives bodies ids that grow with time without asking the database: the
// batch's id, then the position in the batch.
func ID(batchID int64, position int) int64 { return batchID<<Bits | int64(position) }

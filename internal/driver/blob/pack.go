package blob

import (
	"encoding/binary"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// pack appends a body as frames of zstd, one behind the other, which every reader of
// zstd takes for one text. What was packed already becomes a frame as it is.
func (s *Store) pack(dst, body []byte, packed []ingest.PackedPart) []byte {
	at := 0
	for i := range packed {
		p := &packed[i]
		if len(p.Blocks) == 0 || p.Begin < at || p.End > len(body) || p.End <= p.Begin {
			continue
		}
		if p.Begin > at {
			dst = s.encoder.EncodeAll(body[at:p.Begin], dst)
		}
		dst, at = appendFrame(dst, p.Blocks, p.End-p.Begin), p.End
	}
	if at < len(body) || at == 0 {
		dst = s.encoder.EncodeAll(body[at:], dst)
	}
	return dst
}

// Parts of a frame of zstd (RFC 8878): its first four bytes, flags of its header, and
// those of the header of a block.
const (
	frameMagic    = 0xFD2FB528
	singleSegment = 1 << 5 // the window is the whole content
	sizeOf2       = 1 << 6 // bytes of the size of the content
	sizeOf4       = 2 << 6
	lastBlock     = 1
	blockHeader   = 3
	typeRepeated  = 1 // a block of one byte that is repeated
)

// appendFrame makes a frame of blocks that were cut out of another one: all it had up to
// the last of them, so that they refer to nothing that is not there.
func appendFrame(dst, blocks []byte, size int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	switch {
	case size < 256:
		dst = append(dst, singleSegment, byte(size))
	case size < 65536+256:
		dst = binary.LittleEndian.AppendUint16(append(dst, singleSegment|sizeOf2), uint16(size-256))
	default:
		dst = binary.LittleEndian.AppendUint32(append(dst, singleSegment|sizeOf4), uint32(size))
	}
	begin := len(dst)
	dst = append(dst, blocks...)
	for at := begin; at+blockHeader <= len(dst); {
		head := int(dst[at]) | int(dst[at+1])<<8 | int(dst[at+2])<<16
		next := at + blockHeader + head>>3
		if head>>1&3 == typeRepeated {
			next = at + blockHeader + 1
		}
		if next >= len(dst) {
			dst[at] |= lastBlock
		}
		at = next
	}
	return dst
}

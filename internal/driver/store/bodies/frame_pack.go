package bodies

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Packed is the content of a frame as it is stored.
type Packed struct {
	Content []byte
	Codec   string
	Between string // what stands between two items
	head    int    // bytes of Content before its first block
	items   int    // bytes of Content up to the end of its last block of items
}

// Blocks returns the blocks of zstd that hold the items of a frame with what stands
// between them, and nothing else: a frame of their own is made of them by a header and
// the mark of a last block, without packing anything again (decision 110). It is empty
// for content that is not packed.
func (p *Packed) Blocks() []byte { return p.Content[p.head:p.items:p.items] }

// PackContent packs the content of some versions for one frame: the items with a text
// between them, then the recipes of their fields. It needs no ids: it can be done before
// they are known.
func PackContent(versions []Version, between string) Packed {
	return packContent(versions, between, recipesOf(versions, between))
}

// recipesOf writes the recipes of the fields of some versions.
func recipesOf(versions []Version, between string) []byte {
	recipes := writeRecipes(versions, false)
	if itemsSize(versions, between)+len(recipes) > FrameMost {
		recipes = writeRecipes(versions, true) // they take next to no more than the fields
	}
	return recipes
}

// packContent packs items, and behind them what there is of their fields, which repeats
// much of the items or of itself and is packed in the same window.
func packContent(versions []Version, between string, fields []byte) Packed {
	if size := itemsSize(versions, between) + len(fields); size < worthCompressing {
		w := packWriter{make([]byte, 0, size)}
		writeItems(&w, versions, between)
		return Packed{Content: append(w.out, fields...), Codec: codecPlain, Between: between}
	}
	e := <-framePackers
	defer func() { framePackers <- e }()
	return packBy(e, versions, between, fields)
}

// packBy packs by an encoder that nobody else uses meanwhile.
func packBy(e *zstd.Encoder, versions []Version, between string, fields []byte) Packed {
	size := itemsSize(versions, between) + len(fields)
	w := packWriter{make([]byte, 0, size/4)}
	e.ResetContentSize(&w, int64(size))
	writeItems(e, versions, between)
	err := e.Flush()
	items := len(w.out)
	_, _ = e.Write(fields)
	err = errors.Join(err, e.Close())
	var head zstd.Header
	if err == nil {
		err = head.Decode(w.out)
	}
	if err != nil {
		panic(err) // nothing here can fail: it writes to memory
	}
	// Without items nothing was written before the fields.
	return Packed{Content: w.out, Codec: codecZstd, Between: between, head: head.HeaderSize, items: max(items, head.HeaderSize)}
}

func itemsSize(versions []Version, between string) int {
	size := len(between) * (len(versions) - 1)
	for i := range versions {
		size += len(versions[i].Item)
	}
	return size
}

// writeItems writes to memory, where nothing fails; an encoder tells in the end what did.
func writeItems(w io.Writer, versions []Version, between string) {
	gap := []byte(between)
	for i := range versions {
		if i > 0 && len(gap) > 0 {
			_, _ = w.Write(gap)
		}
		_, _ = w.Write(versions[i].Item)
	}
}

type packWriter struct{ out []byte }

func (w *packWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// packFormer packs as programs did that wrote tables of format 1: the fields of each
// version behind its item. Healing needs it.
func packFormer(versions []Version, window int) (packed []byte, codec string) {
	size := contentSize(versions)
	plain := make([]byte, 0, size)
	for i := range versions {
		plain = append(append(plain, versions[i].Item...), versions[i].Fields...)
	}
	if size < worthCompressing {
		return plain, codecPlain
	}
	return newPacker(zstd.SpeedFastest, window).EncodeAll(plain, make([]byte, 0, size/4)), codecZstd
}

const (
	// frameWindow holds the usual frame whole, which has up to half as much again as fills it.
	frameWindow  = 1 << 20
	frameCoders  = 2         // that work at once
	smallWindow  = 512 << 10 // of frames of 256 KB
	formerWindow = 256 << 10
	eldestWindow = 128 << 10
)

// Both are made when the program starts, with all they need: what is made on first
// use inside of a test's bubble could not be used outside of it. They are safe for
// concurrent use.
var (
	framePackers = newPackers()
	frameDecoder = newFrameDecoder()
)

func newPackers() chan *zstd.Encoder {
	out := make(chan *zstd.Encoder, frameCoders)
	for range frameCoders {
		out <- newPacker(zstd.SpeedDefault, frameWindow)
	}
	return out
}

func newPacker(level zstd.EncoderLevel, window int) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}

func newFrameDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(frameCoders), zstd.WithDecoderMaxMemory(contentMost), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
}

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Position is how far a file is read: bytes of the unpacked file before the next item, and
// items before it.
type Position struct {
	Offset int64
	Items  int64
}

// Chunk is a part of a file that is a document by itself: whole items, in what stands round
// them in the file.
type Chunk struct {
	Body  []byte
	Items int
	After Position
	Last  bool // the file ends here, and its format showed the end where it can
}

// Limits bound what a splitter holds. Zero fields take the defaults.
type Limits struct {
	ChunkBytes int // a chunk is closed when it has so many bytes
	ChunkItems int // or so many items
	ItemBytes  int // one item may have so many
}

// The defaults of Limits. A chunk becomes a batch, so it is as large as a page of records.
const (
	DefaultChunkBytes = 1 << 20
	DefaultChunkItems = 1000
	DefaultItemBytes  = 32 << 20
)

func (l Limits) withDefaults() Limits {
	if l.ChunkBytes <= 0 {
		l.ChunkBytes = DefaultChunkBytes
	}
	if l.ChunkItems <= 0 {
		l.ChunkItems = DefaultChunkItems
	}
	if l.ItemBytes <= 0 {
		l.ItemBytes = DefaultItemBytes
	}
	return l
}

// scanner finds the items of one format in what is there of a file. at is where it looks,
// relative to the beginning of the buffer.
type scanner interface {
	// open reads what stands before the first item and returns where that may begin. more
	// says that not enough is there.
	open(data []byte, last bool) (at int, more bool, err error)
	// next returns where the item ends that begins at or behind from. more says that not
	// enough is there; done that no item follows, and end is where the file is at its end.
	// first says that no item of the file stands before it.
	next(data []byte, from int, first, last bool) (begin, end int, more, done bool, err error)
	// wrap makes a document of items.
	wrap(items []byte) []byte
}

// Splitter cuts an unpacked file into chunks. It never holds more than a chunk and an item.
type Splitter struct {
	in     io.Reader
	limits Limits
	scan   scanner

	data   []byte
	base   int64 // where data begins in the file
	at     int   // what lies before it in data is given out
	last   bool  // nothing follows data
	opened bool
	items  int64
	ended  bool
}

// NewSplitter returns a splitter of a file in a format.
func NewSplitter(in io.Reader, format document.Format, csv document.CSV, limits Limits) (*Splitter, error) {
	s := &Splitter{in: in, limits: limits.withDefaults()}
	switch format {
	case document.FormatJSONL:
		s.scan = &lineScanner{}
	case document.FormatJSON, "":
		s.scan = &arrayScanner{}
	case document.FormatXML:
		s.scan = &elementScanner{}
	case document.FormatCSV:
		s.scan = &rowScanner{csv: csv}
	default:
		return nil, fmt.Errorf("files in %s cannot be read", format)
	}
	return s, nil
}

// errCut is what a file is that ends before its format does.
var errCut = errors.New("the file is cut: its end is missing")

// fill reads more of the file. What was given out is dropped first.
func (s *Splitter) fill(keep int) (dropped int, err error) {
	if keep > 0 {
		n := copy(s.data, s.data[keep:])
		s.data = s.data[:n]
		s.base, s.at, dropped = s.base+int64(keep), s.at-keep, keep
	}
	if most := s.limits.ItemBytes + s.limits.ChunkBytes; len(s.data) > most {
		return dropped, fault.Newf(fault.TooLarge, "after byte %d of the unpacked file one item has more than %d bytes", s.base+int64(s.at), s.limits.ItemBytes)
	}
	const step = 256 << 10
	if cap(s.data)-len(s.data) < step {
		grown := make([]byte, len(s.data), max(2*cap(s.data), len(s.data)+2*step))
		copy(grown, s.data)
		s.data = grown
	}
	for enough := len(s.data) + step; len(s.data) < enough && !s.last && err == nil; {
		var n int
		n, err = s.in.Read(s.data[len(s.data):cap(s.data)])
		s.data = s.data[:len(s.data)+n]
		if err == io.EOF { // as it is: a file that is cut says so in other words
			s.last, err = true, nil
		}
	}
	return dropped, err
}

// open reads what stands before the first item.
func (s *Splitter) open() error {
	for !s.opened {
		at, more, err := s.scan.open(s.data, s.last)
		switch {
		case err != nil:
			return badFile(err)
		case !more:
			s.at, s.opened = at, true
		case s.last:
			return badFile(errCut)
		default:
			if _, err := s.fill(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// SkipTo goes on where an earlier splitter of the same file stopped.
func (s *Splitter) SkipTo(p Position) error {
	if p == (Position{}) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	for left := p.Offset - s.base - int64(s.at); left != 0; left = p.Offset - s.base - int64(s.at) {
		if left < 0 {
			return fault.Newf(fault.Internal, "a file cannot be continued before its first item")
		}
		if step := min(left, int64(len(s.data)-s.at)); step > 0 {
			s.at += int(step)
			continue
		}
		if s.last {
			return badFile(fmt.Errorf("%w: it was read up to byte %d before, and has %d now", errCut, p.Offset, s.base+int64(len(s.data))))
		}
		if _, err := s.fill(s.at); err != nil {
			return err
		}
	}
	s.items = p.Items
	return nil
}

// Next returns the next chunk; io.EOF behind the last one. A file that is cut is an error and
// never has a last chunk.
func (s *Splitter) Next() (Chunk, error) {
	if s.ended {
		return Chunk{}, io.EOF
	}
	if err := s.open(); err != nil {
		return Chunk{}, err
	}
	begin, end, items := -1, s.at, 0 // of the chunk; s.at stays behind what was given out before
	for items < s.limits.ChunkItems && (begin < 0 || end-begin < s.limits.ChunkBytes) {
		from, to, more, done, err := s.scan.next(s.data, end, s.items+int64(items) == 0, s.last)
		if err != nil {
			return Chunk{}, badFile(fmt.Errorf("after byte %d of the unpacked file: %w", s.base+int64(end), err))
		}
		if more {
			if s.last {
				return Chunk{}, badFile(errCut)
			}
			dropped, err := s.fill(s.at)
			if err != nil {
				return Chunk{}, err
			}
			if end -= dropped; begin >= 0 {
				begin -= dropped
			}
			continue
		}
		if done {
			s.ended = true
			break
		}
		if to-from > s.limits.ItemBytes {
			return Chunk{}, fault.Newf(fault.TooLarge, "after byte %d of the unpacked file one item has more than %d bytes", s.base+int64(from), s.limits.ItemBytes)
		}
		if begin < 0 {
			begin = from
		}
		end, items = to, items+1
	}
	if begin < 0 {
		begin = end
	}
	body := s.scan.wrap(s.data[begin:end])
	s.at, s.items = end, s.items+int64(items)
	return Chunk{Body: body, Items: items, After: Position{s.base + int64(end), s.items}, Last: s.ended}, nil
}

// badFile returns the fault of a file that cannot be read to its end.
func badFile(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return fault.New(fault.BadBody, err)
}

const byteOrderMark = "\xef\xbb\xbf"

// afterMark returns where a text begins behind its byte order mark. more says that too little
// is there to tell.
func afterMark(data []byte, last bool) (at int, more bool) {
	switch {
	case bytes.HasPrefix(data, []byte(byteOrderMark)):
		return len(byteOrderMark), false
	case len(data) < len(byteOrderMark) && !last:
		return 0, true
	}
	return 0, false
}

// lineScanner finds lines of JSON.
type lineScanner struct{}

func (*lineScanner) open(data []byte, last bool) (int, bool, error) {
	at, more := afterMark(data, last)
	return at, more, nil
}

func (*lineScanner) next(data []byte, from int, _, last bool) (int, int, bool, bool, error) {
	for at := from; ; {
		n := bytes.IndexByte(data[at:], '\n')
		end := at + n + 1
		if n < 0 {
			if !last {
				return 0, 0, true, false, nil
			}
			end = len(data)
		}
		if len(bytes.Trim(data[at:end], " \t\r\n")) > 0 {
			return at, end, false, false, nil
		}
		if at = end; at >= len(data) {
			return 0, 0, !last, last, nil
		}
	}
}

func (*lineScanner) wrap(items []byte) []byte { return bytes.Clone(items) }

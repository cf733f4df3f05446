package filecopy

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

// archive gives out the files of an archive as one document, as a stream: it holds one of them at a time.
// Names in it lead nowhere: nothing is written, and no link is followed. The document is closed only when the
// end of the archive was met, so an archive that is cut between two files is cut as a document too.
type archive struct {
	raw    *tail
	tar    *tar.Reader
	format document.Format
	entry  string
	frame  files.Frame

	pending []byte
	items   int
	begun   bool
	ended   bool
}

// openArchive begins with an unpacked archive.
func (u *Unpacked) openArchive(in io.Reader, entry string, format document.Format) (*archive, error) {
	frame, err := files.FrameOf(format)
	if err != nil {
		return nil, err
	}
	raw := &tail{in: in, check: u.checkSize}
	return &archive{raw: raw, tar: tar.NewReader(raw), format: format, entry: entry, frame: frame}, nil
}

// Read gives out the next bytes of the document.
func (a *archive) Read(p []byte) (int, error) {
	for len(a.pending) == 0 {
		if a.ended {
			return 0, io.EOF
		}
		if err := a.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.pending)
	a.pending = a.pending[n:]
	return n, nil
}

// fill makes the next piece of the document.
func (a *archive) fill() error {
	if !a.begun {
		a.begun, a.pending = true, []byte(a.frame.Open)
		return nil
	}
	before := a.raw.n
	head, err := a.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		if err := a.raw.checkEnd(before); err != nil {
			return err
		}
		a.ended, a.pending = true, []byte(a.frame.Close)
		return nil
	case err != nil:
		return err
	case head.Typeflag == tar.TypeDir || head.Typeflag == tar.TypeXGlobalHeader || !strings.HasSuffix(head.Name, a.entry):
		_, err := io.Copy(io.Discard, a.tar) // so that what is read next is the end of the archive or a head
		return err
	case head.Typeflag != tar.TypeReg:
		return fault.Newf(fault.BadBody, "%.200q in the archive is a link or a device and no file", head.Name)
	}
	return a.takeMember(head)
}

// takeMember reads one file of the archive.
func (a *archive) takeMember(head *tar.Header) error {
	if head.Size > files.DefaultItemBytes {
		return fault.Newf(fault.TooLarge, "%.200q in the archive has %d bytes, more than the %d of one item", head.Name, head.Size, files.DefaultItemBytes)
	}
	data, err := io.ReadAll(a.tar)
	if err != nil {
		return err
	}
	item, err := files.CutMember(a.format, data)
	if err != nil {
		return fault.New(fault.BadBody, fmt.Errorf("%.200q in the archive: %w", head.Name, err))
	}
	if a.items > 0 {
		a.pending = append([]byte(a.frame.Between), item...)
	} else {
		a.pending = item
	}
	a.items++
	return nil
}

// tail remembers the last bytes that were read: an archive ends with two blocks of zeros, and a reader of archives
// takes it for ended as well where it is cut between two files.
type tail struct {
	in io.Reader
	n  int64
	// check refuses too many bytes: also of what is passed over.
	check func(n int64) error
	last  [endOfArchive]byte
}

const endOfArchive = 1024

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if too := t.check(t.n); too != nil {
		return 0, too
	}
	switch read := p[:n]; {
	case n >= endOfArchive:
		copy(t.last[:], read[n-endOfArchive:])
	case n > 0:
		copy(t.last[:], t.last[n:])
		copy(t.last[endOfArchive-n:], read)
	}
	return n, err
}

// checkEnd expects the end of the archive behind what was read of its last file, and nothing but zeros behind it.
func (t *tail) checkEnd(before int64) error {
	if t.n-before < endOfArchive || t.last != [endOfArchive]byte{} {
		return io.ErrUnexpectedEOF
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := t.Read(buffer)
		for _, b := range buffer[:n] {
			if b != 0 {
				return fault.Newf(fault.BadBody, "there is more after the end of the archive")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

package filecopy

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

const (
	// maxRatio: records shrink ten- to fiftyfold; what shrinks more is made to fill us (A10).
	maxRatio   = 250
	ratioFloor = 16 << 20 // unpacked bytes that are never judged by it
	zstdWindow = 128 << 20
)

// Unpacked is a copy as it was before it was packed.
type Unpacked struct {
	file    *os.File
	packed  *counted
	out     io.Reader
	closing func() error
	parts   func() int
	most    int64
	n       int64
}

// counted counts what is taken from a file.
type counted struct {
	in io.Reader
	n  int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// Open unpacks the copy as a stream. The files of an archive are in a format, and come as one document.
func (c *Copy) Open(how files.Config, format document.Format) (*Unpacked, error) {
	file, err := os.Open(c.path(".part"))
	if err != nil {
		return nil, err
	}
	u := &Unpacked{file: file, packed: &counted{in: file}, most: how.MaxBytes, parts: func() int { return 0 }}
	if err := u.open(how, format, c.note.Size); err != nil {
		_ = file.Close() // it was only read
		return nil, unreadable(err)
	}
	return u, nil
}

func (u *Unpacked) open(how files.Config, format document.Format, size int64) error {
	switch how.Packed {
	case files.Tar:
		a, err := u.openArchive(bufio.NewReaderSize(u.packed, 256<<10), how.Entry, format)
		u.out, u.parts = a, func() int { return 1 }
		return err
	case files.TarGzip:
		g := &members{in: bufio.NewReaderSize(u.packed, 256<<10)}
		a, err := u.openArchive(g, how.Entry, format)
		u.out, u.parts = a, func() int { return g.n }
		if err != nil {
			return err
		}
		return g.next()
	case files.Gzip:
		g := &members{in: bufio.NewReaderSize(u.packed, 256<<10)}
		u.out, u.parts = g, func() int { return g.n }
		return g.next()
	case files.Zstd:
		d, err := zstd.NewReader(u.packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return err
		}
		u.out, u.closing = d, func() error { d.Close(); return nil }
		return nil
	case files.Zip:
		return u.openZip(how.Entry, size)
	}
	u.out = u.packed
	return nil
}

// openZip opens the one file that is in a ZIP, or the one whose name ends so. Where it would be
// unpacked to by its name does not matter: it is read and never written.
func (u *Unpacked) openZip(entry string, size int64) error {
	z, err := zip.NewReader(u.file, size)
	if err != nil {
		return err
	}
	var found []*zip.File
	for _, f := range z.File {
		if f.Mode().IsRegular() && strings.HasSuffix(f.Name, entry) {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return fault.Newf(fault.BadBody, "the ZIP has %d files (of %d) whose names end with %q, but exactly one is needed (files.entry)", len(found), len(z.File), entry)
	}
	in, err := found[0].Open()
	if err != nil {
		return err
	}
	u.out, u.closing, u.parts = in, in.Close, func() int { return 1 }
	u.packed.n = int64(found[0].CompressedSize64) // what it may expand from
	return nil
}

// Read gives out the next bytes. A file that is cut or damaged ends with an error.
func (u *Unpacked) Read(p []byte) (int, error) {
	n, err := u.out.Read(p)
	u.n += int64(n)
	if too := u.checkSize(u.n); too != nil {
		return 0, too
	}
	switch {
	case err == io.EOF && u.packed.n == 0 && u.closing != nil: // nothing at all unpacks to nothing
		return n, unreadable(io.ErrUnexpectedEOF)
	case err != nil && err != io.EOF:
		return n, unreadable(err)
	}
	return n, err
}

// checkSize refuses a file that becomes too large, or so much larger than it is that it was made to.
func (u *Unpacked) checkSize(n int64) error {
	switch {
	case n > u.most:
		return fault.Newf(fault.TooLarge, "the unpacked file is larger than files.maxBytes of %d", u.most)
	case n > ratioFloor && n > maxRatio*u.packed.n:
		return fault.Newf(fault.TooLarge, "the file expands more than %d-fold: %d bytes became over %d", maxRatio, u.packed.n, n)
	}
	return nil
}

// Parts returns how many packed files stood one behind the other; it counts at the end.
func (u *Unpacked) Parts() int { return u.parts() }

// Bytes returns how many unpacked bytes were given out.
func (u *Unpacked) Bytes() int64 { return u.n }

// Close ends the reading.
func (u *Unpacked) Close() error {
	var err error
	if u.closing != nil {
		err = u.closing()
	}
	return errors.Join(err, u.file.Close())
}

// unreadable returns the fault of a file that cannot be unpacked.
func unreadable(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.New(fault.BadBody, errors.New("the packed file is cut: its end is missing"))
	}
	return fault.New(fault.BadBody, fmt.Errorf("the file cannot be unpacked (files.packed): %w", err))
}

// members reads the members of a gzip file one behind the other, and counts them.
type members struct {
	in *bufio.Reader
	g  *gzip.Reader
	n  int
}

func (m *members) next() (err error) {
	if m.g == nil {
		m.g, err = gzip.NewReader(m.in)
	} else {
		err = m.g.Reset(m.in)
	}
	if err != nil {
		return err
	}
	m.g.Multistream(false)
	m.n++
	return nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.g.Read(p)
		if err != io.EOF || n > 0 {
			if err == io.EOF {
				err = nil // the end of the member shows with the next call
			}
			return n, err
		}
		if _, err := m.in.Peek(1); err == io.EOF {
			return 0, io.EOF
		}
		if err := m.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
}

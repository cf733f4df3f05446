package exportfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/export"
)

// file is one file on its way. It may be closed and opened again: what is packed
// then begins a new frame, which every reader of the format takes.
type file struct {
	name, temp string
	disk       *os.File
	out        io.Writer // into the packer, or to the disk
	packer     io.Closer
	begun      bool
	digest     hash.Hash
	bytes      int64
}

func newFile(name, temp string) *file { return &file{name: name, temp: temp, digest: sha256.New()} }

// openAgain opens the file.
func (f *file) openAgain(root *os.Root, p export.Packing) (err error) {
	flags := os.O_WRONLY | os.O_APPEND
	if !f.begun {
		flags |= os.O_CREATE | os.O_EXCL
	}
	if f.disk, err = root.OpenFile(f.temp, flags, 0o600); err != nil {
		return err
	}
	f.begun = true
	f.out, f.packer, err = packWriter(counted{f, f.disk}, p)
	return err
}

// counted keeps the hash and the size of what reaches the disk.
type counted struct {
	file *file
	to   io.Writer
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.file.digest.Write(b[:n])
	c.file.bytes += int64(n)
	return n, err
}

type nothing struct{}

func (nothing) Close() error { return nil }

// packWriter puts a compressor before a file. One core is enough: the reading is slower.
func packWriter(to io.Writer, p export.Packing) (io.Writer, io.Closer, error) {
	switch p {
	case export.Gzip:
		w, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
		return w, w, err
	case export.Zstd:
		w, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		return w, w, err
	}
	return to, nothing{}, nil
}

// closeForNow closes the file for a while.
func (f *file) closeForNow() error {
	err := errors.Join(f.packer.Close(), f.disk.Close())
	f.disk = nil
	return err
}

// makeDurable makes the file durable. One that was closed is opened only to be synced: no
// empty frame is added.
func (f *file) makeDurable(root *os.Root) (err error) {
	if f.disk == nil {
		if f.disk, err = root.OpenFile(f.temp, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return err
		}
		f.packer = nothing{}
	}
	err = errors.Join(f.packer.Close(), f.disk.Sync(), f.disk.Close())
	f.disk = nil
	return err
}

func (f *file) sealedSum() export.Sealed {
	return export.Sealed{Bytes: f.bytes, SHA256: hex.EncodeToString(f.digest.Sum(nil))}
}

// Stream is an export into a pipe, or into nothing: no temporary names, and no
// manifest.
type Stream struct {
	to      io.Writer
	packing export.Packing
	files   map[string]*file
}

// NewStream writes to a pipe.
func NewStream(to io.Writer, p export.Packing) *Stream {
	return &Stream{to: to, packing: p, files: map[string]*file{}}
}

// Append writes lines.
func (s *Stream) Append(name string, lines []byte) (err error) {
	f := s.files[name]
	if f == nil {
		f = newFile(name, "")
		s.files[name] = f
		if f.out, f.packer, err = packWriter(counted{f, s.to}, s.packing); err != nil {
			return err
		}
	}
	_, err = f.out.Write(lines)
	return err
}

// Seal ends the stream.
func (s *Stream) Seal() (map[string]export.Sealed, error) {
	out := map[string]export.Sealed{}
	for name, f := range s.files {
		if err := f.packer.Close(); err != nil {
			return nil, err
		}
		out[name] = f.sealedSum()
	}
	return out, nil
}

// Finish does nothing: a pipe has no place for a manifest.
func (s *Stream) Finish([]byte) error { return nil }

// Close does nothing: the pipe is not ours.
func (s *Stream) Close() error { return nil }

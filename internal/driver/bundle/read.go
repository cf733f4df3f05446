package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Limits of a file that somebody else may have made (D§5.30). None of them is met by
// a bundle that patra wrote.
const (
	maxBundle   = 1<<30 + 256<<20 // of the file, and of all parts together: a body has at most 1 GiB
	maxManifest = 1 << 20
	maxText     = 256 << 20 // of a part that is read as JSON; a page has at most 100,000 items

	// What a part of JSON may hold: a few bytes of text become a value of a hundred.
	mostObjects  = 2_000_000
	mostElements = 16_000_000

	// maxRatio: what becomes more than this many times its packed size is made to
	// fill our memory (A10).
	maxRatio   = 250
	ratioFloor = 1 << 20 // unpacked bytes that are never judged by it
)

// Read reads the parts of a bundle. The manifest comes first: only if its seal is the
// one that was told, if one was, are the other parts read, each to the size that the
// manifest gives it.
func Read(path, seal string, now time.Time) (map[string][]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read bundle: %w: there is no file %s", fault.ErrNotFound, path)
	case err != nil:
		return nil, fmt.Errorf("read bundle: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxBundle:
		return nil, fmt.Errorf("read bundle: %w: %s is no bundle", fault.ErrInvalid, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	defer file.Close()
	return Decode(file, info.Size(), seal, now)
}

// Decode takes a bundle apart. Names it does not know, and names that come twice,
// are refused: somebody else made the file.
func Decode(in io.ReaderAt, size int64, seal string, now time.Time) (map[string][]byte, error) {
	files, err := listParts(in, size)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w: %v", blackbox.ErrTampered, err)
	}
	text, err := unpackPart(files[blackbox.ManifestName], maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w: %s: %v", blackbox.ErrTampered, blackbox.ManifestName, err)
	}
	m, err := blackbox.ReadManifest(text, seal, now)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	if err := checkClaims(m, files); err != nil {
		return nil, fmt.Errorf("read bundle: %w: %v", blackbox.ErrTampered, err)
	}
	parts := map[string][]byte{blackbox.ManifestName: text}
	for _, claimed := range m.Parts {
		part, err := unpackPart(files[claimed.Name], int64(claimed.Bytes))
		if err == nil && blackbox.IsText(claimed.Name) {
			err = checkText(part)
		}
		if err != nil {
			return nil, fmt.Errorf("read bundle: %w: %s: %v", blackbox.ErrTampered, claimed.Name, err)
		}
		parts[claimed.Name] = part
	}
	return parts, nil
}

// listParts reads the directory of a zip: at most one file of each known name.
func listParts(in io.ReaderAt, size int64) (map[string]*zip.File, error) {
	if err := checkDirectory(in, size); err != nil {
		return nil, err
	}
	r, err := zip.NewReader(in, size)
	if err != nil {
		return nil, err
	}
	known, files := blackbox.Names(), map[string]*zip.File{}
	for _, f := range r.File {
		if files[f.Name] != nil || !slices.Contains(known, f.Name) {
			return nil, fmt.Errorf("%q does not belong into it", f.Name)
		}
		files[f.Name] = f
	}
	if files[blackbox.ManifestName] == nil {
		return nil, fmt.Errorf("it has no %s", blackbox.ManifestName)
	}
	return files, nil
}

// The record at the end of a zip (APPNOTE 4.3.16), without a comment.
const (
	endRecord     = 22
	endSignature  = "PK\x05\x06"
	mostDirectory = 4 << 10 // bytes, of all names a bundle may have
)

// checkDirectory refuses a directory that is larger than that of any bundle, before
// it is read: a reader of zip makes a value of every name in it.
func checkDirectory(in io.ReaderAt, size int64) error {
	end := make([]byte, endRecord)
	if size < endRecord {
		return zip.ErrFormat
	}
	if _, err := in.ReadAt(end, size-endRecord); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	number := binary.LittleEndian
	length, offset := int64(number.Uint32(end[12:])), int64(number.Uint32(end[16:]))
	switch {
	case string(end[:4]) != endSignature || number.Uint16(end[20:]) != 0:
		return zip.ErrFormat
	case int(number.Uint16(end[10:])) > len(blackbox.Names()) || length > mostDirectory:
		return errors.New("it has more parts than a bundle")
	case offset+length != size-endRecord:
		return zip.ErrFormat
	}
	return nil
}

// checkClaims holds what a manifest says of its parts against the limits, and against
// the file: a few bytes do not honestly become many.
func checkClaims(m blackbox.Manifest, files map[string]*zip.File) error {
	total, seen := int64(0), map[string]bool{blackbox.ManifestName: true}
	for _, claimed := range m.Parts {
		f, bytes := files[claimed.Name], int64(claimed.Bytes)
		switch {
		case f == nil || seen[claimed.Name]:
			return fmt.Errorf("%.40q is missing, or listed twice", claimed.Name)
		case bytes < 0 || bytes > maxBundle-total, blackbox.IsText(claimed.Name) && bytes > maxText:
			return fmt.Errorf("%s claims %d bytes, more than a bundle has", claimed.Name, bytes)
		case f.UncompressedSize64 != uint64(bytes):
			return fmt.Errorf("%s has %d bytes, the manifest says %d", claimed.Name, f.UncompressedSize64, bytes)
		case bytes > ratioFloor && uint64(bytes)/maxRatio > f.CompressedSize64:
			return fmt.Errorf("%s becomes more than %d times its size in the file", claimed.Name, maxRatio)
		}
		total, seen[claimed.Name] = total+bytes, true
	}
	if len(m.Parts)+1 != len(files) {
		return fmt.Errorf("it has %d parts beside the manifest, which lists %d", len(files)-1, len(m.Parts))
	}
	return nil
}

// unpackPart reads a part of at most so many bytes. It is taken by the size it claims,
// which was held against its packed size before, so that it is never copied.
func unpackPart(f *zip.File, most int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(most) {
		return nil, fmt.Errorf("it has %d bytes, %d are allowed", f.UncompressedSize64, most)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	part := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(in, part); err != nil {
		return nil, err
	}
	switch n, err := in.Read(make([]byte, 1)); { // the checksum is judged at the end
	case n > 0:
		return nil, errors.New("it has more bytes than it says")
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return part, nil
}

// checkText counts what a reader of JSON would make of a part.
func checkText(text []byte) error {
	if bytes.Count(text, []byte{'{'}) > mostObjects || bytes.Count(text, []byte{','}) > mostElements {
		return errors.New("it holds more values than a page has")
	}
	return nil
}

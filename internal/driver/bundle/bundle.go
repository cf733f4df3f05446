// Package bundle keeps the black box of a batch in one file that can be handed to
// another machine: a zip with a manifest and a few parts, all of known names.
//
// It does not know what the parts mean and judges neither seal nor expiry. It
// never unpacks to the disk, so no name in a file can lead anywhere, and it never
// reads more of a file than its limits allow, whatever the file says of itself.
package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// maxBundle is the largest file and the most bytes all parts may have together: a
// body has at most 1 GiB.
const maxBundle = 1<<30 + 256<<20

// Encode writes parts as one zip. Equal parts give equal bytes.
func Encode(parts map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	names := slices.Sorted(maps.Keys(parts))
	slices.SortStableFunc(names, func(a, b string) int { // the manifest first: it is what people look for
		return rank(a) - rank(b)
	})
	for _, name := range names {
		part, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()})
		if err == nil {
			_, err = part.Write(parts[name])
		}
		if err != nil {
			return nil, fmt.Errorf("write bundle: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	return out.Bytes(), nil
}

func rank(name string) int {
	if name == blackbox.ManifestName {
		return 0
	}
	return 1
}

// Write puts a bundle under a name that is not taken, readable by its owner only.
// One that could not be written whole is removed.
func Write(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return taken(path)
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write bundle: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

func taken(path string) error {
	return fmt.Errorf("write bundle: %w: %s exists: name another file with --out", fault.ErrConflict, path)
}

// Free reports whether a bundle can be written under a name.
func Free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return taken(path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("write bundle: %w: there is no folder %s", fault.ErrInvalid, filepath.Dir(path))
	}
	return nil
}

// Read reads the parts of a bundle.
func Read(path string) (map[string][]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read bundle: %w: there is no file %s", fault.ErrNotFound, path)
	case err != nil:
		return nil, fmt.Errorf("read bundle: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxBundle:
		return nil, fmt.Errorf("read bundle: %w: %s is no bundle", fault.ErrInvalid, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	return Decode(content)
}

// Decode takes a bundle apart. Names it does not know, and names that come twice,
// are refused: somebody else made the file.
func Decode(content []byte) (map[string][]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w: %v", blackbox.ErrTampered, err)
	}
	known, parts, left := blackbox.Names(), map[string][]byte{}, int64(maxBundle)
	for _, f := range r.File {
		if _, twice := parts[f.Name]; twice || !slices.Contains(known, f.Name) {
			return nil, fmt.Errorf("read bundle: %w: %q does not belong into it", blackbox.ErrTampered, f.Name)
		}
		part, err := unpack(f, left)
		if err != nil {
			return nil, fmt.Errorf("read bundle: %w: %s: %v", blackbox.ErrTampered, f.Name, err)
		}
		left -= int64(len(part))
		parts[f.Name] = part
	}
	return parts, nil
}

func unpack(f *zip.File, most int64) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	part, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(part)) > most {
		err = errors.New("it is larger than any bundle")
	}
	return part, err
}

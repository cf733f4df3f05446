// Package bundle keeps the black box of a batch in one file that can be handed to
// another machine: a zip with a manifest and a few parts, all of known names.
//
// It does not know what the parts mean and judges neither seal nor expiry. It
// never unpacks to the disk, so no name in a file can lead anywhere, and it never
// reads more of a file than its manifest and its limits allow.
package bundle

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Encode writes parts as one zip. Equal parts give equal bytes.
func Encode(parts map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	names := slices.Sorted(maps.Keys(parts))
	slices.SortStableFunc(names, func(a, b string) int { // the manifest first: it is what people look for
		return partRank(a) - partRank(b)
	})
	for _, name := range names {
		method := zip.Deflate
		if shrinksTooMuch(parts[name]) {
			method = zip.Store
		}
		part, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: at.UTC()})
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

// shrinksTooMuch reports whether a part would be refused when it is read, because it
// is almost nothing once it is packed. It is then stored as it is.
func shrinksTooMuch(part []byte) bool {
	if len(part) <= ratioFloor {
		return false
	}
	var packed counter
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return true
	}
	_, err = w.Write(part)
	return err != nil || w.Close() != nil || int64(len(part)) > maxRatio/2*int64(packed)
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func partRank(name string) int {
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
		return checkTaken(path)
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

func checkTaken(path string) error {
	return fmt.Errorf("write bundle: %w: %s exists: name another file with --out", fault.ErrConflict, path)
}

// Free reports whether a bundle can be written under a name.
func Free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return checkTaken(path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("write bundle: %w: there is no folder %s", fault.ErrInvalid, filepath.Dir(path))
	}
	return nil
}

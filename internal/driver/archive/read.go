package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/until"
)

// maxPart is the most that a part may have, packed and unpacked: a writer closes
// one at 256 KB of text, so only a single row can be larger.
const maxPart = 64 << 20

// ErrDamaged means that a file is not what was written.
var ErrDamaged = errors.New("is damaged")

// Rows visits the rows of a file that belong to a thing, in order; all rows if
// none is named. Only the parts are unpacked that may have it.
//
// The file is first held against the size and the hash that it was sealed with: what
// somebody changed or put in its place is refused before a number of it is used
// (D§5.30). Without a hash, which only a file that nobody sealed lacks, its bounds
// alone are checked.
func (s *Store) Rows(ctx context.Context, sealed retention.File, of *retention.Link, visit func(retention.Row) error) error {
	file, err := s.openFile(sealed.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := checkSeal(ctx, file, sealed)
	if err != nil {
		return err
	}
	return visitRows(ctx, sealed.Name, file, size, of, visit)
}

func visitRows(ctx context.Context, name string, file io.ReaderAt, size int64, of *retention.Link, visit func(retention.Row) error) error {
	known, err := readIndex(file, size)
	if err != nil {
		return damagedFile(name, err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPart), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer decoder.Close()
	for _, p := range known.Parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if of != nil && !p.Lineage.Has(*of) {
			continue
		}
		packed := make([]byte, p.Size)
		if _, err := file.ReadAt(packed, p.Offset); err != nil {
			return damagedFile(name, err)
		}
		text, err := decoder.DecodeAll(packed, nil)
		if err != nil {
			return damagedFile(name, err)
		}
		if err := visitLines(text, of, visit); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	return nil
}

// checkSeal holds an open file against what is known of it, and gives its size. It
// reads the file through once and keeps nothing of it.
func checkSeal(ctx context.Context, file *os.File, sealed retention.File) (size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size = info.Size()
	switch {
	case sealed.SHA256 == "":
		return size, nil
	case sealed.Bytes > 0 && size != sealed.Bytes:
		return 0, damagedFile(sealed.Name, fmt.Errorf("it has %d bytes, sealed were %d: %s", size, sealed.Bytes, restore))
	}
	sum, err := digestFile(ctx, file)
	if err == nil && sum != sealed.SHA256 {
		err = damagedFile(sealed.Name, fmt.Errorf("its hash is %.12s…, sealed was %.12s…: %s", sum, sealed.SHA256, restore))
	}
	return size, err
}

// restore is what to do about a file that is not the one that was sealed.
const restore = "put the file back from a backup; `patra db archive check` looks at all of them"

func digestFile(ctx context.Context, file *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, until.Done(ctx, io.NewSectionReader(file, 0, 1<<62))); err != nil {
		return "", fmt.Errorf("archive %s: %w", filepath.Base(file.Name()), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func visitLines(text []byte, of *retention.Link, visit func(retention.Row) error) error {
	for line := range bytes.Lines(text) {
		row, err := decodeLine(line)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if of != nil && !row.Is(*of) {
			continue
		}
		if err := visit(row); err != nil {
			return err
		}
	}
	return nil
}

func damagedFile(name string, err error) error {
	return fmt.Errorf("archive %s %w: %w", name, ErrDamaged, err)
}

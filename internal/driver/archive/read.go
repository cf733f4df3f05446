package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/retention"
)

// maxPart is the most memory that a part may ask for when it is read: a file may
// have been changed by others.
const maxPart = 256 << 20

// ErrDamaged means that a file is not what was written.
var ErrDamaged = errors.New("is damaged")

// Rows visits the rows of a file that belong to a thing, in order; all rows if
// none is named. Only the parts are read that may have it.
func (s *Store) Rows(ctx context.Context, name string, of *retention.Link, visit func(retention.Row) error) error {
	file, err := s.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	known, err := readIndex(file)
	if err != nil {
		return damaged(name, err)
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
			return damaged(name, err)
		}
		text, err := decoder.DecodeAll(packed, nil)
		if err != nil {
			return damaged(name, err)
		}
		if err := visitLines(text, of, visit); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	return nil
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

func damaged(name string, err error) error {
	return fmt.Errorf("archive %s %w: %w", name, ErrDamaged, err)
}

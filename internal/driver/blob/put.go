package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// Put keeps a body and says under which name, and how much room it takes. When
// it returns, the body survives a power cut. A body that is there already is
// not written again; it only becomes young, so that retention counts from the
// newest batch that refers to it. The caller must not change body meanwhile.
//
// Packed are parts of the body that were packed for the database, in the order of the
// body: the file takes what was packed, and only the rest is packed here (decision 110).
// Sum is the SHA-256 of the body where it is known already, or empty: an answer is hashed
// once (decision 137). Get notices a wrong one.
func (s *Store) Put(ctx context.Context, body []byte, sum string, packed []ingest.PackedPart) (ref string, stored int64, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	if len(body) > maxBody {
		return "", 0, fmt.Errorf("keep raw body: %w: it has %d bytes, at most %d are kept", fault.ErrInvalid, len(body), maxBody)
	}
	if ref = sum; ref == "" {
		ref = refOf(body)
	}
	if !isRef(ref) {
		return "", 0, fmt.Errorf("keep raw body: %w: %q is no hash", fault.ErrInvalid, ref)
	}
	path := s.filePath(ref)
	if stored, there := s.refreshFile(path); there {
		if err := durable.SyncFolder(filepath.Dir(path)); err != nil { // its writer may not have come that far
			return "", 0, s.explainError(err)
		}
		return ref, stored, nil
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	*buffer = s.pack((*buffer)[:0], body, packed)
	if err := s.writeFile(path, *buffer); err != nil {
		return "", 0, s.explainError(err)
	}
	stored = int64(len(*buffer))
	s.grown.Add(stored)
	return ref, stored, nil
}

// refreshFile makes a file young and looks whether it is still there: a sweeper may
// have taken the old one away in between.
func (s *Store) refreshFile(path string) (size int64, there bool) {
	now := time.Now()
	if os.Chtimes(path, now, now) != nil {
		return 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// writeFile makes a file that is whole under its name, or not there at all.
func (s *Store) writeFile(path string, packed []byte) error {
	file, err := s.newTemp()
	if err != nil {
		return err
	}
	_, err = file.Write(packed)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = s.renameFile(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // or the next sweep does
		return err
	}
	return durable.SyncFolder(filepath.Dir(path))
}

const tempDir = "tmp"

// newTemp makes the folders when they are missed: somebody may have removed them
// under a running program.
func (s *Store) newTemp() (*os.File, error) {
	dir := filepath.Join(s.dir, tempDir)
	file, err := s.temp(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := durable.SyncFolder(filepath.Dir(s.dir)); err != nil {
		return nil, err
	}
	return s.temp(dir)
}

func (s *Store) renameFile(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := durable.SyncFolder(s.dir); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Ready makes the folders and writes a file there, so that a folder nobody may
// write to is found before work begins and not by its first page.
func (s *Store) Ready() error {
	file, err := s.newTemp()
	if err != nil {
		return s.explainError(err)
	}
	return s.explainError(errors.Join(file.Close(), os.Remove(file.Name())))
}

// explainError says what to do.
func (s *Store) explainError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("keep raw body: no room left in %s: make room there, keep less (--raw-max, --raw-keep), or keep none (--no-raw): %w: %w", s.dir, fault.ErrFull, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("keep raw body: %s cannot be written to: let this user write there, name another folder (--raw-dir), or keep none (--no-raw): %w", s.dir, err)
	}
	return fmt.Errorf("keep raw body: %w", err)
}

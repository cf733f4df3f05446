// Package archive keeps history that left the database as files of compressed
// JSON lines, each with an index of its own, so that one batch of years ago is
// found without reading years (§13.5). A file is written once, is whole under its
// name or not there at all, and is named and hashed by whoever asks for it.
//
// It never changes or removes a file that was sealed, and it does not know what
// the rows mean: which may leave the database is decided elsewhere.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// Store is a folder of archives. Any number of processes may use it at once.
type Store struct {
	// CrashAfter lets tests end a Write after one of its steps, as a crash would: what
	// was done stays as it is.
	CrashAfter func(step string) error

	dir  string
	link func(from, to string) error               // gives a file a second name, which must be free
	note func(ctx context.Context) (string, error) // the head of the audit log, as it is now
}

// Open makes a store of a folder. Nothing is written before the first Write.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("archive: %w: no folder is named", fault.ErrInvalid)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("archive: %w: %s is no folder", fault.ErrInvalid, dir)
	}
	return &Store{dir: dir, link: os.Link, CrashAfter: func(string) error { return nil }}, nil
}

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

// NoteHead lets every file hold the head of the audit log as it was: who cuts the
// log's end off would have to change a sealed file too (A37).
func (s *Store) NoteHead(head func(ctx context.Context) (string, error)) { s.note = head }

// filePath keeps names inside the folder: they come from the database, and a database
// can be written to by others.
func (s *Store) filePath(name string) (string, error) {
	if name == "" || name != filepath.Base(name) || !strings.HasSuffix(name, retention.Suffix) {
		return "", fmt.Errorf("archive: %w: %q is no name of an archive", fault.ErrInvalid, name)
	}
	return filepath.Join(s.dir, name), nil
}

// Digest returns the SHA-256 of a file, as it is now.
func (s *Store) Digest(ctx context.Context, name string) (string, error) {
	file, err := s.openFile(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return digestFile(ctx, file)
}

func (s *Store) openFile(name string) (*os.File, error) {
	path, err := s.filePath(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("archive %s: %w in %s", name, fault.ErrNotFound, s.dir)
	}
	if err == nil && !info.Mode().IsRegular() { // to open a pipe would wait for its writer
		return nil, fmt.Errorf("archive %s: %w: it is no regular file", name, fault.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Remove takes away what an attempt that was given up has left, under its name or
// on the way to it. What is not there is no error. Only the attempt that made the
// name up may ask for it: a file of an earlier one may be sealed in another copy of
// the database.
func (s *Store) Remove(name string) error {
	if err := s.Sweep(name); err != nil {
		return err
	}
	return removeFile(filepath.Join(s.dir, name))
}

// Sweep takes away what is on the way to a name, and leaves the file that has it.
func (s *Store) Sweep(name string) error {
	if _, err := s.filePath(name); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "."+name+".*"))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for _, path := range left {
		if err := removeFile(path); err != nil {
			return err
		}
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

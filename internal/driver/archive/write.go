package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// Steps of a Write, for tests that let it crash.
const (
	StepRows   = "rows"   // the rows are in a file under another name
	StepSync   = "sync"   // they survive a power cut
	StepName   = "name"   // the file has its name
	StepFolder = "folder" // and so it has after a power cut, and no other one
)

// Write makes a file of rows and says what is known of it. When it returns, the
// file survives a power cut. A file that has the name already is never replaced.
func (s *Store) Write(ctx context.Context, name string, rows iter.Seq2[retention.Row, error]) (retention.File, error) {
	path, err := s.filePath(name)
	if err != nil {
		return retention.File{}, err
	}
	f, err := s.writeFile(ctx, path, rows)
	f.Name = name
	if err != nil {
		return f, s.explainError(err)
	}
	return f, nil
}

func (s *Store) writeFile(ctx context.Context, path string, rows iter.Seq2[retention.Row, error]) (f retention.File, err error) {
	if err := s.makeReady(); err != nil {
		return f, err
	}
	file, err := os.CreateTemp(s.dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return f, err
	}
	crashed := errCrash{}
	defer func() {
		_ = file.Close()
		if err != nil && !errors.As(err, &crashed) {
			_ = os.Remove(file.Name())
		}
	}()
	head := ""
	if s.note != nil {
		if head, err = s.note(ctx); err != nil {
			return f, err
		}
	}
	if f, err = writeRows(ctx, file, head, rows); err != nil {
		return f, err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{StepRows, func() error { return nil }},
		{StepSync, func() error { return errors.Join(file.Sync(), file.Close()) }}, // Windows moves no open file
		{StepName, func() error { return s.takeName(file.Name(), path) }},
		{StepFolder, func() error { return errors.Join(removeFile(file.Name()), durable.SyncFolder(s.dir)) }},
	} {
		if err := step.do(); err != nil {
			return f, err
		}
		if err := s.CrashAfter(step.name); err != nil {
			return f, errCrash{err}
		}
	}
	return f, nil
}

type errCrash struct{ error }

func (e errCrash) Unwrap() error { return e.error }

func (s *Store) makeReady() error {
	if _, err := os.Stat(s.dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return durable.SyncFolder(filepath.Dir(s.dir))
}

// frameBytes is how much text one part of a file holds: the least that is read to
// find one row.
const frameBytes = 256 << 10

// writer packs lines into parts that can be read alone, and notes where they are.
type writer struct {
	file    *os.File
	sum     hash.Hash
	encoder *zstd.Encoder
	text    []byte
	packed  []byte
	part    part
	index   index
	done    retention.File
}

func writeRows(ctx context.Context, file *os.File, head string, rows iter.Seq2[retention.Row, error]) (retention.File, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return retention.File{}, err
	}
	w := writer{file: file, sum: sha256.New(), encoder: encoder, index: index{Audit: head}, done: retention.File{Lineage: retention.Ranges{}}}
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = w.addRow(row)
		}
		if err != nil {
			return w.done, err
		}
	}
	if err := w.flushPart(); err != nil {
		return w.done, err
	}
	if err := w.putBytes(w.index.encodeFrame()); err != nil {
		return w.done, err
	}
	w.done.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return w.done, nil
}

func (w *writer) addRow(row retention.Row) error {
	line, err := encodeLine(row)
	if err != nil {
		return err
	}
	w.text = append(w.text, line...)
	if w.part.Lineage == nil {
		w.part.Lineage = retention.Ranges{}
	}
	w.part.Rows++
	w.part.Lineage.Add(row)
	w.done.Lineage.Add(row)
	w.done.Rows++
	if len(w.text) >= frameBytes {
		return w.flushPart()
	}
	return nil
}

// flushPart writes a part. Each is a frame of its own, so `zstd -dc` reads the whole
// file and we read one part.
func (w *writer) flushPart() error {
	if len(w.text) == 0 {
		return nil
	}
	w.packed = w.encoder.EncodeAll(w.text, w.packed[:0])
	w.part.Offset, w.part.Size = w.done.Bytes, int64(len(w.packed))
	w.index.Parts = append(w.index.Parts, w.part)
	w.part, w.text = part{}, w.text[:0]
	return w.putBytes(w.packed)
}

func (w *writer) putBytes(bytes []byte) error {
	w.sum.Write(bytes)
	n, err := w.file.Write(bytes)
	w.done.Bytes += int64(n)
	return err
}

// explainError says what to do.
func (s *Store) explainError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write archive: no room left in %s: make room there or name another folder (--archive-dir); nothing was removed from the database: %w", s.dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("write archive: %s cannot be written to: let this user write there or name another folder (--archive-dir): %w", s.dir, err)
	}
	return fmt.Errorf("write archive: %w", err)
}

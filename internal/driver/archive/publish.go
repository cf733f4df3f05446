package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// ErrTaken means that another file has the name.
var ErrTaken = errors.New("is there already")

// takeName gives a file its name, unless another has it: that one may be all that is
// left of the history of another database, or of a later state of this one.
func (s *Store) takeName(from, to string) error {
	err := s.link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // not every file system has links
		err = moveToFree(from, to)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w and holds other history, of another database or of a later state of this one; "+
			"it was left as it is, and nothing was removed from the database: start it again, which takes another name, "+
			"or name a folder that only this database uses with --archive-dir or PATRA_ARCHIVE_DIR", to, ErrTaken)
	}
	return err
}

// moveToFree reserves a name by an empty file and moves a file over it.
func moveToFree(from, to string) error {
	place, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(place.Close(), os.Rename(from, to)); err != nil {
		return errors.Join(err, removeFile(to))
	}
	return nil
}

var errOther = errors.New("it holds other rows")

// Adopt takes over the file of an attempt that was killed before it was sealed, and
// says what is known of it. It is the same only if it holds just these rows; one that
// does not, or that is not there or damaged, is left as it is.
func (s *Store) Adopt(ctx context.Context, name string, rows iter.Seq2[retention.Row, error]) (f retention.File, same bool, err error) {
	file, err := s.openFile(name)
	if errors.Is(err, fault.ErrNotFound) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	defer file.Close()
	f, err = compareRows(ctx, name, file, rows)
	if errors.Is(err, errOther) || errors.Is(err, ErrDamaged) {
		return retention.File{}, false, nil
	}
	if err != nil {
		return f, false, err
	}
	if f.SHA256, err = digestFile(ctx, file); err != nil {
		return f, false, err
	}
	return f, true, durable.SyncFolder(s.dir)
}

// compareRows reads a file and rows beside each other.
func compareRows(ctx context.Context, name string, file *os.File, rows iter.Seq2[retention.Row, error]) (retention.File, error) {
	f := retention.File{Name: name, Lineage: retention.Ranges{}}
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	f.Bytes = info.Size()
	next, stop := iter.Pull2(rows)
	defer stop()
	err = visitRows(ctx, name, file, f.Bytes, nil, func(is retention.Row) error {
		want, err, more := next()
		if err != nil {
			return err
		}
		if !more || !sameRow(is, want) {
			return errOther
		}
		f.Rows++
		f.Lineage.Add(is)
		return nil
	})
	if err != nil {
		return f, err
	}
	_, err, more := next()
	if err == nil && more {
		err = errOther
	}
	return f, err
}

func sameRow(a, b retention.Row) bool {
	return a.Table == b.Table && a.ID == b.ID && a.CursorID == b.CursorID && a.Lineage == b.Lineage && bytes.Equal(a.Columns, b.Columns)
}

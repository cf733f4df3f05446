package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// Heads tells for every archive that the database knows, and for every other file of
// the folder, which head of the audit log it holds, or why that cannot be told. Sealed
// archives are also held against their hash, unless only a quick look is wanted. A
// file that is damaged hides no other.
func (s *Store) Heads(ctx context.Context, known []retention.Archive, quick bool) (out []audit.Witness, err error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*"+retention.Suffix))
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	strangers := map[string]bool{}
	for _, path := range paths {
		strangers[filepath.Base(path)] = true
	}
	for _, a := range known {
		delete(strangers, a.Name)
		if a.Status == retention.Writing {
			continue
		}
		if quick {
			a.SHA256 = ""
		}
		w, err := s.readHead(ctx, a.File)
		if err != nil {
			return nil, err
		}
		w.Begun = a.CreatedAt
		out = append(out, w)
	}
	for _, path := range paths { // sorted by name
		if name := filepath.Base(path); strangers[name] {
			w, err := s.readHead(ctx, retention.File{Name: name})
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
	}
	return slices.Clip(out), nil
}

// readHead reads the head that one file holds. Its error is the context's.
func (s *Store) readHead(ctx context.Context, sealed retention.File) (audit.Witness, error) {
	w := audit.Witness{File: sealed.Name}
	if err := ctx.Err(); err != nil {
		return w, err
	}
	file, err := s.openFile(sealed.Name)
	if err == nil {
		defer file.Close()
		var size int64
		if size, err = checkSeal(ctx, file, sealed); err == nil {
			var i index
			if i, err = readIndex(file, size); err == nil {
				w.Head = i.Audit
				return w, nil
			}
		}
	}
	if ctx.Err() != nil {
		return w, ctx.Err()
	}
	if w.Broken = err.Error(); errors.Is(err, fault.ErrNotFound) {
		w.Broken = "it is not in " + s.dir
	}
	return w, nil
}

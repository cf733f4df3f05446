package archive

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// Heads are the heads of the audit log that the files of the folder hold.
func (s *Store) Heads(ctx context.Context) (out []audit.Noted, err error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*"+retention.Suffix))
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		file, err := s.open(name)
		if err != nil {
			return nil, err
		}
		i, err := readIndex(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("archive %s: %w", name, err)
		}
		if i.Audit != "" {
			out = append(out, audit.Noted{Hash: i.Audit, Where: "the archive " + name})
		}
	}
	return out, nil
}

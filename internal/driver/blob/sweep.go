package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Swept is what a sweep did.
type Swept struct {
	Files int   // removed
	Bytes int64 // of these files
	Left  int64 // bytes that are still there
}

// Sweep removes what is older than keepFor, and then the oldest until the rest
// fits the budget; zero means no limit. Files within the grace time stay. It
// goes file by file, so it can be stopped at any moment and needs no lock beside
// writers and other sweepers. now is of the clock that stamps the files.
func (s *Store) Sweep(ctx context.Context, now time.Time, keepFor time.Duration, budget int64) (Swept, error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return Swept{}, nil
	}
	grown := s.grown.Load()
	w := sweep{store: s, now: now, young: now.Add(-s.options.Grace), byAge: map[int64]int64{}}
	if err := w.sweepAll(ctx, keepFor, budget); err != nil {
		return w.done, fmt.Errorf("sweep raw bodies: %w", err)
	}
	s.grown.Add(-grown)
	return w.done, nil
}

// sweep is one walk through the folder. Bytes are added up by age, so memory
// does not grow with the number of files (I14).
type sweep struct {
	store *Store
	now   time.Time
	young time.Time
	byAge map[int64]int64
	done  Swept
}

func (w *sweep) sweepAll(ctx context.Context, keepFor time.Duration, budget int64) error {
	if err := w.store.sweepTemp(w.young); err != nil {
		return err
	}
	if err := w.removeExpired(ctx, keepFor); err != nil {
		return err
	}
	if err := w.removeExcess(ctx, budget); err != nil {
		return err
	}
	return w.store.noteSwept(w.now, w.done.Left)
}

// ageStep is how finely the budget tells old from young; the files of the step
// at the border go in no order.
const ageStep = 10 * time.Minute

func stepOf(at time.Time) int64 { return at.UnixNano() / int64(ageStep) }

// removeExpired removes what is too old and adds up the rest.
func (w *sweep) removeExpired(ctx context.Context, keepFor time.Duration) error {
	limit := w.young
	if kept := w.now.Add(-keepFor); kept.Before(limit) {
		limit = kept
	}
	return w.store.walkBodies(ctx, func(f found) error {
		if f.at.After(w.now.Add(24 * time.Hour)) {
			f.at = w.now // stamped by a clock that was wrong: it ages from now on
			if err := os.Chtimes(f.path, f.at, f.at); err != nil {
				return ignoreMissing(err)
			}
		}
		if keepFor > 0 && f.at.Before(limit) {
			return w.removeFile(f)
		}
		w.done.Left += f.size
		w.byAge[stepOf(f.at)] += f.size
		return nil
	})
}

// removeExcess removes the oldest until the rest fits.
func (w *sweep) removeExcess(ctx context.Context, budget int64) error {
	if budget <= 0 || w.done.Left <= budget {
		return nil
	}
	border, over := int64(0), w.done.Left-budget
	for _, border = range slices.Sorted(maps.Keys(w.byAge)) {
		if over -= w.byAge[border]; over <= 0 {
			break
		}
	}
	spare := -over // of the step at the border, what may stay
	return w.store.walkBodies(ctx, func(f found) error {
		at := stepOf(f.at)
		if at > border || !f.at.Before(w.young) {
			return nil
		}
		if at == border && f.size <= spare {
			spare -= f.size
			return nil
		}
		w.done.Left -= f.size
		return w.removeFile(f)
	})
}

// removeFile takes a file away unless somebody has put its body again since it was
// looked at. It is set aside first: from then on Put writes a new file, and
// whatever Put did before shows in the time of this one.
func (w *sweep) removeFile(f found) error {
	away := f.path
	if !strings.HasSuffix(f.path, aside) {
		away += aside
		if err := os.Rename(f.path, away); err != nil {
			return ignoreMissing(err)
		}
	}
	info, err := os.Stat(away)
	if err != nil {
		return ignoreMissing(err)
	}
	if !info.ModTime().Equal(f.at) {
		w.done.Left += f.size
		return ignoreMissing(os.Rename(away, strings.TrimSuffix(away, aside)))
	}
	if err := os.Remove(away); err != nil {
		return ignoreMissing(err)
	}
	w.done.Files++
	w.done.Bytes += f.size
	return nil
}

// ignoreMissing forgives that another sweeper was faster.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// found is a file of the store.
type found struct {
	path string
	size int64
	at   time.Time
}

const (
	shards = 256
	atOnce = 512 // names read at once
)

// walkBodies visits all bodies. It begins anywhere: a walk that is always cut short
// must not always see the same ones.
func (s *Store) walkBodies(ctx context.Context, visit func(found) error) error {
	first := rand.IntN(shards)
	for i := range shards {
		if err := s.walkShard(ctx, filepath.Join(s.dir, fmt.Sprintf("%02x", (first+i)%shards)), visit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) walkShard(ctx context.Context, path string, visit func(found) error) error {
	dir, err := os.Open(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(atOnce)
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if name := strings.TrimSuffix(entry.Name(), aside); !isRef(strings.TrimSuffix(name, suffix)) {
				continue // not ours
			}
			info, err := entry.Info()
			if err == nil {
				err = visit(found{filepath.Join(path, entry.Name()), info.Size(), info.ModTime()})
			}
			if ignoreMissing(err) != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sweepTemp removes what processes left that died while they wrote. A file that
// is being written is seconds old.
func (s *Store) sweepTemp(young time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, tempDir))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.ModTime().Before(young) {
			err = os.Remove(filepath.Join(s.dir, tempDir, entry.Name()))
		}
		if ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// Size counts what is there.
func (s *Store) Size(ctx context.Context) (files int, bytes int64, err error) {
	err = s.walkBodies(ctx, func(f found) error {
		files++
		bytes += f.size
		return nil
	})
	if err != nil {
		err = fmt.Errorf("size of raw bodies: %w", err)
	}
	return files, bytes, err
}

package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// LeftBehind is how long a copy lies in nobody's hands before it counts as left behind. A
	// task that waits for its next attempt comes back sooner; one that comes later fetches
	// the file again.
	LeftBehind = 48 * time.Hour

	sweepEvery = time.Hour
	lastSweep  = "swept" // a file whose time says when the folder was swept, by whichever process
)

// ends are what the names of files of a copy end with. The lock is the last one to be removed.
var ends = []string{".part", ".json.new", ".json", ".lock"}

// Swept is what a sweep removed.
type Swept struct {
	Copies int
	Bytes  int64
}

// Due reports whether it is time to sweep: there is a folder, and nobody swept it for an hour.
func (f *Folder) Due(now time.Time) bool {
	if _, err := os.Stat(f.dir); err != nil {
		return false
	}
	info, err := os.Stat(filepath.Join(f.dir, lastSweep))
	return err != nil || now.Sub(info.ModTime()).Abs() >= sweepEvery
}

// Sweep removes copies that were left behind by processes that died and by tasks that were
// cancelled. Others may use the folder meanwhile: a copy is removed only by who holds its lock.
// now is of the clock that stamps the files.
func (f *Folder) Sweep(ctx context.Context, now time.Time) (done Swept, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return done, fmt.Errorf("folder of files: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		key, ours := keyOf(e.Name())
		if !ours || seen[key] {
			continue
		}
		seen[key] = true
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		if err := f.sweepCopy(key, now.Add(-LeftBehind), &done); err != nil {
			return done, fmt.Errorf("sweep copies of files: %w", err)
		}
	}
	path := filepath.Join(f.dir, lastSweep)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return done, err
	}
	return done, os.Chtimes(path, now, now)
}

// keyOf returns the copy to which a file belongs.
func keyOf(name string) (key string, ours bool) {
	for _, end := range ends {
		if key, ours := strings.CutSuffix(name, end); ours && key != "" {
			return key, true
		}
	}
	return "", false
}

// sweepCopy removes a copy that nobody has in hand and nobody had since.
func (f *Folder) sweepCopy(key string, since time.Time, done *Swept) error {
	if _, idle, err := f.measure(key, since, ends); err != nil || !idle {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[key] {
		return nil
	}
	lock := filepath.Join(f.dir, key+".lock")
	judged := ends
	if _, err := os.Stat(lock); errors.Is(err, fs.ErrNotExist) {
		judged = ends[:len(ends)-1] // it is made here
	}
	release, err := lockIdle(lock)
	if err != nil {
		return nil // in the hands of another process, or not to be opened: it stays
	}
	bytes, idle, err := f.measure(key, since, judged) // another one may have used it before it was locked
	if err == nil && idle {
		for _, end := range ends {
			if failed := os.Remove(filepath.Join(f.dir, key+end)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = failed // where files in use cannot be removed, it is in use
				break
			}
		}
		if err == nil {
			done.Copies, done.Bytes = done.Copies+1, done.Bytes+bytes
		}
	}
	return errors.Join(err, release())
}

// measure returns how large a copy is, and whether nobody touched the named ones of its files
// since an instant.
func (f *Folder) measure(key string, since time.Time, judged []string) (bytes int64, idle bool, err error) {
	for _, end := range judged {
		info, err := os.Stat(filepath.Join(f.dir, key+end))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return 0, false, err
		case !info.ModTime().Before(since):
			return 0, false, nil
		case end == ".part":
			bytes = info.Size()
		}
	}
	return bytes, true, nil
}

package blob

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// lastSweep is a file whose time says when the folder was swept to its end, by
// whichever process.
const lastSweep = "swept"

func (s *Store) noteSwept(now time.Time) error {
	path := filepath.Join(s.dir, lastSweep)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Chtimes(path, now, now))
}

// How often a folder is swept. Writing a good part of the budget does not wait
// for the hour.
const (
	sweepEvery = time.Hour
	growth     = 20 // a twentieth of the budget
)

// Due reports whether it is time to sweep: nobody has for an hour, or this
// process has put much since.
func (s *Store) Due(now time.Time, budget int64) bool {
	if budget > 0 && s.grown.Load() > budget/growth {
		return true
	}
	info, err := os.Stat(filepath.Join(s.dir, lastSweep))
	return err != nil || now.Sub(info.ModTime()).Abs() >= sweepEvery
}

package blob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lastSweep is a file whose time says when the folder was swept to its end, by
// whichever process. It holds how many bytes were left.
const lastSweep = "swept"

func (s *Store) noteSwept(now time.Time, left int64) error {
	path := filepath.Join(s.dir, lastSweep)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%020d\n", left) // of one length: a reader finds the old number or the new one
	return errors.Join(err, file.Close(), os.Chtimes(path, now, now))
}

// Kept tells how many bytes the bodies take, without counting them: as many as the last
// sweep left, and what this process has put since. Known is false before the first sweep.
func (s *Store) Kept() (bytes int64, known bool) {
	text, err := os.ReadFile(filepath.Join(s.dir, lastSweep))
	if err != nil {
		return 0, false
	}
	left, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, false // an earlier version has swept
	}
	return left + s.grown.Load(), true
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

//go:build !windows

package filecopy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/patra-ingest/patra/internal/driver/filelock"
)

// lockFile takes a name for this process alone, without waiting, and notes when. The system lets
// go of it when the process ends, however it ends.
func lockFile(path string) (release func() error, err error) {
	release, err = lockIdle(path)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// lockIdle takes a name and leaves its date as it is. Who holds a name may remove it: whoever
// opened it before that holds a file that is not there any more, sees so and opens it again.
func lockIdle(path string) (release func() error, err error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		held, err := filelock.Take(file)
		if err == nil && !held {
			err = heldElsewhere(filepath.Dir(path))
		}
		if err != nil {
			_ = file.Close() // nothing was written
			return nil, err
		}
		locked, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		named, err := os.Stat(path)
		if err == nil && os.SameFile(locked, named) {
			return file.Close, nil
		}
		_ = file.Close() // nothing was written
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

//go:build !windows

package exportfile

import (
	"errors"
	"io/fs"
	"os"

	"github.com/patra-ingest/patra/internal/driver/filelock"
)

// lockFile takes a file for this process alone, without waiting. The system lets go of
// it when the process ends, however it ends.
func lockFile(root *os.Root, _, name string) (*hold, error) {
	for {
		file, err := openLock(root, name)
		if err != nil {
			return nil, err
		}
		held, err := filelock.Take(file)
		if err == nil && !held {
			err = errHeld
		}
		if err != nil {
			_ = file.Close() // nothing was written
			return nil, err
		}
		if filelock.StandsAs(root, name, file) {
			return &hold{release: func() error {
				var err error
				if filelock.StandsAs(root, name, file) {
					err = root.Remove(name) // while it is held: whoever opened it meanwhile finds out
				}
				if errors.Is(err, fs.ErrPermission) {
					err = nil // another account left it: the export is whole, and the name alone stops nobody
				}
				return errors.Join(err, file.Close())
			}}, nil
		}
		_ = file.Close() // whoever had it removed it meanwhile: what we hold is not what others find
	}
}

// openLock opens a lock for writing: NFS gives nobody else the right to be alone with
// a file. One that another account left can still be locked elsewhere.
func openLock(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		if file, err := root.Open(name); err == nil {
			return file, nil
		}
	}
	return file, err
}

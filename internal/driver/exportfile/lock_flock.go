//go:build !windows

package exportfile

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a file for this process alone, without waiting. The system lets go of
// it when the process ends, however it ends.
func lock(root *os.Root, _, name string) (*hold, error) {
	for {
		file, err := root.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = file.Close() // nothing was written
			if errors.Is(err, syscall.EWOULDBLOCK) {
				err = errHeld
			}
			return nil, err
		}
		if stands(root, name, file) {
			return &hold{release: func() error {
				var err error
				if stands(root, name, file) {
					err = root.Remove(name) // while it is held: whoever opened it meanwhile finds out
				}
				return errors.Join(err, file.Close())
			}}, nil
		}
		_ = file.Close() // whoever had it removed it meanwhile: what we hold is not what others find
	}
}

func stands(root *os.Root, name string, file *os.File) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := root.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

//go:build !windows

package filecopy

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile takes a name for this process alone, without waiting. The system lets go of it when
// the process ends, however it ends. The lock stays where it is: it is small, and removing it
// would let two hold it.
func lockFile(path string) (release func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, heldElsewhere(filepath.Dir(path))
		}
		return nil, err
	}
	return file.Close, nil
}

//go:build unix

package secrets

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes a file for this process alone, without waiting. The system lets go of it
// when the process ends, however it ends.
func lockFile(file *os.File) (held bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Take takes an open file for this process alone, until it is closed. It is not held if another
// process, or another opening of this one, has it.
func Take(file *os.File) (held bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

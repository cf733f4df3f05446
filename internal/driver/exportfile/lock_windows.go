package exportfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// What the syscall package has no names for.
const (
	deleteOnClose    = 0x04000000
	sharingViolation = syscall.Errno(32)
)

// lockFile takes a file for this process alone, without waiting: it is opened so that
// no other process can open it, and the system removes it when the process ends, however
// it ends.
func lockFile(_ *os.Root, dir, name string) (*hold, error) {
	path, err := syscall.UTF16PtrFromString(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(path, syscall.GENERIC_READ, 0, nil, syscall.OPEN_ALWAYS,
		deleteOnClose|syscall.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, errHeld
	case err != nil:
		return nil, err
	}
	return &hold{release: func() error { return syscall.CloseHandle(handle) }}, nil
}

// Package durable makes the names of files last. A file whose bytes are synced can
// still be gone after a power failure: its name stands in the folder, and the folder
// must be synced too.
//
// It never reports a name as kept that the disk was not told to keep.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	return sync(func() (*os.File, error) { return os.Open(path) })
}

// SyncRoot does what SyncFolder does for a folder that is open.
func SyncRoot(root *os.Root) error {
	return sync(func() (*os.File, error) { return root.Open(".") })
}

func sync(open func() (*os.File, error)) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	folder, err := open()
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

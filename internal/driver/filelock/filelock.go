// Package filelock keeps the processes of one machine apart by files that they hold. The
// system lets go of a file when its process ends, however it ends.
//
// It never waits: who finds a file held decides what to do.
package filelock

import "os"

// StandsAs reports that a file still has this name. Who holds a name may remove it, and whoever
// opened it before that holds a file that others do not find.
func StandsAs(root *os.Root, name string, file *os.File) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := root.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

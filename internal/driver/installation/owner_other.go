//go:build !unix

package installation

import "io/fs"

const nonblock = 0

// checkOwner: the user's folder is closed to others by the system.
func checkOwner(string, fs.FileInfo, fs.FileMode) error { return nil }

func checkFolder(string, string) error { return nil }

//go:build unix

package installation

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// nonblock: a pipe in the place of the file must not hold us.
const nonblock = syscall.O_NONBLOCK

func checkOwner(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	if open := info.Mode().Perm() & forbidden; open != 0 {
		if forbidden == ownerOnly {
			return fmt.Errorf("%s is open to others than its owner: chmod 600 %s", path, path)
		}
		return fmt.Errorf("%s may be written by others than its owner, who could agree to anything in it: chmod go-w %s", path, path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Geteuid() && stat.Uid != 0 {
		return fmt.Errorf("%s belongs to user %d; it must belong to the user that runs patra (%d), or to root", path, stat.Uid, os.Geteuid())
	}
	return nil
}

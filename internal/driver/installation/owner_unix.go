//go:build unix

package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// checkFolder refuses a folder whose entries others may exchange, as ssh does. In one
// with the sticky bit, such as /tmp, everybody may exchange what is their own only, and
// the entry that leads to the file is the user's or root's. A group that bears the number of its
// owner has nobody else in it, by the custom of those who make one for each user. And
// what cannot be written at all, such as a volume of a container, is exchanged by nobody.
func checkFolder(path, below string) error {
	folder := filepath.Dir(below)
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	sticky := info.Mode()&fs.ModeSticky != 0 && isOurs(below)
	open := info.Mode().Perm() & othersMayRead
	if stat.Gid == stat.Uid && stat.Uid != 0 {
		open &^= 0o020
	}
	switch foreign := int(stat.Uid) != os.Geteuid() && stat.Uid != 0; {
	case !foreign && (open == 0 || sticky):
		return nil
	case errors.Is(syscall.Access(folder, writable), syscall.EROFS):
		return nil
	case foreign:
		return fmt.Errorf("%s lies below %s, which belongs to user %d, who could put another file in its place; the folder must belong to the user that runs patra (%d), or to root", path, folder, stat.Uid, os.Geteuid())
	}
	return fmt.Errorf("%s lies below %s, which others than its owner may write: they could put another file in its place: chmod go-w %s", path, folder, folder)
}

const writable = 2 // W_OK

// isOurs reports that an entry of a folder, which may be a link, is the user's or root's,
// or not there yet.
func isOurs(entry string) bool {
	info, err := os.Lstat(entry)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid() || stat.Uid == 0
}

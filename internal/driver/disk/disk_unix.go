//go:build linux || darwin || freebsd

package disk

import "syscall"

func measure(path string) (Room, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Room{}, err
	}
	size := uint64(s.Bsize)
	return Room{Total: uint64(s.Blocks) * size, Free: uint64(max(s.Bavail, 0)) * size}, nil
}

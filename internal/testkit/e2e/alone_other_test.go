//go:build !linux

package e2e

import "syscall"

// noNetwork is not to be had here: requests are counted instead.
func noNetwork() *syscall.SysProcAttr { return nil }

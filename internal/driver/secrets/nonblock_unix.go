//go:build unix

package secrets

import "syscall"

// nonblock: to open a pipe must not wait for somebody who writes into it.
const nonblock = syscall.O_NONBLOCK

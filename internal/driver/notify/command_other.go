//go:build !unix

package notify

import "os/exec"

// endWithChildren does nothing where there are no groups of processes.
func endWithChildren(*exec.Cmd) {}

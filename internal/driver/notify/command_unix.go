//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// endWithChildren lets what a script has started end with it.
func endWithChildren(run *exec.Cmd) {
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
}

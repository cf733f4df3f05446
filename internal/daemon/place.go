package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// placeSuffix tells the processes that this one can see from those of another machine, or
// of another container, with the same name. Their numbers mean nothing here: to ask
// the operating system for one of them would take a process for dead that lives.
// Where the system does not tell, the name of the machine has to do.
func placeSuffix() string {
	machine, _ := os.ReadFile("/etc/machine-id")
	numbers, _ := os.Readlink("/proc/self/ns/pid")
	if len(machine) == 0 && numbers == "" {
		return ""
	}
	sum := sha256.Sum256(append(machine, numbers...))
	return placeMark + hex.EncodeToString(sum[:4])
}

// placeMark stands between the name of a machine and its place.
const placeMark = "#"

// hostHere returns the name under which this process knows its machine.
func hostHere() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.48s%s", host, placeSuffix())
}

// HostName returns the name of a machine as people know it.
func HostName(host string) string {
	name, _, _ := strings.Cut(host, placeMark)
	return name
}

// isAlive asks the operating system; in doubt the process lives. A process that has
// ended, but was not waited for by its parent yet, counts as dead.
func isAlive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) && !hasEnded(pid)
}

// hasEnded reads the state of a process where the system shows it as a file.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return bytes.HasPrefix(state, []byte("Z")) || bytes.HasPrefix(state, []byte("X"))
}

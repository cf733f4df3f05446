package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/patra-ingest/patra/internal/crash"
)

// crashEnv makes this test binary behave as the program itself, like childEnv, and arms one
// point: its name, which passage of it, and what happens there, as in P6:3:kill or P4:1:stop.
const crashEnv = "PATRA_E2E_CRASH"

type trap struct {
	point  crash.Point
	on     int64 // which passage
	signal syscall.Signal
	passed atomic.Int64
}

// armFromEnvironment sets the trap of a child. A text that means nothing must not look like a
// program that survived.
func armFromEnvironment() {
	text := os.Getenv(crashEnv)
	if text == "" {
		return
	}
	t, err := parseTrap(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	crash.Reached = t.spring
}

// spring ends or stops the process if this is the passage it was set for.
func (t *trap) spring(p crash.Point) {
	if t.point != p || t.passed.Add(1) != t.on {
		return
	}
	_ = syscall.Kill(os.Getpid(), t.signal)
	if t.signal == syscall.SIGKILL {
		select {} // not one instruction more of what follows the point
	}
}

func parseTrap(text string) (*trap, error) {
	part := strings.Split(text, ":")
	if len(part) != 3 {
		return nil, fmt.Errorf("%s=%q: want POINT:PASSAGE:kill or POINT:PASSAGE:stop", crashEnv, text)
	}
	on, err := strconv.ParseInt(part[1], 10, 64)
	signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[part[2]]
	known := false
	for _, p := range crash.Points {
		known = known || string(p) == part[0]
	}
	if err != nil || on < 1 || signal == 0 || !known {
		return nil, fmt.Errorf("%s=%q: want a known point, a passage from 1 on, and kill or stop", crashEnv, text)
	}
	return &trap{point: crash.Point(part[0]), on: on, signal: signal}, nil
}

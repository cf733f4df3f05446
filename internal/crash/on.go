//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Armed tells whether this program can be told to die.
const Armed = true

// At ends or stops the process if this is the passage it was armed for.
func At(p Point) {
	t := armed()
	if t == nil || t.point != p || t.passed.Add(1) != t.on {
		return
	}
	_ = syscall.Kill(os.Getpid(), t.signal)
	if t.signal == syscall.SIGKILL {
		select {} // not one instruction more of what follows the point
	}
}

type trap struct {
	point  Point
	on     int64 // which passage
	signal syscall.Signal
	passed atomic.Int64
}

// armed reads the environment once. A text that means nothing must not look like
// a program that survived.
var armed = sync.OnceValue(func() *trap {
	text := os.Getenv(Env)
	if text == "" {
		return nil
	}
	t, err := parse(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	return t
})

func parse(text string) (*trap, error) {
	part := strings.Split(text, ":")
	if len(part) != 3 {
		return nil, fmt.Errorf("%s=%q: want POINT:PASSAGE:kill or POINT:PASSAGE:stop", Env, text)
	}
	on, err := strconv.ParseInt(part[1], 10, 64)
	signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[part[2]]
	known := false
	for _, p := range Points {
		known = known || string(p) == part[0]
	}
	if err != nil || on < 1 || signal == 0 || !known {
		return nil, fmt.Errorf("%s=%q: want a known point, a passage from 1 on, and kill or stop", Env, text)
	}
	return &trap{point: Point(part[0]), on: on, signal: signal}, nil
}

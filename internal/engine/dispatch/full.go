package dispatch

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// The waits of a process that has no room to store anything. Each try may cost the
// upstream a request whose answer is thrown away, so they grow.
const (
	firstFullWait = 5 * time.Second
	longFullWait  = 5 * time.Minute
)

// fullness keeps a process from taking tasks while what they read could not be
// stored. That is no fault of the tasks: they wait as they are, and work goes on
// by itself when there is room.
type fullness struct {
	patient bool // else the process ends, and says why
	log     *slog.Logger

	mu    sync.Mutex
	wait  time.Duration // zero: there is room
	until time.Time
	since time.Time
}

// note takes an error that is about room, and reports whether it was one to wait for.
func (f *fullness) note(err error) bool {
	if !f.patient || !errors.Is(err, fault.ErrFull) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Before(f.until) {
		return true // another worker found it too
	}
	if f.wait == 0 {
		f.since = now
		f.log.Error("nothing can be stored: no task is taken until there is room", "alarm", fault.Fatal, "code", fault.StoreFull, "error", err,
			"next", "make room; work goes on by itself")
	}
	f.wait = min(max(2*f.wait, firstFullWait), longFullWait)
	f.until = now.Add(f.wait)
	return true
}

// stored: something was stored, so there is room.
func (f *fullness) stored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wait == 0 || time.Now().Before(f.until) {
		return // of a task that ended beside the one that found no room
	}
	f.log.Info("there is room again: tasks are taken", "after", time.Since(f.since).Round(time.Second).String())
	f.wait = 0
}

// left is how long no task is taken.
func (f *fullness) left() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(time.Until(f.until), 0)
}

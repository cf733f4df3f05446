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

// The waits of a process whose database does not answer. A look at the queue tells,
// and costs the upstream nothing.
const (
	firstAwayWait = time.Second
	longAwayWait  = 30 * time.Second
)

// briefly is how long a process that need not be patient waits for a database that
// does not answer, and shortWait how long at a time: a line that breaks, or a server
// that starts anew, is not worth the end of a harvest.
const (
	briefly   = 10 * time.Second
	shortWait = 2 * time.Second
)

// standstill keeps a process from taking tasks while what they read could not be
// stored: there is no room, or the database cannot be reached. That is not a fault of
// the tasks: they wait as they are, and work continues automatically when the trouble
// is over.
type standstill struct {
	patient bool // else the process ends, and says why
	log     *slog.Logger

	mu      sync.Mutex
	trouble fault.Code    // empty: there is none
	wait    time.Duration // the last one
	until   time.Time
	since   time.Time
	alarmed bool
}

// troubleOf returns what an error says of the store, if anything.
func troubleOf(err error) fault.Code {
	switch {
	case errors.Is(err, fault.ErrFull):
		return fault.StoreFull
	case errors.Is(err, fault.ErrBusy):
		return fault.StoreBusy
	}
	return ""
}

// noteError takes an error of the store, and reports whether it is one to wait for.
func (s *standstill) noteError(err error) bool {
	trouble := troubleOf(err)
	if trouble == "" || trouble == fault.StoreFull && !s.patient {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.trouble != trouble {
		s.trouble, s.wait, s.until, s.since, s.alarmed = trouble, 0, time.Time{}, now, false
	}
	if !s.patient && now.Sub(s.since) > briefly {
		return false
	}
	if now.Before(s.until) {
		return true // another worker found it too
	}
	first, long := s.waitLengths()
	s.tellOnce(err, s.wait >= long)
	s.wait = min(max(2*s.wait, first), long)
	s.until = now.Add(s.wait)
	return true
}

func (s *standstill) waitLengths() (first, long time.Duration) {
	switch {
	case s.trouble == fault.StoreFull:
		return firstFullWait, longFullWait
	case !s.patient:
		return firstAwayWait, shortWait
	}
	return firstAwayWait, longAwayWait
}

// tellOnce logs the trouble once, and raises an alarm: at once where only a person can
// help, and after a while where it may pass without help.
func (s *standstill) tellOnce(err error, lasts bool) {
	switch {
	case s.alarmed:
	case s.trouble == fault.StoreFull:
		s.alarmed = true
		s.log.Error("nothing can be stored: no task is taken until there is room", "alarm", fault.Fatal, "code", s.trouble, "error", err,
			"next", "make room; work then continues automatically")
	case lasts && s.patient:
		s.alarmed = true
		s.log.Error("the database still takes nothing", "alarm", fault.Fatal, "code", s.trouble, "error", err,
			"next", "look after the database; work then continues automatically")
	case s.wait == 0:
		s.log.Warn("the database takes nothing: no task is taken until it does", "code", s.trouble, "error", err)
	}
}

// noteAnswered notes that the database can be reached: the queue could be read and
// written, and the check whether all is done was answered. The database may still be
// full.
func (s *standstill) noteAnswered() { s.endTroubles(fault.StoreBusy) }

// noteStored notes that a task was ended, so the store accepts writes.
func (s *standstill) noteStored() { s.endTroubles(fault.StoreBusy, fault.StoreFull) }

func (s *standstill) endTroubles(troubles ...fault.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return // of a task that ended beside the one that found the trouble
	}
	for _, t := range troubles {
		if s.trouble == t {
			s.log.Info(map[fault.Code]string{fault.StoreFull: "there is room again: tasks are taken", fault.StoreBusy: "the database answers again: tasks are taken"}[t],
				"after", time.Since(s.since).Round(time.Second).String())
			s.trouble = ""
		}
	}
}

// timeLeft returns how long no task is taken.
func (s *standstill) timeLeft() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(time.Until(s.until), 0)
}

package fault

import (
	"cmp"
	"time"
)

// Breaker keeps everybody away from an upstream that fails again and again, and
// lets one run look whether it is back (§12.2). It judges runs, each of which has
// tried its request several times. The zero value is closed.
type Breaker struct {
	Failures  int       // runs in a row that failed
	Opened    int       // times in a row it was opened
	OpenUntil time.Time // zero while it is closed
}

// BreakerState is what a breaker lets through.
type BreakerState string

// States of a breaker.
const (
	BreakerClosed   BreakerState = "CLOSED"    // everything
	BreakerOpen     BreakerState = "OPEN"      // nothing
	BreakerHalfOpen BreakerState = "HALF_OPEN" // one run, which decides
)

// breakAfter is how many failures in a row open a breaker, unless its source says
// another number (healing.circuitAfter).
const breakAfter = 3

// breakFor is how long it stays open. Longer ones kept a source waiting that was back
// for ten minutes and more.
var breakFor = Backoff{First: time.Minute, Growth: 2, Longest: 2 * time.Minute}

// State returns what the breaker lets through now.
func (b Breaker) State(now time.Time) BreakerState {
	switch {
	case b.OpenUntil.IsZero():
		return BreakerClosed
	case now.Before(b.OpenUntil):
		return BreakerOpen
	}
	return BreakerHalfOpen
}

// Note takes in how a run ended. Progress says that it got good answers before
// it failed. Random is between 0 and 1: processes must not all come back at once.
func (b Breaker) Note(failed, progress bool, now time.Time, random float64) Breaker {
	return b.NoteAfter(breakAfter, failed, progress, now, random)
}

// NoteAfter is Note for a source that says how many failures open its breaker; zero: the
// usual number.
func (b Breaker) NoteAfter(most int, failed, progress bool, now time.Time, random float64) Breaker {
	if !failed {
		return Breaker{}
	}
	if progress {
		b = Breaker{}
	}
	if b.State(now) == BreakerOpen {
		return b // it was under way when others found out
	}
	b.Failures++
	if b.Failures < cmp.Or(most, breakAfter) && b.OpenUntil.IsZero() {
		return b
	}
	b.Opened++
	wait := breakFor.After(b.Opened)
	b.OpenUntil = now.Add(wait + time.Duration(random*float64(wait)))
	return b
}

// Breaks reports whether a fault speaks of an upstream in trouble, not of the
// request.
func (c Code) Breaks() bool { return c == Network || c == ServerError || c == BadBody }

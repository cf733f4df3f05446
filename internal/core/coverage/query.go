package coverage

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// All queries take segments that are sorted and disjoint.

// Frontier returns the first instant from the origin on that is not done. An instant under no segment is not done.
func Frontier(origin time.Time, segs []Segment) time.Time {
	t, _ := firstOpen(origin, segs, func(s *Segment) time.Time {
		if s.isDone() {
			return s.Window.To
		}
		return s.Window.From
	})
	return t
}

// FirstUnsettled returns the first instant from the origin on that must still be read or read again; false if there is
// none up to the end of what is known.
func FirstUnsettled(origin time.Time, segs []Segment, lookback time.Duration) (time.Time, bool) {
	t, open := firstOpen(origin, segs, func(s *Segment) time.Time { return s.settledTo(lookback) })
	if !open {
		return time.Time{}, false
	}
	return t, true
}

// firstOpen walks up from the origin while segments follow without a gap and are closed to their end. It returns where
// it stopped, and whether something known lies there or beyond.
func firstOpen(origin time.Time, segs []Segment, closedTo func(*Segment) time.Time) (time.Time, bool) {
	t := origin
	if origin.IsZero() {
		return t, false
	}
	for i := range segs {
		s := &segs[i]
		if !s.Window.To.After(t) {
			continue
		}
		if s.Window.From.After(t) {
			return t, true
		}
		t = window.Later(t, closedTo(s))
		if t.Before(s.Window.To) {
			return t, true
		}
	}
	return t, false
}

// Settled lists the settled ranges inside a window: what a plan may skip.
func Settled(segs []Segment, within window.Window, lookback time.Duration) []window.Window {
	var settled []window.Window
	for _, s := range segs {
		settled = append(settled, window.Window{From: s.Window.From, To: s.settledTo(lookback)})
	}
	return window.Within(within, settled)
}

// Gaps lists the ranges inside a window that are not done.
func Gaps(segs []Segment, within window.Window) []window.Window {
	var done []window.Window
	for _, s := range segs {
		if s.isDone() {
			done = append(done, s.Window)
		}
	}
	return window.Subtract(within, done)
}

// Waiting lists the owed segments whose retry is not yet due. Changed is when what may have made them fail was changed
// last: whatever failed before that is tried again at once (D§5.31), and waits once more if it fails again.
func Waiting(segs []Segment, now, changed time.Time) []Segment {
	var waiting []Segment
	for _, s := range segs {
		if s.Waits(now, changed) {
			waiting = append(waiting, s)
		}
	}
	return waiting
}

// Waits reports whether the segment is owed and not to be asked for yet.
func (s Segment) Waits(now, changed time.Time) bool {
	return !s.isDone() && s.RetryAfter.After(now) && s.FailedAt().After(changed)
}

// LatestAsOf is the latest instant as of which something was wanted or read; zero if nothing was.
func (s State) LatestAsOf() (latest time.Time) {
	for _, seg := range s.Segments {
		latest = window.Later(latest, window.Later(seg.Want, seg.Have))
	}
	return latest
}

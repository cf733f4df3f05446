package coverage

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Segment is a range of time whose instants share one history. A zero as-of means never.
type Segment struct {
	Window     window.Window `json:"window"`
	Want       time.Time     `json:"want,omitzero"`
	Have       time.Time     `json:"have,omitzero"`
	Waived     time.Time     `json:"waived,omitzero"`
	Fails      int           `json:"fails,omitzero"`      // failures since it was last read, while it is owed
	RetryAfter time.Time     `json:"retryAfter,omitzero"` // not planned again before
}

// Backoff is the wait after a window failed, so many times in a row (D§5.7).
var Backoff = fault.Backoff{First: time.Minute, Growth: 2, Longest: 24 * time.Hour}

// FailedAt returns when the segment failed last; zero if it did not since it was read.
func (s Segment) FailedAt() time.Time {
	if s.Fails == 0 {
		return time.Time{}
	}
	return s.RetryAfter.Add(-Backoff.After(s.Fails))
}

// Done reports whether the range was read or waived, and late enough for every plan that wants it.
func (s Segment) Done() bool { return s.isDone() }

// isDone without a copy: a refold asks it for every event.
func (s *Segment) isDone() bool {
	seen := s.seenAt()
	return !seen.IsZero() && !seen.Before(s.Want)
}

// seenAt returns the latest as-of at which the range was read or waived.
func (s *Segment) seenAt() time.Time { return window.Later(s.Have, s.Waived) }

// settledTo returns the end of the settled prefix; the start of the segment if nothing of it is settled.
func (s *Segment) settledTo(lookback time.Duration) time.Time {
	if !s.isDone() {
		return s.Window.From
	}
	_, open := s.Window.Split(s.seenAt().Add(-max(0, lookback)))
	return open.From
}

func (s *Segment) isSettled(lookback time.Duration) bool {
	return s.settledTo(lookback).Equal(s.Window.To)
}

// withWindow returns the same history on another range.
func (s Segment) withWindow(w window.Window) Segment {
	s.Window = w
	return s
}

func (s *Segment) sameHistory(o *Segment) bool {
	return s.Want.Equal(o.Want) && s.Have.Equal(o.Have) && s.Waived.Equal(o.Waived) &&
		s.Fails == o.Fails && s.RetryAfter.Equal(o.RetryAfter)
}

// sameEvidence tells read from waived: a merge must not let one pass for the other.
func (s *Segment) sameEvidence(o *Segment) bool {
	return s.Have.IsZero() == o.Have.IsZero() && s.Waived.IsZero() == o.Waived.IsZero()
}

// mergeNext takes its neighbour in if their histories are equal, or if both are done and the one whose as-ofs rise is settled
// as a whole. Why that is safe: both sides are done before and after, so no instant changes its answer; a plan later than
// both reopens both, as it would have apart; and a settled range needs no reading whatever its as-of, so a newer one
// hides nothing. An un-done or never seen range takes part in no merge but that of equal history.
func (s *Segment) mergeNext(next *Segment, lookback time.Duration) bool {
	if !s.Window.To.Equal(next.Window.From) {
		return false
	}
	if s.sameHistory(next) {
		s.Window.To = next.Window.To
		return true
	}
	if !s.isDone() || !next.isDone() || !s.sameEvidence(next) {
		return false
	}
	newest := Segment{
		Window: window.Window{From: s.Window.From, To: next.Window.To},
		Want:   window.Later(s.Want, next.Want), Have: window.Later(s.Have, next.Have), Waived: window.Later(s.Waived, next.Waived),
	}
	for _, one := range []*Segment{s, next} {
		if !one.isSettled(lookback) && !one.sameHistory(&newest) {
			return false
		}
	}
	*s = newest
	return true
}

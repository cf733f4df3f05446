package gate

import "time"

// MaxRetryAfter is the longest wait an upstream can impose. One that demands
// more is asked once more after it.
const MaxRetryAfter = 24 * time.Hour

// maxJitter bounds what is added to a wait, so that a long one does not grow by
// hours.
const maxJitter = 5 * time.Minute

// Jittered lengthens a wait by 5 to 15 % (§4.10.4), so that all who wait for the
// same instant do not come at the same instant. random is in [0,1).
func Jittered(wait time.Duration, random float64) time.Duration {
	return wait + min(time.Duration(float64(wait)*(0.05+0.10*random)), maxJitter)
}

// Learn takes in what came of a request that was sent at an instant, and reports
// whether those who wait should look again. random is in [0,1).
func (s *State) Learn(in Signal, sent, now time.Time, random float64) bool {
	if took := now.Sub(sent); in.Outcome != Refused && took > 0 {
		if s.took == 0 {
			s.took = took
		}
		s.took += (took - s.took) / 8
	}
	changed := false
	if in.Outcome == Throttled || in.Outcome == Failed {
		s.paceBucket(now)
		if changed = s.demotion.lowerRate(s.limits, in.Outcome, sent, now); changed {
			s.paceBucket(now)
			s.bucket.Hold(0, now)
		}
	}
	if in.RetryAfter > 0 {
		changed = s.Cool(now.Add(Jittered(min(in.RetryAfter, MaxRetryAfter), random)), now) || changed
	}
	if !in.Announced.IsZero() {
		changed = s.obeyAnnounced(in.Announced, now, random) || changed
	}
	return changed
}

// Cool lets nothing leave before an instant. Its end is no starting gun: one
// request leaves, and the others follow at the rate.
func (s *State) Cool(until, now time.Time) bool {
	if !until.After(now) || !until.After(s.cooling) {
		return false
	}
	s.cooling = until
	s.bucket.Hold(1, until)
	if s.demotion.lowered > 0 {
		s.demotion.since = until
	}
	return true
}

// Cooling returns how long nothing may leave.
func (s *State) Cooling(now time.Time) time.Duration { return max(s.cooling.Sub(now), 0) }

// obeyAnnounced obeys what an answer announces.
func (s *State) obeyAnnounced(a Announced, now time.Time, random float64) bool {
	changed := false
	if (a.PerSecond > 0 || a.Concurrency > 0) && (a.PerSecond != s.announced.PerSecond || a.Concurrency != s.announced.Concurrency) {
		s.announced.PerSecond, s.announced.Concurrency = a.PerSecond, a.Concurrency
		s.adjustInForce(now)
		changed = true
	}
	if a.Remaining == nil {
		return changed
	}
	s.announced.Remaining, s.announced.Limit, s.announced.Reset = a.Remaining, a.Limit, a.Reset
	if !*s.limits.ObeyHeaders {
		return changed
	}
	if wait := a.Reset.Sub(now); *a.Remaining <= 0 && wait > 0 {
		return s.Cool(now.Add(Jittered(min(wait, MaxRetryAfter), random)), now) || changed
	}
	s.bucket.Hold(max(float64(*a.Remaining), 0), now)
	return changed
}

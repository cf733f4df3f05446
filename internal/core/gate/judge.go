package gate

import "time"

// Judge says whether a request may leave now, places aside.
func (s *State) Judge(a *Ask, now time.Time) Verdict {
	if v := s.Barred(a, now); v.Decision != Allow {
		return v
	}
	if at := s.Ready(a.Weight(), now); at.After(now) {
		return Verdict{Decision: Wait, Until: at, Reason: OverDeadline}
	}
	return Verdict{Decision: Allow}
}

// Barred returns everything but the rate: hours, cool-downs and quotas. Of several
// reasons the longest wait is named.
func (s *State) Barred(a *Ask, now time.Time) Verdict {
	v := Verdict{Decision: Allow}
	later := func(at time.Time, why Reason) {
		if at.After(now) && at.After(v.Until) {
			v = Verdict{Decision: Wait, Until: at, Reason: why}
		}
	}
	if s.cooling.After(now) {
		later(s.cooling, Cooling)
	}
	until, short := s.scarceUntil(a, now)
	later(until, Quota)
	if a.Limits.Hours != "" {
		later(s.opensAt(a.Limits.Hours, now), ClosedHours)
	}
	if short && v.Decision == Allow {
		return Verdict{Decision: Wait, Reason: Quota} // until the ledger has answered
	}
	return v
}

// scarceUntil returns when the quotas let a request leave, and whether the ledger has
// to be asked first.
func (s *State) scarceUntil(a *Ask, now time.Time) (until time.Time, short bool) {
	short = s.counted && !s.known
	for i := range s.quotas {
		q := s.quotas[i]
		q.cost = priceOf(q, a, a.Weight())
		c := s.counterOf(q, now)
		if s.counted && c.until.IsZero() {
			short = short || q.cost > 0
			continue
		}
		at := c.fitsFrom(q, a.Priority, now)
		if s.counted && c.isShort(q.cost) && !at.After(now) {
			if short = true; c.full {
				at = c.until
			}
		}
		if at.After(until) {
			until = at
		}
	}
	return until, short
}

// Affords does what Barred does for the quotas alone.
func (s *State) Affords(a *Ask, now time.Time) Verdict {
	until, short := s.scarceUntil(a, now)
	switch {
	case until.After(now):
		return Verdict{Decision: Wait, Until: until, Reason: Quota}
	case short:
		return Verdict{Decision: Wait, Reason: Quota}
	}
	return Verdict{Decision: Allow}
}

// opening remembers hours that were read and when they open next: it is asked
// for every request that waits.
type opening struct {
	Hours
	asked, opens time.Time
}

func (s *State) opensAt(text string, now time.Time) time.Time {
	o, ok := s.hours[text]
	if !ok {
		o.Hours, _ = ParseHours(text) // what cannot be read was refused when the source was checked
	}
	if !ok || now.Before(o.asked) || !now.Before(o.opens) {
		o.asked, o.opens = now, o.NextOpen(now)
		s.hours[text] = o
	}
	return o.opens
}

// hoursOf returns the hours of a request.
func (s *State) hoursOf(text string, now time.Time) Hours {
	s.opensAt(text, now)
	return s.hours[text].Hours
}

// Ready returns when the rate lets a request of this cost leave, or when the rate
// changes, if that is sooner.
func (s *State) Ready(cost float64, now time.Time) time.Time {
	if s.demotion.lowered > 0 && s.demotion.usableShare(s.limits, now) >= 1 {
		s.paceBucket(now)
		s.demotion.lowered = 0
	}
	if s.isSteady() {
		return s.bucket.Ready(cost, now)
	}
	s.restartWarmup(now)
	s.paceBucket(now)
	at := s.bucket.Ready(cost, now)
	if next := s.demotion.nextRise(s.limits, now); next.After(now) && next.Before(at) {
		at = next
	}
	if at.After(now) && s.effective.Warmup > 0 && at.Sub(now) > warmStep && now.Sub(s.warm) < s.effective.Warmup.Std() {
		at = now.Add(warmStep)
	}
	return at
}

// warmStep is how often a waiting request looks at a rate that rises.
const warmStep = 100 * time.Millisecond

// restartWarmup starts the warm-up again after a pause that was longer than it.
func (s *State) restartWarmup(now time.Time) {
	warmup := s.effective.Warmup.Std()
	if warmup > 0 && !s.last.IsZero() && now.Sub(s.last) > warmup && now.Sub(s.warm) > warmup {
		s.warm = now
		s.bucket.Hold(1, now)
	}
}

package gate

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// Own reports that a wait is of our making, by what the source file declares, and
// not a wish of the upstream (D§5.31). Such a wait is over when the file changes.
func (r Reason) Own() bool { return r == Quota || r == ClosedHours || r == OverDeadline }

// reasonWords say a reason to people, where its name alone could be taken for a
// complaint of the upstream.
func (r Reason) reasonWords() string {
	switch r {
	case Quota:
		return " (a quota of our own, from the rate section, is used up)"
	case ClosedHours:
		return " (outside of rate.hours)"
	case OverDeadline:
		return " (others use the rate)"
	}
	return ""
}

// Redeclare forgets what requests declared before: the source file has changed.
// Whoever still asks by older limits declares them again with the next request.
func (s *State) Redeclare(l Limits, now time.Time) {
	l = l.ofKey()
	s.declared = []declaration{{l, l.Filled(), now}}
	s.adjustInForce(now)
}

// Release ends a pause the upstream asked for, and forgets what a ledger said of
// the quotas, because a person has lifted both. The ledger is asked anew before
// anything leaves, and nothing leaves as a burst.
func (s *State) Release(now time.Time) {
	if s.cooling.After(now) {
		s.cooling = now
		s.bucket.Restart(now)
		if s.demotion.since.After(now) {
			s.demotion.since = now
		}
	}
	s.known, s.heard = s.known && !s.counted, time.Time{}
	for _, c := range s.used {
		if s.counted {
			c.block = block{granted: c.used, low: c.used}
		}
	}
}

// Fresh reports that the ledger was heard within a span.
func (s *State) Fresh(span time.Duration, now time.Time) bool {
	return !s.counted || s.known && now.Sub(s.heard) <= span
}

// With returns the limits with some keys of others, as a run may set them for
// itself.
func (l Limits) With(others Limits, keys []string) Limits {
	to, from := reflect.ValueOf(&l).Elem(), reflect.ValueOf(others)
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		if slices.Contains(keys, name) {
			to.Field(i).Set(from.Field(i))
		}
	}
	if slices.Contains(keys, "perSecond") { // a run that lowers the rate means its rate with a key too
		l.PerSecondWithKey = others.PerSecondWithKey
	}
	return l
}

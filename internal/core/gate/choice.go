package gate

import (
	"math"
	"time"
)

// Standing is what is known of one member of a pool of credentials when one is chosen.
type Standing struct {
	Room    float64   // requests it may still send within the hour, as things stand
	From    time.Time // when the next one may leave; not after now: at once
	Refused bool      // the upstream does not take its secret, or there is none
	Running int       // runs of this process that have chosen it and go on
}

// chosenFor is the span by which a rate is compared with what is left of a quota.
const chosenFor = time.Hour

// StandingOf returns how a member stands, by what its gate knows and by what the upstream announced last.
// What is left of every quota counts, and the least of it; where there is none, the rate does.
func StandingOf(s Snapshot, l Limits, said Announced, now time.Time) Standing {
	l = l.Filled()
	out := Standing{Room: s.PerSecond*chosenFor.Seconds() + s.BurstLeft, From: now}
	later := func(at time.Time) {
		if at.After(out.From) {
			out.From = at
		}
	}
	later(s.CoolingUntil)
	for _, q := range s.Quotas {
		left := q.Usable - q.Used
		each := l.Cost
		if q.Name == "money" {
			each = l.PricePerRequest
		}
		if each > 0 {
			left = math.Floor(left/each + dust)
		}
		if out.Room = min(out.Room, max(left, 0)); left <= 0 {
			later(q.Reset)
		}
	}
	if said.Remaining != nil && said.Reset.After(now) {
		left := math.Floor(float64(max(*said.Remaining, 0))/l.Cost + dust)
		if out.Room = min(out.Room, left); left <= 0 && *l.ObeyHeaders {
			later(said.Reset)
		}
	}
	return out
}

// Choose returns which member a run is given: of those that may send at once the one with most left for
// each run that uses it, so that runs are spread as what is left is. If none may send at once, it is
// the one that may soonest; refused ones are taken only if all are. first is where equals are counted
// from, so that processes which know nothing of each other do not all begin with the same one.
func Choose(all []Standing, first int, now time.Time) int {
	best := -1
	for n := range all {
		i := (first%len(all) + len(all) + n) % len(all)
		if best < 0 || all[i].isBetter(all[best], now) {
			best = i
		}
	}
	return best
}

func (s Standing) isBetter(o Standing, now time.Time) bool {
	if s.Refused != o.Refused {
		return o.Refused
	}
	if s.IsFree(now) != o.IsFree(now) {
		return s.IsFree(now)
	}
	if !s.IsFree(now) && !s.From.Equal(o.From) {
		return s.From.Before(o.From)
	}
	return s.share() > o.share()
}

// IsFree reports whether a request may leave at once, its rate apart.
func (s Standing) IsFree(now time.Time) bool { return !s.From.After(now) && s.Room >= 1 }

// share returns what is left for one more run.
func (s Standing) share() float64 { return s.Room / float64(s.Running+1) }

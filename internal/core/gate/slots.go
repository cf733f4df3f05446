package gate

import (
	"math"
	"time"
)

// Slots is the bucket of a key that several processes take from. Instants are on
// one clock, that of the store they meet at. A request gets the instant at which
// it may leave, so the bucket is right whoever looks at it, and whenever.
type Slots struct {
	Empty          time.Time // the bucket was empty then, or will be
	PerSecond      float64
	PerSecondUntil time.Time
	Burst          float64
	BurstUntil     time.Time
}

// Reservation is what a process wants of a bucket.
type Reservation struct {
	PerSecond float64
	Burst     float64
	Weights   []float64     // of the requests that want to leave, in their order
	Within    time.Duration // no instant after it is given; nobody knows that far
	// Drain empties the bucket: requests left that it does not know of.
	Drain bool
}

// Instants is the answer.
type Instants struct {
	Now   time.Time       // on the store's clock, while it was made
	After []time.Duration // from Now until each request may leave; for as many as fit
	Next  time.Duration   // from Now until the first that does not fit may; zero: all do
	Pause time.Duration   // the upstream asked for
}

// Reserve takes instants out of the bucket. Nothing leaves before a pause has
// ended, and its end is no starting gun: one request leaves, the others follow at
// the rate.
func (s *Slots) Reserve(r Reservation, pause, now time.Time) Instants {
	out := Instants{Now: now, Pause: max(pause.Sub(now), 0)}
	s.PerSecond, s.PerSecondUntil = politestLimit(s.PerSecond, r.PerSecond, s.PerSecondUntil, now)
	s.Burst, s.BurstUntil = politestLimit(s.Burst, max(r.Burst, 1), s.BurstUntil, now)
	if r.Drain && s.Empty.Before(now) {
		s.Empty = now
	}
	for _, w := range r.Weights {
		empty := latestOf(s.Empty, pause.Add(-s.spanFor(1)))
		at := latestOf(now, pause, empty.Add(s.spanFor(min(w, s.Burst))))
		if at.Sub(now) > r.Within {
			out.Next = at.Sub(now)
			break
		}
		s.Empty = latestOf(empty, at.Add(-s.spanFor(s.Burst))).Add(s.spanFor(w))
		out.After = append(out.After, at.Sub(now))
	}
	return out
}

// spanFor returns the time in which so much comes in, rounded up to what stores keep.
func (s *Slots) spanFor(weight float64) time.Duration {
	return time.Duration(math.Ceil(min(weight/s.PerSecond, maxWait.Seconds())*1e6)) * time.Microsecond
}

// politestLimit returns the lower of two limits; one counts for a minute after the
// last request that declared it.
func politestLimit(known, asked float64, until, now time.Time) (float64, time.Time) {
	if until.Before(now) || asked <= known {
		return asked, now.Add(remembered)
	}
	return known, until
}

func latestOf(at time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(at) {
			at = o
		}
	}
	return at
}

// LateOf returns how long after its instant a request may still reach the upstream.
// So much less is given out at once, so that requests that are late do not add up
// to more than the burst with those that are not. Half of it is for this process,
// half for the way. A burst of 1 has nothing to pay with: there two requests may
// come closer by the least of it.
func LateOf(perSecond, burst float64) time.Duration {
	room := time.Duration(max(burst-1, 0.2) / (2 * perSecond) * float64(time.Second))
	half := time.Duration(float64(time.Second) / (2 * perSecond))
	return min(max(room, leastLate, min(half, usualLate)), MaxLate)
}

const (
	// leastLate and usualLate are what a machine at work is late by. What comes later
	// is lost where there is no burst, so slow rates, which it hurts least to come
	// close, get the longer one.
	leastLate = 10 * time.Millisecond
	usualLate = 20 * time.Millisecond
	// MaxLate is the longest LateOf.
	MaxLate = 200 * time.Millisecond
)

// AtOnce returns how much of a burst is given out at once, after what is kept for
// requests that are late.
func AtOnce(perSecond, burst float64) float64 {
	return max(burst-perSecond*LateOf(perSecond, burst).Seconds(), 1)
}

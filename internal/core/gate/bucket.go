package gate

import (
	"math"
	"time"
)

// Bucket is a token bucket. The zero value is unusable; see NewBucket.
type Bucket struct {
	tokens   float64
	capacity float64
	perSec   float64
	at       time.Time // tokens are those of this instant
}

// dust is what sums of fractions may be off by.
const dust = 1e-9

// NewBucket starts full at now.
func NewBucket(perSecond float64, burst int, now time.Time) Bucket {
	capacity := max(float64(burst), 1)
	return Bucket{tokens: capacity, capacity: capacity, perSec: perSecond, at: now}
}

// Ready returns the instant from which a request of this cost may leave if no
// other request takes tokens before. A request that costs more than the bucket
// holds leaves when it is full, and the next ones wait for the rest.
func (b *Bucket) Ready(cost float64, now time.Time) time.Time {
	b.refillTo(now)
	missing := min(cost, b.capacity) - b.tokens
	if b.at.After(now) {
		now = b.at
	}
	if missing <= dust {
		return now
	}
	return now.Add(secondsUp(missing / b.perSec))
}

// Take removes the tokens of a request that is ready.
func (b *Bucket) Take(cost float64, now time.Time) {
	b.refillTo(now)
	b.tokens -= cost
}

// Return gives back tokens of a request that was never sent.
func (b *Bucket) Return(cost float64) { b.tokens = min(b.tokens+cost, b.capacity) }

// SetRate changes the refill rate and capacity from now on.
func (b *Bucket) SetRate(perSecond float64, burst int, now time.Time) {
	b.refillTo(now)
	b.perSec = perSecond
	b.capacity = max(float64(burst), 1)
	b.tokens = min(b.tokens, b.capacity)
}

// Hold keeps at most so many tokens, as of an instant that may be still to come:
// before it, nothing is refilled.
func (b *Bucket) Hold(most float64, at time.Time) {
	b.refillTo(at)
	b.tokens = min(b.tokens, most)
}

// Restart begins empty at an instant, also where the bucket was held until a later
// one.
func (b *Bucket) Restart(now time.Time) { b.tokens, b.at = 0, now }

// Left returns how many requests could leave at once.
func (b *Bucket) Left(now time.Time) float64 {
	b.refillTo(now)
	return max(b.tokens, 0)
}

func (b *Bucket) refillTo(now time.Time) {
	if elapsed := now.Sub(b.at); elapsed > 0 {
		b.tokens = min(b.tokens+elapsed.Seconds()*b.perSec, b.capacity)
		b.at = now
	}
}

// secondsUp returns seconds, rounded up: an instant too early would find a token
// missing.
func secondsUp(s float64) time.Duration {
	if s > maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(math.Ceil(s * float64(time.Second)))
}

// maxWait bounds all waits that are computed.
const maxWait = 10 * 365 * 24 * time.Hour

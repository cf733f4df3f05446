// Package gate is the contract and the arithmetic of the rate gate: what a
// source allows (§4.10), a token bucket over explicit instants, and reading
// the ways upstreams announce their limits.
//
// It holds no lock and reads no clock. The services that own keys, waiting and
// fairness are built on top of it, so that every decision here can be tested
// at an exact instant.
package gate

import (
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Limits is the `rate` section of a source. A zero field is not limited,
// except that PerSecond and Concurrency default to 1 (§4.10.8): politeness is
// the default, speed is declared.
type Limits struct {
	PerSecond   float64 `json:"perSecond,omitempty" doc:"requests per second (default 1)"`
	Burst       int     `json:"burst,omitempty" doc:"requests that may leave at once after a pause (default 1)"`
	Concurrency int     `json:"concurrency,omitempty" doc:"requests under way at the same time (default 1)"`
	// PricePerRequest only feeds forecasts.
	PricePerRequest float64 `json:"pricePerRequest,omitempty" doc:"what one request costs, for forecasts (default nothing)"`
	ObeyHeaders     *bool   `json:"obeyHeaders,omitempty" doc:"lower the rate to what the response headers announce (default true)"`
}

// WithDefaults fills what the source left open.
func (l Limits) WithDefaults() Limits {
	if l.PerSecond == 0 {
		l.PerSecond = 1
	}
	if l.Burst == 0 {
		l.Burst = 1
	}
	if l.Concurrency == 0 {
		l.Concurrency = 1
	}
	if l.ObeyHeaders == nil {
		yes := true
		l.ObeyHeaders = &yes
	}
	return l
}

// Share is what one of n processes may use of a limit counted over all of
// them, when no shared gate coordinates them (D§5.23). Ranks 0…n-1 together
// never exceed the declared limits; a process may get no concurrency at all.
func (l Limits) Share(rank, n int) Limits {
	if n <= 1 {
		return l
	}
	l.PerSecond /= float64(n)
	l.Burst = share(l.Burst, rank, n)
	l.Concurrency = share(l.Concurrency, rank, n)
	return l
}

func share(total, rank, n int) int {
	part := total / n
	if rank < total%n {
		part++
	}
	return part
}

// Bucket is a token bucket. The zero value is unusable; see NewBucket.
type Bucket struct {
	tokens   float64
	capacity float64
	perSec   float64
	at       time.Time
}

// NewBucket starts full at now.
func NewBucket(perSecond float64, burst int, now time.Time) Bucket {
	capacity := max(float64(burst), 1)
	return Bucket{tokens: capacity, capacity: capacity, perSec: perSecond, at: now}
}

// Take removes cost tokens and reports the instant from which the request may
// leave: now if there were enough, later if the bucket went into debt. Debt is
// what makes waiting requests queue in order instead of racing.
func (b *Bucket) Take(cost float64, now time.Time) time.Time {
	b.refill(now)
	b.tokens -= cost
	if b.tokens >= 0 {
		return now
	}
	return now.Add(time.Duration(-b.tokens / b.perSec * float64(time.Second)))
}

// Return gives back tokens of a request that was never sent.
func (b *Bucket) Return(cost float64) { b.tokens = min(b.tokens+cost, b.capacity) }

// SetRate changes the refill rate and capacity from now on.
func (b *Bucket) SetRate(perSecond float64, burst int, now time.Time) {
	b.refill(now)
	b.perSec = perSecond
	b.capacity = max(float64(burst), 1)
	b.tokens = min(b.tokens, b.capacity)
}

func (b *Bucket) refill(now time.Time) {
	if elapsed := now.Sub(b.at); elapsed > 0 {
		b.tokens = min(b.tokens+elapsed.Seconds()*b.perSec, b.capacity)
		b.at = now
	}
}

// Header is the part of an HTTP header this package reads.
type Header interface{ Get(name string) string }

// MapHeader adapts a plain map, as kept in recorded evidence.
type MapHeader map[string]string

// Get finds a header by its canonical name.
func (h MapHeader) Get(name string) string { return h[textproto.CanonicalMIMEHeaderKey(name)] }

// RetryAfter reads a Retry-After header in seconds or HTTP-date form. A missing,
// malformed or past value is zero: it must not stop us, and must not free us
// from our own backoff either.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds <= 0 || seconds > 365*24*3600 {
			return 0
		}
		return time.Duration(seconds * float64(time.Second))
	}
	for _, layout := range []string{time.RFC1123, time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, value); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return 0
}

// Announced is what a response says about the limits in force.
type Announced struct {
	PerSecond   float64 // zero: nothing said
	Concurrency int     // zero: nothing said
}

// ReadHeaders understands x-rate-limit-limit with x-rate-limit-interval and
// x-concurrency-limit, the family Crossref sends.
func ReadHeaders(h Header) Announced {
	var a Announced
	if limit, err := strconv.ParseFloat(h.Get("X-Rate-Limit-Limit"), 64); err == nil && limit > 0 {
		interval, err := time.ParseDuration(h.Get("X-Rate-Limit-Interval"))
		if err == nil && interval > 0 {
			a.PerSecond = limit / interval.Seconds()
		}
	}
	if n, err := strconv.Atoi(h.Get("X-Concurrency-Limit")); err == nil && n > 0 {
		a.Concurrency = n
	}
	return a
}

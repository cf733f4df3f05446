package gate

import (
	"math"
	"time"
)

// Estimate is what a key can still do (§4.10.6).
type Estimate struct {
	Requests    int64     `json:"requests"`    // within the horizon
	Concurrency int       `json:"concurrency"` // enough to use the rate
	PerSecond   float64   `json:"perSecond"`   // right now
	From        time.Time `json:"from"`        // when the next request may leave
}

// Estimate says how many requests like a could leave within the horizon if
// nobody else used the key.
func (s *State) Estimate(a *Ask, horizon time.Duration, now time.Time) Estimate {
	horizon = min(max(horizon, 0), maxHorizon)
	v := s.Judge(a, now)
	out := Estimate{PerSecond: s.Rate(now), Concurrency: s.suggestedConcurrency(now), From: now}
	if v.Decision != Allow && !v.Until.IsZero() {
		out.From = v.Until
	}
	from, end := now, now.Add(horizon)
	if s.cooling.After(now) {
		from = s.cooling
	}
	requests := 0.0
	if from.Before(end) {
		open := s.hoursOf(a.Limits.Hours, now).openDuring(from, end)
		requests = math.Floor((s.bucket.Left(now)+s.tokensIn(from, open))/a.Weight() + dust)
	}
	for i := range s.quotas {
		q := s.quotas[i]
		q.cost = priceOf(q, a, a.Weight())
		c := s.seenCounter(q, now)
		requests = min(requests, c.roomWithin(q, now, horizon))
	}
	if left := s.announced.Remaining; left != nil && !s.announced.Reset.Before(end) {
		requests = min(requests, math.Floor(float64(*left)/a.Weight()))
	}
	out.Requests = int64(max(requests, 0))
	return out
}

// maxHorizon bounds how far is looked ahead.
const maxHorizon = 31 * 24 * time.Hour

// tokensIn returns how many tokens a span brings while the rate recovers.
func (s *State) tokensIn(from time.Time, span time.Duration) float64 {
	var sum float64
	at, end := from, from.Add(span)
	for at.Before(end) {
		next := s.demotion.nextRise(s.limits, at)
		if next.IsZero() || next.After(end) {
			next = end
		}
		sum += s.Rate(at) * next.Sub(at).Seconds()
		at = next
	}
	return sum
}

// suggestedConcurrency returns how many requests under way use the rate up, with a little
// room for slow ones.
func (s *State) suggestedConcurrency(now time.Time) int {
	if s.took == 0 || s.effective.Concurrency == 0 {
		return s.effective.Concurrency
	}
	enough := math.Ceil(s.Rate(now) * s.took.Seconds() * 1.25)
	return min(max(int(min(enough, 1e6)), 1), s.effective.Concurrency)
}

// Snapshot is the state of a key for people.
type Snapshot struct {
	Key          string    `json:"key"`
	PerSecond    float64   `json:"perSecond"` // now
	Declared     float64   `json:"declared"`  // over all processes
	Burst        int       `json:"burst"`
	BurstLeft    float64   `json:"burstLeft"`
	Concurrency  int       `json:"concurrency"`
	InFlight     int       `json:"inFlight"`
	Waiting      int       `json:"waiting"`
	CoolingUntil time.Time `json:"coolingUntil,omitzero"`
	Quotas       []Usage   `json:"quotas,omitempty"`
	Demotions    int       `json:"demotions"`
	LoweredBy    Outcome   `json:"loweredBy,omitempty"` // the last complaint, while the rate is below the declared one
	LoweredAt    time.Time `json:"loweredAt,omitzero"`
	Shared       bool      `json:"shared,omitempty"` // rate and quotas are those of all processes, not the part of one
	Announced    Announced `json:"announced,omitzero"`
}

// Usage is how much of a quota is used.
type Usage struct {
	Name   string    `json:"name"` // hour, day or money
	Used   float64   `json:"used"`
	Usable float64   `json:"usable"` // by this process, the margin aside
	Limit  float64   `json:"limit"`
	Reset  time.Time `json:"reset"`
}

// Snapshot shows the state; who waits and is under way is known to the owner.
func (s *State) Snapshot(key string, now time.Time) Snapshot {
	s.paceBucket(now)
	out := Snapshot{
		Key: key, PerSecond: s.Rate(now), Declared: s.limits.PerSecond, Burst: s.effective.Burst, BurstLeft: s.bucket.Left(now),
		Concurrency: s.effective.Concurrency, Demotions: s.demotion.times, Announced: s.announced,
	}
	if s.cooling.After(now) {
		out.CoolingUntil, out.BurstLeft = s.cooling, 0
	}
	if d := s.demotion; d.lowered > 0 && d.usableShare(s.limits, now) < 1 {
		out.LoweredBy, out.LoweredAt = d.why, d.at
	}
	for _, q := range s.quotas {
		c := s.seenCounter(q, now)
		out.Quotas = append(out.Quotas, Usage{Name: q.name, Used: c.totalUsed(), Usable: q.usable, Limit: q.limit, Reset: c.windowEnd(q.length, now)})
	}
	return out
}

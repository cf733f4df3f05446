package gate

import (
	"slices"
	"time"
)

// State is what is known of one key. The zero value is not usable; see NewState.
// Instants handed to it should not go back.
type State struct {
	declared  []declaration
	limits    Limits // the lowest of what is declared
	effective Limits // lowered to what is announced, divided by the processes
	quotas    []allowance
	rank, n   int
	together  bool // the rate is not divided: who sends when is agreed elsewhere
	hours     map[string]opening
	counted   bool // quotas are those of a ledger
	known     bool // the ledger has answered
	heard     time.Time

	bucket    Bucket
	demotion  demotion
	warm      time.Time // since when the upstream is used without a long pause
	last      time.Time // when the last request left
	cooling   time.Time
	announced Announced
	used      map[string]*counter
	took      time.Duration // of a request, smoothed
}

// declaration is what some request declared, and when the last one did.
type declaration struct {
	asked Limits // as it came
	full  Limits
	at    time.Time
}

// remembered is how long a declaration counts after its last request.
const remembered = time.Minute

// NewState returns the state of a key that was never used, for one of n processes.
func NewState(l Limits, rank, n int, now time.Time) *State {
	s := &State{rank: rank, n: max(n, 1), hours: map[string]opening{}, used: map[string]*counter{}, warm: now}
	l = l.ofKey()
	full := l.Filled()
	s.declared = []declaration{{l, full, now}}
	s.bucket = NewBucket(full.PerSecond, full.Burst, now)
	if full.Warmup > 0 {
		s.bucket.Hold(1, now)
	}
	s.adjustInForce(now)
	return s
}

// Declare notes what a request declares and reports whether the limits changed.
func (s *State) Declare(l Limits, now time.Time) bool {
	l = l.ofKey()
	if len(s.declared) == 1 && s.declared[0].asked == l {
		s.declared[0].at = now
		return false
	}
	return s.declareLimits(l, now)
}

func (s *State) declareLimits(l Limits, now time.Time) bool {
	full, before := l.Filled(), len(s.declared)
	known := slices.IndexFunc(s.declared, func(d declaration) bool { return sameLimits(d.full, full) })
	if known >= 0 {
		s.declared[known].asked, s.declared[known].at = l, now
	} else {
		s.declared = append(s.declared, declaration{l, full, now})
	}
	s.declared = slices.DeleteFunc(s.declared, func(d declaration) bool { return now.Sub(d.at) > remembered })
	if known >= 0 && len(s.declared) == before {
		return false
	}
	s.adjustInForce(now)
	return true
}

func sameLimits(a, b Limits) bool {
	same := *a.ObeyHeaders == *b.ObeyHeaders
	a.ObeyHeaders, b.ObeyHeaders = nil, nil
	return same && a == b
}

// SetShare says which of how many processes this one is.
func (s *State) SetShare(rank, n int, now time.Time) {
	s.rank, s.n = rank, max(n, 1)
	s.adjustInForce(now)
}

// SetTogether says that the rate is counted for all processes elsewhere, or no
// longer is. Then the bucket begins empty: what the others used is not known here.
func (s *State) SetTogether(yes bool, now time.Time) {
	if s.together && !yes {
		s.bucket.Hold(0, now)
	}
	s.together = yes
	s.adjustInForce(now)
}

// adjustInForce derives what is in force.
func (s *State) adjustInForce(now time.Time) {
	s.limits = s.declared[0].full
	for _, d := range s.declared[1:] {
		s.limits = s.limits.Lowest(d.full)
	}
	lowered := s.limits
	if *s.limits.ObeyHeaders {
		if a := s.announced.PerSecond; a > 0 {
			lowered.PerSecond = min(lowered.PerSecond, a)
		}
		if a := s.announced.Concurrency; a > 0 {
			lowered.Concurrency = min(lowered.Concurrency, a)
		}
	}
	lowered.MinPerSecond = min(lowered.MinPerSecond, lowered.PerSecond)
	if s.effective = lowered.Share(s.rank, s.n); s.together {
		places := s.effective.Concurrency
		s.effective = lowered
		s.effective.Concurrency = places
	}
	if s.quotas = listAllowances(s.limits, s.rank, s.n); s.counted {
		s.quotas = listAllowances(s.limits, 0, 1) // the ledger divides them by what is used
	}
	s.paceBucket(now)
}

// paceBucket brings the bucket to the rate of now.
func (s *State) paceBucket(now time.Time) {
	s.bucket.SetRate(s.Rate(now), s.effective.Burst, now)
}

// isSteady reports that the rate does not change with time: it was not lowered,
// and there is no warm-up.
func (s *State) isSteady() bool { return s.demotion.lowered == 0 && s.effective.Warmup == 0 }

// coldest is the share of the rate a warm-up starts with.
const coldest = 1.0 / 3

// Rate returns how many requests a second may leave now.
func (s *State) Rate(now time.Time) float64 {
	rate := max(s.effective.PerSecond*s.demotion.usableShare(s.limits, now), s.effective.MinPerSecond)
	if warmup := s.effective.Warmup.Std(); warmup > 0 {
		rate *= min(1, coldest+(1-coldest)*float64(now.Sub(s.warm))/float64(warmup))
	}
	return rate
}

// Limits returns what requests of the key declare, the lowest of each.
func (s *State) Limits() Limits { return s.limits }

// Places returns how many requests may be under way.
func (s *State) Places() int { return s.effective.Concurrency }

// Quantum returns how far one task may be ahead of another that waits.
func (s *State) Quantum() float64 { return float64(s.limits.Quantum) }

// Charge takes a request that leaves now.
func (s *State) Charge(a *Ask, now time.Time) {
	s.bucket.Take(a.Weight(), now)
	s.Spend(a, now)
}

// Refund takes back the charge of a request that did not leave after all.
func (s *State) Refund(a *Ask, charged, now time.Time) {
	s.bucket.Return(a.Weight())
	s.Unspend(a, charged, now)
}

// Spend charges the quotas alone, for a request whose rate is counted elsewhere.
func (s *State) Spend(a *Ask, now time.Time) {
	weight := a.Weight()
	s.last = now
	for i := range s.quotas {
		c, cost := s.counterOf(s.quotas[i], now), priceOf(s.quotas[i], a, weight)
		c.used, c.last = c.used+cost, cost
	}
}

// Unspend takes back the charge of the quotas. That of a window that is over
// would be missing in the one that followed.
func (s *State) Unspend(a *Ask, charged, now time.Time) {
	weight := a.Weight()
	for i := range s.quotas {
		if c := s.counterOf(s.quotas[i], now); !charged.Before(c.since) {
			c.used = max(c.used-priceOf(s.quotas[i], a, weight), 0)
		}
	}
}

// seenCounter returns a counter for people: what is not known is not shown.
func (s *State) seenCounter(q allowance, now time.Time) counter {
	c := *s.counterOf(q, now)
	if s.counted && c.until.IsZero() {
		return counter{}
	}
	return c
}

func priceOf(q allowance, a *Ask, weight float64) float64 {
	if q.name == "money" {
		return a.Limits.PricePerRequest
	}
	return weight
}

func (s *State) counterOf(q allowance, now time.Time) *counter {
	c := s.used[q.name]
	if c == nil {
		c = &counter{}
		s.used[q.name] = c
	}
	if s.counted {
		c.expireBlock(now)
	} else {
		c.rollWindow(q.length, now)
	}
	return c
}

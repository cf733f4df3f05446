package gate

import (
	"cmp"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Limits is the `rate` section of a source. A zero field is not limited,
// except that PerSecond and Concurrency default to 1 (§4.10.8): politeness is
// the default, speed is declared. Fields that say zero:"ok" are stored even if
// zero: a written zero means none.
type Limits struct {
	PerSecond float64 `json:"perSecond,omitempty" doc:"requests per second (default 1)"`
	// PerSecondWithKey replaces PerSecond for requests that carry a credential which may be left out.
	PerSecondWithKey float64           `json:"perSecondWithKey,omitempty" doc:"requests per second while the secret of an optional credential is there (default perSecond)"`
	Burst            int               `json:"burst,omitempty" doc:"requests that may leave at once after a pause (default 1)"`
	Warmup           duration.Duration `json:"warmup,omitempty" doc:"time in which the rate rises from a third to the whole after a start or a long pause (default none)"`
	Concurrency      int               `json:"concurrency,omitempty" doc:"requests under way at the same time (default 1)"`
	MinPerSecond     float64           `json:"minPerSecond,omitempty" doc:"lowest rate when the upstream complains (default 0.1, at most perSecond)"`
	Demote           float64           `json:"demote,omitempty" doc:"what the rate is divided by when the upstream complains (default 2)"`
	Recover          float64           `json:"recover,omitempty" doc:"requests per second regained after each recoverEvery without complaint (default a tenth of perSecond)"`
	RecoverEvery     duration.Duration `json:"recoverEvery,omitempty" doc:"how often the rate rises again (default PT10S)"`
	QuotaPerHour     int64             `json:"quotaPerHour,omitempty" doc:"requests in one hour of the clock (default not limited)"`
	QuotaPerDay      int64             `json:"quotaPerDay,omitempty" doc:"requests in one day, UTC (default not limited)"`
	QuotaMargin      float64           `json:"quotaMargin" zero:"ok" doc:"share of the quotas that is left unused, 0 to 1 (default 0.1; 0 for none)"`
	BudgetPerDay     float64           `json:"budgetPerDay,omitempty" doc:"money that may be spent in one day, UTC, in the unit of pricePerRequest (default not limited)"`
	// PricePerRequest feeds forecasts and is what BudgetPerDay is spent on.
	PricePerRequest float64 `json:"pricePerRequest,omitempty" doc:"what one request costs, for forecasts and budgetPerDay (default nothing)"`
	Hours           string  `json:"hours,omitempty" doc:"hours in which requests may leave, with days of the week and a zone, such as 21:00-05:00, Sat-Sun America/New_York for every night and whole weekends (default all)"`
	Cost            float64 `json:"cost,omitempty" doc:"how many requests each request counts as (default 1)"`
	Group           string  `json:"group,omitempty" doc:"requests with the same group share rate and quotas; not the code of another source (default the source: all its endpoints share one rate)"`
	Quantum         int     `json:"quantum,omitempty" doc:"how many requests one task may be ahead of a waiting one (default 10)"`
	ObeyHeaders     *bool   `json:"obeyHeaders,omitempty" doc:"lower the rate to what the response headers announce (default true)"`
}

// WithDefaults fills what the source left open.
func (l Limits) WithDefaults() Limits {
	l.PerSecond = cmp.Or(l.PerSecond, 1)
	l.Burst = cmp.Or(l.Burst, 1)
	l.Concurrency = cmp.Or(l.Concurrency, 1)
	l.MinPerSecond = cmp.Or(l.MinPerSecond, min(0.1, l.PerSecond))
	l.Demote = cmp.Or(l.Demote, 2)
	l.Recover = cmp.Or(l.Recover, l.PerSecond/10)
	l.RecoverEvery = cmp.Or(l.RecoverEvery, defaultRecoverEvery)
	l.QuotaMargin = cmp.Or(l.QuotaMargin, 0.1)
	l.Cost = cmp.Or(l.Cost, 1)
	l.Quantum = cmp.Or(l.Quantum, 10)
	if l.ObeyHeaders == nil {
		yes := true
		l.ObeyHeaders = &yes
	}
	return l
}

// WithKey returns the limits of requests that carry an optional credential. A rate that was
// lowered comes back as quickly as before, in proportion.
func (l Limits) WithKey() Limits {
	if l.PerSecondWithKey > l.PerSecond {
		l.Recover *= l.PerSecondWithKey / l.PerSecond
		l.PerSecond = l.PerSecondWithKey
	}
	return l.WithoutKey()
}

// WithoutKey returns the limits of requests without one.
func (l Limits) WithoutKey() Limits {
	l.PerSecondWithKey = 0
	return l
}

// Key names what shares one rate and one quota: the source, because most upstreams
// count all requests of a caller together (§4.10.9), or the group that is
// declared. The key of a group is no code of a source: else a file from anywhere
// could name another source as its group and slow it down (D§5.30).
func (l Limits) Key(source string) string {
	if l.Group == "" || l.Group == source {
		return source
	}
	return GroupMark + l.Group
}

// GroupMark begins the keys of groups; no code of a source can.
const GroupMark = "@"

// memberMark stands before the name of a credential in the key of a member of a pool; no code,
// group or name of a credential has it.
const memberMark = ":"

// LongestKey is how many characters a rate key may have: it is a column.
const LongestKey = 64

// MemberKey names what one member of a pool of credentials shares with nobody: upstreams that give
// each credential a quota of its own count it apart. Without a member it is the key itself.
func MemberKey(key, member string) string {
	if member == "" {
		return key
	}
	return key + memberMark + member
}

// CutMember returns the key of the pool and the name of the member that a key is of; the name is
// empty for a key of no pool.
func CutMember(key string) (of, member string) {
	of, member, _ = strings.Cut(key, memberMark)
	return of, member
}

// Times returns what n members of a pool may use together, each of them the whole of it.
func (l Limits) Times(n int) Limits {
	if n <= 1 {
		return l
	}
	l.PerSecond *= float64(n)
	l.PerSecondWithKey *= float64(n)
	l.MinPerSecond *= float64(n)
	l.Recover *= float64(n)
	l.Burst *= n
	l.Concurrency *= n
	l.QuotaPerHour *= int64(n)
	l.QuotaPerDay *= int64(n)
	l.BudgetPerDay *= float64(n)
	return l
}

const defaultRecoverEvery = duration.Duration(10e9)

// Filled does what WithDefaults does for limits that were filled before, perhaps by
// an older program, which wrote a margin of zero.
func (l Limits) Filled() Limits {
	margin, written := l.QuotaMargin, l.ObeyHeaders != nil
	l = l.WithDefaults()
	if written {
		l.QuotaMargin = margin
	}
	return l
}

// Lowest returns what holds where requests of one key declare different limits, as
// two endpoints, two operations or an old and a new plan may: the more polite of
// each. Cost, price and hours are of the single request.
func (l Limits) Lowest(o Limits) Limits {
	l.PerSecond = min(l.PerSecond, o.PerSecond)
	l.Burst = min(l.Burst, o.Burst)
	l.Warmup = max(l.Warmup, o.Warmup)
	l.Concurrency = min(l.Concurrency, o.Concurrency)
	l.MinPerSecond = min(l.MinPerSecond, o.MinPerSecond)
	l.Demote = max(l.Demote, o.Demote)
	l.Recover = min(l.Recover, o.Recover)
	l.RecoverEvery = max(l.RecoverEvery, o.RecoverEvery)
	l.QuotaPerHour = lowerLimit(l.QuotaPerHour, o.QuotaPerHour)
	l.QuotaPerDay = lowerLimit(l.QuotaPerDay, o.QuotaPerDay)
	l.QuotaMargin = max(l.QuotaMargin, o.QuotaMargin)
	l.BudgetPerDay = lowerLimit(l.BudgetPerDay, o.BudgetPerDay)
	l.Quantum = min(l.Quantum, o.Quantum)
	if *o.ObeyHeaders {
		l.ObeyHeaders = o.ObeyHeaders
	}
	return l
}

// lowerLimit returns the smaller of two limits, where zero is none.
func lowerLimit[T int64 | float64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Share returns what one of n processes may use of a limit counted over all of
// them, when no shared gate coordinates them (D§5.23). Ranks 0…n-1 together
// never exceed the declared limits; a process may get no concurrency at all.
func (l Limits) Share(rank, n int) Limits {
	if n <= 1 {
		return l
	}
	l.PerSecond /= float64(n)
	l.MinPerSecond /= float64(n)
	l.Burst = shareOf(l.Burst, rank, n)
	l.Concurrency = shareOf(l.Concurrency, rank, n)
	return l
}

func shareOf(total, rank, n int) int {
	part := total / n
	if rank < total%n {
		part++
	}
	return part
}

// ofKey leaves out what is of the single request.
func (l Limits) ofKey() Limits {
	l.Cost, l.PricePerRequest, l.Hours, l.Group = 0, 0, "", ""
	return l
}

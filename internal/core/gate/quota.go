package gate

import (
	"math"
	"time"
)

// counter is what was used in one window of the clock, UTC.
type counter struct {
	start time.Time
	used  float64   // by this process
	since time.Time // by our clock: when the window was first heard of
	last  float64   // what the last request took
	block           // where a ledger counts for all processes
}

// rollWindow begins a new window where the old one has passed. A clock that goes back
// stays in the window that was begun.
func (c *counter) rollWindow(length time.Duration, now time.Time) {
	if passed := now.Sub(c.start); passed >= 0 && passed < length {
		return // asked for with every request, and finding the window costs more
	}
	if start := now.UTC().Truncate(length); start.After(c.start) {
		*c = counter{start: start, since: now}
	}
}

// totalUsed returns what all processes have used, or may have.
func (c *counter) totalUsed() float64 { return c.others + c.used }

// windowEnd returns when the window ends.
func (c *counter) windowEnd(length time.Duration, now time.Time) time.Time {
	switch {
	case !c.until.IsZero():
		return c.until
	case c.start.Add(length).After(now):
		return c.start.Add(length)
	}
	return now.UTC().Truncate(length).Add(length)
}

// allowance is how much of a window may be used.
type allowance struct {
	name   string
	length time.Duration
	limit  float64 // as declared
	usable float64 // of it, by this process and after the margin
	cost   float64 // of the request in question
}

// reservedPerStep is the share of what is usable that is kept at the start of a
// window for each step of priority above one's own. It melts while the window
// passes, so that at its end nothing is left unused for others (§4.10.5).
const reservedPerStep = 0.1

// Priorities of tasks are 10, 50 and 90 for HARVEST, UPDATE and BACKFILL (D§5.1).
const (
	priorityStep = 40
	maxSteps     = 4
)

// fitsFrom returns the instant from which a request of a priority fits into the
// window.
func (c *counter) fitsFrom(a allowance, priority int, now time.Time) time.Time {
	left := a.usable - c.totalUsed() - a.cost
	kept := a.usable * reservedPerStep * prioritySteps(priority)
	if left >= kept {
		return now // with every request, so nothing else is reckoned before
	}
	end := c.windowEnd(a.length, now)
	if left < -dust {
		return end
	}
	if c.totalUsed() == 0 {
		return now // however small the quota: nobody waits for ever
	}
	if share := end.Sub(now).Seconds() / a.length.Seconds(); kept*share <= left+dust {
		return now
	}
	return end.Add(-time.Duration(math.Floor(left / kept * float64(a.length))))
}

// prioritySteps returns how many priorities come before one.
func prioritySteps(priority int) float64 {
	return float64(min(max(priority, 0)/priorityStep, maxSteps))
}

// listAllowances lists what bounds requests of these limits, for one of n processes.
func listAllowances(l Limits, rank, n int) []allowance {
	var out []allowance
	add := func(name string, length time.Duration, limit float64, margin float64) {
		usable := limit * (1 - margin)
		if name != "money" { // requests cannot be halved
			usable = float64(shareOf(int(usable), rank, n))
		} else {
			usable /= float64(n)
		}
		out = append(out, allowance{name: name, length: length, limit: limit, usable: usable})
	}
	if l.QuotaPerHour > 0 {
		add("hour", time.Hour, float64(l.QuotaPerHour), l.QuotaMargin)
	}
	if l.QuotaPerDay > 0 {
		add("day", 24*time.Hour, float64(l.QuotaPerDay), l.QuotaMargin)
	}
	if l.BudgetPerDay > 0 {
		add("money", 24*time.Hour, l.BudgetPerDay, 0)
	}
	return out
}

// roomWithin returns how many requests fit into the horizon: what is left of this
// window and what the windows after it bring.
func (c *counter) roomWithin(a allowance, now time.Time, horizon time.Duration) float64 {
	if a.cost <= 0 {
		return math.Inf(1)
	}
	left := max(a.usable-c.totalUsed(), 0)
	if after := now.Add(horizon).Sub(c.windowEnd(a.length, now)); after > 0 {
		left += a.usable * math.Ceil(float64(after)/float64(a.length))
	}
	return math.Floor(left/a.cost + dust)
}

package gate

import "time"

// Passage is what a gate tells of a request that passed it, or was refused. What a gate
// does not know stays zero.
type Passage struct {
	Why    Reason  // what it waited for; OverDeadline is the rate
	Places bool    // it waited for one of the requests under way to end
	Rate   float64 // requests a second in force when it left
}

// Waits are lengths of time spent at the gate, by what was waited for.
type Waits struct {
	Rate        time.Duration
	Concurrency time.Duration
	Quota       time.Duration
	Hours       time.Duration
	RetryAfter  time.Duration // the upstream asked for it
}

// Add adds a wait to its reason. One whose reason the gate did not tell counts as a wait
// for the rate: that is what nearly all of them are.
func (w *Waits) Add(p Passage, waited time.Duration) {
	switch {
	case p.Why == Quota:
		w.Quota += waited
	case p.Why == ClosedHours:
		w.Hours += waited
	case p.Why == Cooling:
		w.RetryAfter += waited
	case p.Places:
		w.Concurrency += waited
	default:
		w.Rate += waited
	}
}

// Total returns all of them.
func (w Waits) Total() time.Duration {
	return w.Rate + w.Concurrency + w.Quota + w.Hours + w.RetryAfter
}

// HasQuota reports whether requests are counted in any window.
func (l Limits) HasQuota() bool { return l.QuotaPerHour > 0 || l.QuotaPerDay > 0 || l.BudgetPerDay > 0 }

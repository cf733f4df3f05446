package gate

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Ask is the wish to send one request (§4.10.2).
type Ask struct {
	Key      string
	Limits   Limits
	Cost     float64       // zero: what the limits say, or 1
	Deadline time.Duration // longest wait that is accepted; zero: none
	Priority int           // smaller first, where there is not enough for all
	Task     int64         // tasks of one key take turns; zero: of no task
	Told     *Passage      // the gate says here how the request passed; nil: nobody asks
}

// Weight returns what the request takes from rate and quotas.
func (a Ask) Weight() float64 {
	switch {
	case a.Cost > 0:
		return a.Cost
	case a.Limits.Cost > 0:
		return a.Limits.Cost
	}
	return 1
}

// Decision is the answer to an Ask.
type Decision string

// The three decisions.
const (
	Allow  Decision = "ALLOW"
	Wait   Decision = "WAIT"
	Reject Decision = "REJECT"
)

// Reason is why a request may not leave.
type Reason string

// Reasons. A verdict that waits names one too.
const (
	OverDeadline Reason = "OVER_DEADLINE" // the rate or the places are used by others
	Quota        Reason = "QUOTA"         // of the hour, of the day, or the money of the day
	Cooling      Reason = "COOLING"       // the upstream asked us to wait
	ClosedHours  Reason = "CLOSED_HOURS"
	Breaker      Reason = "BREAKER"
	Limit        Reason = "REQUEST_LIMIT" // of the trigger is used up
)

// Verdict says whether a request may leave, and if not, from when on it is worth
// asking again. Until is zero for ALLOW, and where it cannot be known.
type Verdict struct {
	Decision Decision
	Until    time.Time
	Reason   Reason
}

// Within turns a wait that is longer than accepted into a refusal.
func (v Verdict) Within(deadline time.Duration, now time.Time) Verdict {
	if v.Decision == Wait && deadline > 0 && v.Until.Sub(now) > deadline {
		v.Decision = Reject
	}
	return v
}

// Fault returns a refusal as the caller meets it. The request never left: the
// task goes back into the queue until then, and nothing has failed (§4.10.6).
func (v Verdict) Fault(key string, now time.Time) *fault.Error {
	wait := max(v.Until.Sub(now), 0)
	if v.Until.IsZero() {
		wait = 0
	}
	f := fault.New(fault.RateLimited, fmt.Errorf("rate gate of %s: %s%s, free in %s", key, v.Reason, v.Reason.reasonWords(), wait.Round(time.Millisecond)))
	f.Wait, f.Unsent, f.Held = wait, true, string(v.Reason)
	return f
}

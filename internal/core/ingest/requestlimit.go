package ingest

import (
	"fmt"
	"time"
)

// RequestLimit is how many requests a trigger may spend, over all plans it works on and
// all processes that work on them (§5.2.1). Retries, redirects and logins count.
type RequestLimit struct {
	ID       int64     `json:"id"`
	Max      int       `json:"maxRequests"`
	Taken    int       `json:"taken"`             // counted before they are sent
	UsedUpAt time.Time `json:"usedUpAt,omitzero"` // when somebody asked for one more than there were
}

// UsedUp reports that nothing more is begun under the limit. A few requests may be left
// that were taken and given back.
func (l RequestLimit) UsedUp() bool { return !l.UsedUpAt.IsZero() }

// SpentText says that nothing is left.
func (l RequestLimit) SpentText() string {
	return fmt.Sprintf("the %d requests of --max-requests are used up", l.Max)
}

// PlanLimit is the limit of a plan, and whether somebody still works on the plan.
type PlanLimit struct {
	RequestLimit
	Working int // tasks of the plan that a worker holds
	Waiting int // slices of the plan that have not ended
}

// RequestTake is what a run asks of the limit of its plan. It speaks of totals, so that
// asking twice takes once (I8).
type RequestTake struct {
	PlanID, RunID int64
	LimitID       int64 // that the run knows of
	Used          int   // what the run has used of it so far
	More          bool  // one more is wanted; false: what was not used is given back
}

// RequestGrant is what a run may use.
type RequestGrant struct {
	LimitID int64 // of the plan by now; zero: it has none any more
	Max     int
	Total   int // that the run may use of it, with what it used
}

// RequestLot is how many requests a run takes at once of what is left: few, because those
// of a process that dies are lost, and one by one towards the end, so that no worker
// holds what another one needs.
func RequestLot(left int) int { return min(max(left/lotShare, 1), largestLot, max(left, 0)) }

const (
	lotShare   = 20
	largestLot = 10
)

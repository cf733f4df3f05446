package ingest

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// Holdup is why nothing is taken of a queue, a pause by an operator apart.
type Holdup struct {
	Reason gate.Reason
	Until  time.Time // zero: until the run that is under way has ended
	Detail string
}

// Holdup says whether dispatch leaves a queue alone now: its upstream is in
// trouble, or asked us to wait (§4.10.6, §12.2). Lists of tasks say the same.
func (q Queue) Holdup(now time.Time) (Holdup, bool) {
	switch q.Breaker.State(now) {
	case fault.BreakerOpen:
		return Holdup{gate.Breaker, q.Breaker.OpenUntil, fmt.Sprintf("%d runs in a row failed at this upstream", q.Breaker.Failures)}, true
	case fault.BreakerHalfOpen:
		if q.Endpoint > 0 { // those before it were let go with an empty endpoint
			return Holdup{Reason: gate.Breaker, Detail: "one run tests whether the upstream is back"}, true
		}
	}
	if q.CoolingUntil.After(now) {
		return Holdup{q.CoolingCode, q.CoolingUntil, about(q.CoolingCode, q.RateKey)}, true
	}
	return Holdup{}, false
}

func about(why gate.Reason, key string) string {
	switch why {
	case gate.Quota:
		return "our own quota under rate key " + key + " is used up"
	case gate.ClosedHours:
		return "outside of the hours in which requests may leave"
	case gate.OverDeadline:
		return "others use the rate of key " + key
	}
	return "the upstream of rate key " + key + " asked us to wait"
}

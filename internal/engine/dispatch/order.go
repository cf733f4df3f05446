package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Turns is the partition that was served last, for each priority. One turn for
// all would start over among the others whenever an urgent one comes between, and
// some would never be reached.
type Turns map[int]int64

// Order lists the partitions worth asking: best priority first, rotation among
// equals, without those paused, cooling down or at their limit (D§5.2).
func Order(queues []ingest.Queue, last Turns, now time.Time) []ingest.Queue {
	var open []ingest.Queue
	for _, q := range queues {
		if !q.Paused && !q.CoolingUntil.After(now) && q.Running < q.MaxConcurrent && lets(q, now) {
			open = append(open, q)
		}
	}
	round := func(q ingest.Queue) int { // those after the last one come in this round
		if q.PartitionID > last[q.Priority] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(open, func(a, b ingest.Queue) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(round(a), round(b)), cmp.Compare(a.PartitionID, b.PartitionID))
	})
	return open
}

// lets: an endpoint whose upstream is in trouble gets nobody, and then one run
// that looks whether it is back (§12.2).
func lets(q ingest.Queue, now time.Time) bool {
	switch q.Breaker.State(now) {
	case fault.BreakerOpen:
		return false
	case fault.BreakerHalfOpen:
		return q.Endpoint == 0
	}
	return true
}

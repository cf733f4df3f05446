package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Rotation is the partition that was served last, for each priority. One turn for
// all would start over among the others whenever an urgent one comes between, and
// some would never be reached.
type Rotation map[int]int64

// Order lists the partitions worth asking: best priority first, rotation among
// equals, without those paused, held up or at their limit (D§5.2).
func Order(queues []ingest.Queue, last Rotation, now time.Time) []ingest.Queue {
	var open []ingest.Queue
	for _, q := range queues {
		if _, held := q.Holdup(now); !q.Paused && !held && q.Running < q.MaxConcurrent {
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

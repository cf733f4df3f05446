package freshness

import "time"

// What makes a habit of harvests that no schedule starts.
const (
	habitHarvests = 5                   // so many at least
	habitSpan     = 3 * 24 * time.Hour  // over so long at least
	habitMemory   = 30 * 24 * time.Hour // of the time before the last one
	leastOverdue  = 24 * time.Hour      // less is never late
)

// Overdue reports whether a harvest that no schedule starts is overdue: it was started again
// and again, and now it was not for twice the longest pause between two of the last thirty
// days, and for a day at least. every is that pause. Starts are when harvests were planned, the
// newest first. Whoever reads a source now and then by hand makes no habit of it.
func Overdue(starts []time.Time, now time.Time) (every time.Duration, overdue bool) {
	if len(starts) == 0 {
		return 0, false
	}
	last, oldest, n := starts[0], starts[0], 1
	for _, at := range starts[1:] {
		if last.Sub(at) > habitMemory {
			break
		}
		every = max(every, oldest.Sub(at))
		oldest, n = at, n+1
	}
	if n < habitHarvests || last.Sub(oldest) < habitSpan {
		return every, false
	}
	return every, now.Sub(last) > max(2*every, leastOverdue)
}

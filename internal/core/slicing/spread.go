package slicing

import "time"

const (
	// spreadHeadroom: slices become due this many times faster than the declared
	// rate can serve them, so that workers run dry only if a plan holds less than
	// half of what was counted.
	spreadHeadroom = 2
	// spreadLead is how much earlier still, so that there is work at once and no
	// rounding and no pause between two looks at the queue is ever felt.
	spreadLead = time.Minute
	// LatestDue is the longest a task waits for its turn: what is wrong about an
	// estimate must be over in a day.
	LatestDue = 24 * time.Hour
)

// Spread returns when each slice of a plan becomes due, as a delay after its
// start, in the order of the slices; nil if all are due at once. A task that is
// due takes a worker, and where the rate is spent that worker only waits at the
// gate while other sources have work for it. So slices become due about as fast
// as the rate allows, by what the ones before them are expected to take.
//
// It is for operations that may take their time. What follows the present is due
// at once: a HARVEST is short, and an estimate that is wrong must not hold back
// what is fresh. Assumed sizes, unlike counted ones, may be wrong by any factor:
// such a slice counts as the one request it takes at least.
func Spread(cut []Slice, steps []Step) []time.Duration {
	known := false
	for _, s := range steps {
		if s.PerSecond <= 0 {
			return nil
		}
	}
	out := make([]time.Duration, len(cut))
	spent := make([]int64, len(steps)) // requests of the slices before
	for i, s := range cut {
		out[i] = dueAfter(spent, steps)
		e := s.expectedItems()
		if e.isUnknown() || e.Source == FromConstant {
			e.Count = 0
		} else {
			known = true
		}
		for n, step := range steps {
			spent[n] += step.requestsFor(e.Count)
		}
	}
	if !known || len(out) == 0 || out[len(out)-1] == 0 {
		return nil
	}
	return out
}

func dueAfter(spent []int64, steps []Step) time.Duration {
	seconds := 0.0
	for n, step := range steps {
		seconds += float64(spent[n]) / step.PerSecond / spreadHeadroom
	}
	if seconds >= (LatestDue + spreadLead).Seconds() {
		return LatestDue
	}
	return max(time.Duration(seconds*float64(time.Second)).Truncate(time.Microsecond)-spreadLead, 0)
}

package fault

import "time"

// Backoff is a wait that grows with every failure in a row: from First, Growth times
// as long each time, up to Longest.
type Backoff struct {
	First   time.Duration
	Growth  float64
	Longest time.Duration
	Jitter  float64 // share of the wait by which Spread makes it shorter or longer
}

// After returns the wait after a number of failures in a row, from 1. Less than one
// is one.
func (b Backoff) After(failures int) time.Duration { return time.Duration(b.wait(failures)) }

// Spread returns what After returns, shortened or lengthened by up to the jitter, so
// that many who failed together do not come back together. random is in [0,1).
func (b Backoff) Spread(failures int, random float64) time.Duration {
	return time.Duration(b.wait(failures) * (1 - b.Jitter + 2*b.Jitter*random))
}

func (b Backoff) wait(failures int) float64 {
	wait, longest := float64(b.First), float64(b.Longest)
	for n := 1; n < failures && wait < longest; n++ {
		wait *= b.Growth
	}
	return min(wait, longest)
}

package ingest

import (
	"slices"
	"time"
)

// LatencyBounds are the times by which answers are counted, the shortest first. Sums keep a
// count for each, so a percentile is known to about half of its size, however many answers
// there were.
var LatencyBounds = [...]time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Latencies counts answers by how long they took: up to each of LatencyBounds, and above.
type Latencies [len(LatencyBounds) + 1]int64

// Count adds an answer.
func (l *Latencies) Count(took time.Duration) {
	n := slices.IndexFunc(LatencyBounds[:], func(bound time.Duration) bool { return took <= bound })
	if n < 0 {
		n = len(LatencyBounds)
	}
	l[n]++
}

// Add returns the counts of both.
func (l Latencies) Add(o Latencies) Latencies {
	for n := range l {
		l[n] += o[n]
	}
	return l
}

// Since returns what was counted after before.
func (l Latencies) Since(before Latencies) Latencies {
	for n := range l {
		l[n] -= before[n]
	}
	return l
}

// Answers returns how many were counted.
func (l Latencies) Answers() (sum int64) {
	for _, n := range l {
		sum += n
	}
	return sum
}

// Percentile returns the time within which so many of a hundred answers came, as far as the
// counts tell: between two bounds they are taken to lie evenly. None took longer than the
// slowest. False if nothing was counted.
func (l Latencies) Percentile(percent float64, slowest time.Duration) (time.Duration, bool) {
	rank := float64(l.Answers()) * percent / 100
	from := time.Duration(0)
	for n, count := range l {
		to := slowest
		if n < len(LatencyBounds) {
			to = min(LatencyBounds[n], slowest)
		}
		to = max(to, from) // a slowest that is not known says nothing
		if count > 0 && rank <= float64(count) {
			return from + time.Duration(float64(to-from)*rank/float64(count)), true
		}
		rank, from = rank-float64(count), to
	}
	return 0, false
}

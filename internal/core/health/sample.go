package health

import (
	"slices"
	"time"
)

// kind is what a sample is of.
type kind int

const (
	page kind = iota
	run
	task
)

// Sample is one page, one run or one ended task. What it does not have is zero.
type Sample struct {
	Requests  int           // tries of the page
	Throttled int           // of these, told to slow down
	Failed    int           // of these, that failed otherwise
	Took      time.Duration // the upstream's time for the answer
	Bytes     int64         // of the answer
	Queued    time.Duration // writes waited so long for the database
	Commit    time.Duration // the batch took so long to be stored
	Bad       bool          // the run or the task did not go well

	at time.Time
	no int64 // in the order they came: several may come at one instant
}

// Span is how far back samples count, and most how many: what is kept of a
// partition does not grow with the harvest (I14).
const (
	Span = 5 * time.Minute
	most = 256
	runs = 20
)

// recent holds the last samples of a kind, oldest first.
type recent struct {
	list []Sample
	most int
	aged bool // samples older than Span do not count
	came int64
}

func (r *recent) addSample(s Sample, now time.Time) {
	r.came++
	s.at, s.no = now, r.came
	r.list = append(r.list, s)
	if extra := len(r.list) - r.most; extra > 0 {
		r.list = slices.Delete(r.list, 0, extra)
	}
	r.forgetOld(now)
}

func (r *recent) forgetOld(now time.Time) {
	if !r.aged {
		return
	}
	old := 0
	for old < len(r.list) && now.Sub(r.list[old].at) > Span {
		old++
	}
	r.list = slices.Delete(r.list, 0, old)
}

// samplesAfter returns the samples that came after another one, and are not
// forgotten.
func (r *recent) samplesAfter(no int64) []Sample {
	first := len(r.list)
	for first > 0 && r.list[first-1].no > no {
		first--
	}
	return r.list[first:]
}

// The measures.

func throttledShare(list []Sample) float64 {
	requests, throttled := 0, 0
	for _, s := range list {
		requests += s.Requests
		throttled += s.Throttled
	}
	return float64(throttled) / float64(max(requests, 1))
}

func failedShare(list []Sample) float64 {
	failed := 0
	for _, s := range list {
		if s.Failed > 0 {
			failed++
		}
	}
	if failed < 2 {
		return 0 // one bad page is no trend
	}
	return float64(failed) / float64(len(list))
}

func runsFailed(list []Sample) float64 {
	bad := 0
	for _, s := range list {
		if s.Bad {
			bad++
		}
	}
	return float64(bad) / float64(max(len(list), 1))
}

func meanLatency(list []Sample) float64 {
	return p95(list, func(s Sample) float64 { return s.Took.Seconds() })
}

func meanHeaviness(list []Sample) float64 {
	return p95(list, func(s Sample) float64 { return float64(s.Bytes) })
}

// meanQueueing returns how long writes wait. A server lets a transaction begin at
// once and then wait for locks: a commit that takes ten times as long counts as much.
func meanQueueing(list []Sample) float64 {
	return p95(list, func(s Sample) float64 { return max(s.Queued, s.Commit/10).Seconds() })
}

// p95 returns what all but the worst twentieth stay at or below.
func p95(list []Sample, of func(Sample) float64) float64 {
	if len(list) == 0 {
		return 0
	}
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[(len(values)*95+99)/100-1]
}

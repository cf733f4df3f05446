package threshold

import (
	"math"
	"time"
)

// QueueLength is how many tasks waited for a process at an instant.
type QueueLength struct {
	At      time.Time
	Waiting int64
}

// Surge is a queue that is far longer than usual.
type Surge struct {
	Since   time.Time // when it began
	Waiting int64     // newest
	Usual   int64     // before it began: the mean
	Most    int64     // what it may be at most: mean and three times the deviation, the longest before, and what always is enough
	Shrinks bool      // it is shorter than it was a while ago
}

// How queues are judged (§14.8).
const (
	surgeKnown = 12 * time.Hour   // of lengths before it, at least
	surgeCalm  = 20 * time.Minute // it must be as usual before it is over
	surgeSigma = 3
)

// FindSurge reports whether a queue is longer than usual by three deviations for as long as
// it may, and stays so until it was as usual for a while, so that what goes up and down is one
// finding. A queue that was as long in the time before is usual: harvests start at the same
// hours every day. Lengths are in order, each stands for every time, and less than least is never
// too long.
func FindSurge(lengths []QueueLength, every, lasts time.Duration, least int64) (found Surge, over bool) {
	var usual moments
	var row []QueueLength // since the queue is too long, those as usual in between included
	calm, long := time.Duration(0), false
	for _, l := range lengths {
		most := max(usual.limit(), least)
		beyond := usual.n >= int64(surgeKnown/every) && l.Waiting > most
		if !beyond && len(row) == 0 {
			usual.add(l.Waiting)
			continue
		}
		row = append(row, l)
		if calm += every; beyond {
			calm = 0
			if l.At.Sub(row[0].At) >= lasts {
				found, long = Surge{Since: row[0].At, Usual: usual.mean(), Most: most}, true
			}
		}
		if calm >= surgeCalm {
			for _, was := range row {
				usual.add(was.Waiting)
			}
			row, calm, long = nil, 0, false
		}
	}
	if !long {
		return Surge{}, false
	}
	found.Waiting = row[len(row)-1].Waiting
	before := row[max(len(row)-1-int(lasts/every), 0)]
	found.Shrinks = found.Waiting < before.Waiting
	return found, true
}

// moments are what mean and deviation of numbers follow from, and the highest of them.
type moments struct {
	n            int64
	sum, squares float64
	peak         int64
}

func (m *moments) add(v int64) {
	m.n, m.sum, m.squares, m.peak = m.n+1, m.sum+float64(v), m.squares+float64(v)*float64(v), max(m.peak, v)
}

func (m *moments) mean() int64 {
	if m.n == 0 {
		return 0
	}
	return int64(math.Round(m.sum / float64(m.n)))
}

// limit is what a number usually does not pass.
func (m *moments) limit() int64 {
	if m.n == 0 {
		return 0
	}
	mean := m.sum / float64(m.n)
	return max(m.peak, int64(math.Ceil(mean+surgeSigma*math.Sqrt(max(m.squares/float64(m.n)-mean*mean, 0)))))
}

package slicing

import (
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/window"
)

// cutOwed cuts ranges of turns or of numbers into parts that hold about as
// many candidates each. Candidates are taken to be spread evenly: hashes are, and
// for numbers a part that holds more only takes longer.
func (r Request) cutOwed(perSlice int64) (out Result, err error) {
	var whole time.Duration
	for _, w := range r.Owed {
		whole += w.Duration()
	}
	for _, w := range r.Owed {
		for _, piece := range r.cutAtCycles(w) {
			count := shareOf(r.Candidates.Count, piece.Duration(), whole)
			for _, part := range cutEvenly(piece, (max(count, 1)-1)/max(perSlice, 1)+1) {
				out.addOwed(r, part, Estimate{shareOf(r.Candidates.Count, part.Duration(), whole), FromCount, false})
			}
		}
	}
	return out, nil
}

// cutAtCycles cuts turns where a cycle begins: behind it the hashes start over.
func (r Request) cutAtCycles(w window.Window) []window.Window {
	if r.Candidates.Kind == Hash {
		return refresh.Cycles(w, r.Candidates.Refresh.Cycle.Std())
	}
	return []window.Window{w}
}

// shareOf returns a count by length, rounded up: a part of few is not a part of
// none.
func shareOf(count int64, part, whole time.Duration) int64 {
	if whole <= 0 || count <= 0 {
		return 0
	}
	return int64(float64(count)*(float64(part)/float64(whole))) + 1
}

// cutEvenly cuts a range into n parts, fewer where it is too short.
func cutEvenly(w window.Window, n int64) (out []window.Window) {
	length := w.Duration().Microseconds()
	n = min(n, length, maxBuckets)
	for i := range n {
		from, to := length*i/n, length*(i+1)/n
		if length > 1<<40 { // length × i would not fit
			from, to = length/n*i, length/n*(i+1)
		}
		if i == n-1 {
			to = length
		}
		out = append(out, window.Window{From: w.From.Add(time.Duration(from) * time.Microsecond), To: w.From.Add(time.Duration(to) * time.Microsecond)})
	}
	return out
}

func (out *Result) addOwed(r Request, w window.Window, estimate Estimate) {
	c := r.Candidates
	s := r.baseSpec(estimate, r.initialPaging())
	s.Refresh = c.Refresh
	cut := Slice{}
	if c.Kind == Hash {
		turns := refresh.Shares(w, c.Refresh.Cycle.Std())[0]
		s.Range = &Range{Key: c.Key, Kind: Hash, From: turns.From, To: turns.To, AsOf: c.AsOf}
		s.Window = WindowSpec{From: w.From, To: w.To, Boundary: Boundary{"CLOSED", "OPEN"}, Timezone: "UTC"}
		cut.Window = w
	} else {
		s.Range = &Range{Key: c.Key, Kind: Number, From: idPoint(w.From), To: idPoint(w.To), AsOf: c.AsOf}
	}
	cut.Spec = s
	out.Slices = append(out.Slices, cut)
	out.Stats.Linear++
}

// idPoint returns the point of a line of numbers (ingest.IDPoint).
func idPoint(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }

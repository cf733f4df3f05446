package ingest

import (
	"cmp"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// FaultCount is how often one fault was met, or how many items were rejected for one
// reason.
type FaultCount struct {
	Level fault.Level `json:"level"`
	Code  string      `json:"code"` // a fault's, or the reason of rejects
	Times int         `json:"times"`
	Batch int         `json:"batch,omitempty"` // number of the batch that met it last
}

// FaultTally counts the faults of a run by level and code, in their order. It is never
// changed in place: copies of an account share it.
type FaultTally []FaultCount

// Count returns the tally with a fault of a batch added to it.
func (t FaultTally) Count(level fault.Level, code string, times, batch int) FaultTally {
	if times == 0 {
		return t
	}
	return t.Add(FaultTally{{Level: level, Code: code, Times: times, Batch: batch}})
}

// Add sums two tallies.
func (t FaultTally) Add(o FaultTally) FaultTally {
	switch {
	case len(o) == 0:
		return t
	case len(t) == 0:
		return o
	}
	out := slices.Clone(t)
	for _, c := range o {
		n, found := slices.BinarySearchFunc(out, c, compareFaults)
		if !found {
			out = slices.Insert(out, n, c)
			continue
		}
		out[n].Times += c.Times
		out[n].Batch = max(out[n].Batch, c.Batch)
	}
	return out
}

// Since returns what was added to a tally since it was another.
func (t FaultTally) Since(before FaultTally) (out FaultTally) {
	for _, c := range t {
		if n, found := slices.BinarySearchFunc(before, c, compareFaults); found {
			c.Times -= before[n].Times
		}
		if c.Times != 0 {
			out = append(out, c)
		}
	}
	return out
}

// Of returns how many faults of a level were met.
func (t FaultTally) Of(level fault.Level) (n int) {
	for _, c := range t {
		if c.Level == level {
			n += c.Times
		}
	}
	return n
}

func compareFaults(a, b FaultCount) int {
	return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Code, b.Code))
}

package ingest

import "maps"

// StatusTally counts answers by their HTTP status, those of repeated requests too. Nil is
// not zero: a run of an older version kept none. It is never changed in place: copies of an
// account share it.
type StatusTally map[int]int

// OddStatus stands for every status that HTTP has no class for. With it an upstream that
// makes up numbers cannot make the account of a run long.
const OddStatus = 0

// Count returns the tally with an answer added to it.
func (t StatusTally) Count(status int) StatusTally {
	if status < 100 || status > 599 {
		status = OddStatus
	}
	return t.Add(StatusTally{status: 1})
}

// Add sums two tallies.
func (t StatusTally) Add(o StatusTally) StatusTally {
	switch {
	case len(o) == 0:
		return t
	case len(t) == 0:
		return o
	}
	out := maps.Clone(t)
	for status, times := range o {
		out[status] += times
	}
	return out
}

// Since returns what was added to a tally since it was another.
func (t StatusTally) Since(before StatusTally) StatusTally {
	out := StatusTally{}
	for status, times := range t {
		if times -= before[status]; times != 0 {
			out[status] = times
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

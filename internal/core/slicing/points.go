package slicing

import (
	"fmt"
	"strconv"
)

// Points returns the bounds of a range as numbers below an end: from ≤ x < to. A
// hash bucket takes its share of the line; ids that are numbers stand for
// themselves. Other ids have no place on a line of numbers and are refused: cut
// those into hash buckets.
func (g Range) Points(end int64) (from, to int64, err error) {
	from, to = 0, end
	if g.From != "" {
		if from, err = g.parsePoint(g.From, end); err != nil {
			return 0, 0, err
		}
	}
	if g.To != "" {
		if to, err = g.parsePoint(g.To, end); err != nil {
			return 0, 0, err
		}
	}
	if from >= to {
		return 0, 0, fmt.Errorf("range %q to %q holds no number", g.From, g.To)
	}
	return from, to, nil
}

func (g Range) parsePoint(bound string, end int64) (int64, error) {
	if g.Kind == HashBucket {
		n, err := strconv.ParseUint(bound, 16, 4*bucketDigits)
		return int64(n) * (end / maxBuckets), err
	}
	n, err := strconv.ParseInt(bound, 10, 64)
	if err != nil || n < 0 || n > end {
		return 0, fmt.Errorf("range bound %q is no whole number from 0 to %d", bound, end)
	}
	return n, nil
}

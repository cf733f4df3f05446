package ingest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A percentile from counts lies within the bounds round the true one, never above the slowest,
// and a higher one is never less.
func TestPercentilesFromCounts(t *testing.T) {
	if _, known := (Latencies{}).Percentile(95, time.Second); known {
		t.Error("nothing was counted, and a percentile is known")
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var counts Latencies
		var took []time.Duration
		for range 1 + random.IntN(500) {
			d := time.Duration(float64(time.Millisecond) * (1 + 40*random.ExpFloat64()*float64(1+random.IntN(300))))
			took = append(took, d)
			counts.Count(d)
		}
		slices.Sort(took)
		slowest, last := took[len(took)-1], time.Duration(0)
		for _, percent := range []float64{50, 95, 99, 100} {
			got, known := counts.Percentile(percent, slowest)
			at := max(0, int(float64(len(took))*percent/100+0.999999)-1)
			low, high := boundsRound(took[at], slowest)
			if !known || got < low || got > high || got < last {
				t.Fatalf("seed %d, p%v: %v (known %v), true %v in [%v, %v], before %v", seed, percent, got, known, took[at], low, high, last)
			}
			last = got
		}
		if last != slowest {
			t.Fatalf("seed %d: p100 is %v, the slowest %v", seed, last, slowest)
		}
	}
}

func boundsRound(d, slowest time.Duration) (low, high time.Duration) {
	for _, bound := range LatencyBounds {
		if d <= bound {
			return low, min(bound, slowest)
		}
		low = bound
	}
	return low, slowest
}

// Counts of runs add up, and what came later is the rest.
func TestLatenciesAddUp(t *testing.T) {
	var a, b Latencies
	a.Count(50 * time.Millisecond)
	a.Count(time.Hour)
	b.Count(51 * time.Millisecond)
	if sum := a.Add(b); sum != (Latencies{0: 1, 1: 1, len(LatencyBounds): 1}) || sum.Answers() != 3 || sum.Since(a) != b {
		t.Errorf("%v", sum)
	}
}

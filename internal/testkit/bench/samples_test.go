package bench

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// repeat runs rounds for as long as the benchmark wants, and at least so many
// that their mean or median says something on a busy machine.
func repeat(b *testing.B, least int, round func()) {
	done := 0
	for b.Loop() {
		round()
		done++
	}
	for ; done < least; done++ {
		round()
	}
}

// alternate runs pairs of rounds, every other pair the other way round: what the first leaves to
// the disk, the server and the caches falls on the second, and must not always fall on the
// same side.
func alternate(b *testing.B, least int, one, other func()) {
	pairs := 0
	repeat(b, least, func() {
		first, second := one, other
		if pairs++; pairs%2 == 0 {
			first, second = other, one
		}
		first()
		second()
	})
}

// samples are what one operation took, time after time.
type samples struct {
	wall []time.Duration
	cpu  time.Duration // in all
}

// time runs an operation and notes what it took.
func (s *samples) time(tb testing.TB, do func() error) {
	tb.Helper()
	before, began := cpu(tb), time.Now()
	err := do()
	s.wall = append(s.wall, time.Since(began))
	s.cpu += cpu(tb) - before
	if err != nil {
		tb.Fatal(err)
	}
}

func (s samples) mean() time.Duration {
	var sum time.Duration
	for _, d := range s.wall {
		sum += d
	}
	return sum / time.Duration(len(s.wall))
}

func (s samples) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s.wall))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// String is mean and p95, in milliseconds.
func (s samples) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.2f / %.2f ms", ms(s.mean()), ms(s.quantile(0.95)))
}

// perCall shares out samples that each hold so many calls of a short operation.
func (s samples) perCall(calls int) samples {
	out := samples{cpu: s.cpu / time.Duration(calls)}
	for _, d := range s.wall {
		out.wall = append(out.wall, d/time.Duration(calls))
	}
	return out
}

// micros is mean and p95, in microseconds.
func (s samples) micros() string {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	return fmt.Sprintf("%.1f / %.1f µs", us(s.mean()), us(s.quantile(0.95)))
}

// rate is how many bytes of a page went through per second: by the median, in
// the fastest round, and per second of processor time, whatever core it was on.
func (s samples) rate(bytes int) string {
	mb := func(d time.Duration) float64 { return float64(bytes) / 1e6 / d.Seconds() }
	return fmt.Sprintf("%.0f MB/s (best %.0f, by processor time %.0f)", mb(s.quantile(0.5)), mb(slices.Min(s.wall)), mb(s.cpu/time.Duration(len(s.wall))))
}

// over is how many times the mean of other fits into ours, by the clock and by
// processor time.
func (s samples) over(other samples) (wall, processor float64) {
	each := func(s samples) float64 { return float64(s.cpu) / float64(len(s.wall)) }
	return ratio(s.mean(), other.mean()), each(s) / each(other)
}

// middle is the same for the medians: for what has no rare but real stalls.
func (s samples) middle(other samples) float64 { return ratio(s.quantile(0.5), other.quantile(0.5)) }

// rounds are the ratios of other to ours, round by round.
func (s samples) rounds(other samples) []float64 {
	out := make([]float64, len(s.wall))
	for i := range out {
		out[i] = ratio(other.wall[i], s.wall[i])
	}
	return out
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// cpu is the processor time this process has used so far. Unlike the clock it
// does not count what others do on the machine.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median of ratios of rounds: one disturbed round does not move it.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

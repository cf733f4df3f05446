package gate_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// I11: whoever takes instants, in whatever order and with whatever view of the
// time, they never are more than burst + rate × time; none lies inside a pause,
// and after a pause they follow at the rate.
func TestBelieve14InstantsOfABucket(t *testing.T) {
	start := time.Date(2025, 3, 10, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
		perSecond, burst := []float64{0.3, 3, 20, 50}[r.IntN(4)], float64(1+r.IntN(6))
		var b gate.Slots
		var pause time.Time
		var at []time.Time
		for now := start; len(at) < 300; now = now.Add(time.Duration(r.ExpFloat64() * float64(time.Second) / perSecond)) {
			if r.IntN(50) == 0 {
				pause = now.Add(time.Duration(r.Float64() * float64(20*time.Second) / perSecond))
			}
			seen := now.Add(-time.Duration(r.IntN(20)) * time.Millisecond) // it waited for the row
			got := b.Reserve(gate.Reservation{PerSecond: perSecond, Burst: burst, Weights: slices.Repeat([]float64{1}, 1+r.IntN(4)), Within: 10 * time.Second}, pause, seen)
			for _, after := range got.After {
				leaves := seen.Add(after)
				if leaves.Before(pause) {
					t.Fatalf("seed %d: %v lies before the end of the pause, %v", seed, leaves, pause)
				}
				at = append(at, leaves)
			}
		}
		slices.SortFunc(at, time.Time.Compare)
		for i := range at {
			for j := i; j < len(at); j++ {
				if n := float64(j - i + 1); n > burst+perSecond*at[j].Sub(at[i]).Seconds()+1e-6 {
					t.Fatalf("seed %d: %v requests within %v at %v a second, burst %v", seed, n, at[j].Sub(at[i]), perSecond, burst)
				}
			}
		}
	}
}

func TestSlots(t *testing.T) {
	now := time.Date(2025, 3, 10, 12, 0, 0, 0, time.UTC)
	ask := func(b *gate.Slots, r gate.Reservation, pause time.Time) (ms []int64) {
		r.Within = time.Second
		for _, after := range b.Reserve(r, pause, now).After {
			ms = append(ms, after.Milliseconds())
		}
		return ms
	}
	five := slices.Repeat([]float64{1}, 5)
	for _, c := range []struct {
		name   string
		before gate.Reservation
		asked  gate.Reservation
		pause  time.Duration
		want   []int64
	}{
		{"full at first", gate.Reservation{}, gate.Reservation{PerSecond: 10, Burst: 2, Weights: five}, 0, []int64{0, 0, 100, 200, 300}},
		{"one after the other", gate.Reservation{}, gate.Reservation{PerSecond: 10, Burst: 1, Weights: five}, 0, []int64{0, 100, 200, 300, 400}},
		{"drained", gate.Reservation{}, gate.Reservation{PerSecond: 10, Burst: 2, Weights: five[:3], Drain: true}, 0, []int64{100, 200, 300}},
		{"dear ones", gate.Reservation{}, gate.Reservation{PerSecond: 10, Burst: 2, Weights: []float64{2, 4, 1}}, 0, []int64{0, 200, 500}},
		{"not too far ahead", gate.Reservation{}, gate.Reservation{PerSecond: 2, Burst: 1, Weights: five}, 0, []int64{0, 500, 1000}},
		{"no starting gun", gate.Reservation{}, gate.Reservation{PerSecond: 10, Burst: 5, Weights: five[:3]}, 500 * time.Millisecond, []int64{500, 600, 700}},
		{"the lowest rate counts", gate.Reservation{PerSecond: 5, Burst: 1, Weights: five[:1]}, gate.Reservation{PerSecond: 10, Burst: 9, Weights: five[:2]}, 0, []int64{200, 400}},
	} {
		var b gate.Slots
		if c.before.PerSecond > 0 {
			ask(&b, c.before, time.Time{})
		}
		var pause time.Time
		if c.pause > 0 {
			pause = now.Add(c.pause)
		}
		if got := ask(&b, c.asked, pause); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v ms, want %v", c.name, got, c.want)
		}
	}
}

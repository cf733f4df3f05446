package fault

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		backoff Backoff
		want    []time.Duration // after 0, 1, 2, … failures
	}{
		{Backoff{First: time.Minute, Growth: 2, Longest: 5 * time.Minute},
			[]time.Duration{time.Minute, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}},
		{Backoff{First: 2 * time.Second, Growth: 4, Longest: 10 * time.Minute},
			[]time.Duration{2 * time.Second, 2 * time.Second, 8 * time.Second, 32 * time.Second, 128 * time.Second, 512 * time.Second, 10 * time.Minute}},
		{Backoff{First: time.Minute, Growth: 2, Longest: time.Second}, []time.Duration{time.Second, time.Second}},
		{Backoff{Growth: 2, Longest: time.Second}, []time.Duration{0, 0, 0}},
		{Backoff{First: time.Second, Growth: 1, Longest: time.Minute}, []time.Duration{time.Second, time.Second, time.Second}},
	} {
		for failures, want := range c.want {
			if got := c.backoff.After(failures); got != want {
				t.Errorf("%+v after %d failures: %v, want %v", c.backoff, failures, got, want)
			}
		}
	}
}

// However often something failed, the wait neither shrinks nor passes its limit, and
// the jitter keeps to its share.
func TestBackoffGrowsUpToItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			First: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "first")), Growth: rapid.Float64Range(1, 10).Draw(t, "growth"),
			Longest: time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "longest")), Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
		failures := rapid.IntRange(0, 1_000_000).Draw(t, "failures")
		wait, next := b.After(failures), b.After(failures+1)
		if wait > next || next > b.Longest || wait < min(b.First, b.Longest) {
			t.Fatalf("%v, then %v", wait, next)
		}
		spread := b.Spread(failures, rapid.Float64Range(0, 1).Draw(t, "random"))
		if low, high := float64(wait)*(1-b.Jitter), float64(wait+1)*(1+b.Jitter); float64(spread) < low-1 || float64(spread) > high+1 {
			t.Fatalf("%v is spread to %v, jitter %v", wait, spread, b.Jitter)
		}
	})
}

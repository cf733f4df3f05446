package gate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var t0 = time.Date(2025, 3, 10, 12, 0, 0, 0, time.UTC)

// I11: over any stretch of time no more than burst + rate × time leave.
func TestBucketNeverExceedsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 50).Draw(t, "rate")
		burst := rapid.IntRange(1, 10).Draw(t, "burst")
		b := NewBucket(rate, burst, t0)
		now := t0
		var sent []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "gap")))
			at := b.Ready(1, now)
			if at.Before(now) {
				t.Fatalf("permit in the past: %v before %v", at, now)
			}
			now = at
			b.Take(1, now)
			sent = append(sent, now)
		}
		for i := range sent {
			for j := i; j < len(sent); j++ {
				span := sent[j].Sub(sent[i]).Seconds()
				if n := float64(j - i + 1); n > float64(burst)+rate*span+1e-6 {
					t.Fatalf("%v requests in %.6f s, allowed %v", n, span, float64(burst)+rate*span)
				}
			}
		}
	})
}

func TestShareNeverExceedsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := Limits{
			PerSecond:   rapid.Float64Range(0.1, 100).Draw(t, "rate"),
			Burst:       rapid.IntRange(1, 20).Draw(t, "burst"),
			Concurrency: rapid.IntRange(1, 20).Draw(t, "concurrency"),
		}
		n := rapid.IntRange(1, 30).Draw(t, "processes")
		var rate float64
		var burst, concurrency int
		for rank := range n {
			part := whole.Share(rank, n)
			rate, burst, concurrency = rate+part.PerSecond, burst+part.Burst, concurrency+part.Concurrency
		}
		if rate > whole.PerSecond*1.000001 || burst != whole.Burst || concurrency != whole.Concurrency {
			t.Fatalf("shares of %+v over %d add up to %v/%d/%d", whole, n, rate, burst, concurrency)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":                              0,
		"3":                             3 * time.Second,
		" 1.5 ":                         1500 * time.Millisecond,
		"-4":                            0,
		"soon":                          0,
		"99999999999":                   MaxRetryAfter,
		"NaN":                           0,
		"inf":                           MaxRetryAfter,
		"Mon, 10 Mar 2055 12:00:00 GMT": MaxRetryAfter,
		"Mon, 10 Mar 2025 12:00:30 GMT": 30 * time.Second,
		"Mon, 10 Mar 2025 11:00:00 GMT": 0,
	} {
		if got := RetryAfter(value, t0); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func TestReadHeaders(t *testing.T) {
	got := ReadHeaders(MapHeader{"X-Rate-Limit-Limit": "10", "X-Rate-Limit-Interval": "2s", "X-Concurrency-Limit": "3"}, t0)
	if got.PerSecond != 5 || got.Concurrency != 3 {
		t.Fatalf("got %+v", got)
	}
	if got := ReadHeaders(MapHeader{"X-Rate-Limit-Limit": "many"}, t0); got != (Announced{}) {
		t.Fatalf("nonsense must say nothing, got %+v", got)
	}
}

package slicing

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	counted := func(n int64) Estimate { return Estimate{n, FromCount, true} }
	search := Step{PerRequest: 100, PerSecond: 1}
	hourEach := []Estimate{counted(720_000), counted(720_000), counted(720_000)} // 7200 requests each: an hour at twice the rate
	for name, c := range map[string]struct {
		sizes []Estimate
		steps []Step
		want  string
	}{
		"nothing":             {nil, []Step{search}, "[]"},
		"as the rate allows":  {hourEach, []Step{search}, "[0s 59m0s 1h59m0s]"},
		"a fast upstream":     {hourEach, []Step{{PerRequest: 100, PerSecond: 1000}}, "[]"},
		"within the lead":     {[]Estimate{counted(100), counted(100), counted(100)}, []Step{search}, "[]"},
		"no rate is known":    {hourEach, []Step{{PerRequest: 100}}, "[]"},
		"sizes are not known": {make([]Estimate, 500), []Step{search}, "[]"},
		"sizes are assumed":   {[]Estimate{{1 << 40, FromConstant, false}, {1 << 40, FromConstant, false}}, []Step{search}, "[]"},
		"an assumption between": {[]Estimate{counted(720_000), {1 << 40, FromConstant, false}, counted(1)}, []Step{search},
			"[0s 59m0s 59m0.5s]"},
		"details too": {[]Estimate{counted(7200), counted(1)},
			[]Step{{PerRequest: 7200, PerSecond: 1}, {PerRequest: 1, ByID: true, PerSecond: 1}}, "[0s 59m0.5s]"},
		"not longer than a day": {[]Estimate{counted(1 << 50), counted(1), counted(1)}, []Step{search}, "[0s 24h0m0s 24h0m0s]"},
	} {
		if got := fmt.Sprint(Spread(planned(c.sizes...).Slices, c.steps)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Whoever works as fast as the declared rate allows never finds the queue empty,
// even if slices hold only half of what was expected: every slice is due before
// the requests of the ones ahead of it can have been sent.
func TestSpreadLeavesNobodyIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sizes []Estimate
		for range rapid.IntRange(1, 200).Draw(t, "slices") {
			source := rapid.SampledFrom([]Source{FromCount, FromHistory, FromFirstPage, FromConstant, ""}).Draw(t, "source")
			sizes = append(sizes, Estimate{rapid.Int64Range(0, 1_000_000).Draw(t, "size"), source, false})
		}
		step := Step{PerRequest: rapid.IntRange(1, 1000).Draw(t, "page"), PerSecond: rapid.Float64Range(0.1, 50).Draw(t, "rate")}
		due := Spread(planned(sizes...).Slices, []Step{step})
		if due == nil {
			return
		}
		if due[0] != 0 {
			t.Fatalf("the first slice waits %s", due[0])
		}
		var ahead float64 // requests really needed, half of those expected
		for i, size := range sizes {
			if i > 0 && due[i] < due[i-1] || due[i] > LatestDue {
				t.Fatalf("slice %d is due after %s, the one before after %s", i, due[i], due[max(i, 1)-1])
			}
			if free := time.Duration(ahead / step.PerSecond * float64(time.Second)); due[i] > free {
				t.Fatalf("slice %d is due after %s, workers are free after %s", i, due[i], free)
			}
			if size.isUnknown() || size.Source == FromConstant {
				ahead++
				continue
			}
			ahead += float64(Pages(size.Count, step.PerRequest)) / 2
		}
	})
}

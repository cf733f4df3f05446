package ingest

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A tally is a sum: order and grouping do not matter, nothing gets lost, and what came
// later can be told apart again. No copy changes under another one's hands.
func TestFaultTallyAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels, codes := []fault.Level{fault.Transient, fault.Request, fault.Data, fault.Fatal}, []string{"A", "B", "C"}
		met := map[FaultCount]int{}
		draw := func(name string) (tally FaultTally) {
			for range rapid.IntRange(0, 6).Draw(t, name) {
				level, code, n := rapid.SampledFrom(levels).Draw(t, name), rapid.SampledFrom(codes).Draw(t, name), rapid.IntRange(0, 5).Draw(t, name)
				met[FaultCount{Level: level, Code: code}] += n
				tally = tally.Count(level, code, n, 7)
			}
			return tally
		}
		a, b := draw("a"), draw("b")
		before := a.Add(nil)
		sum := a.Add(b)
		if !reflect.DeepEqual(a, before) {
			t.Fatalf("adding changed %v to %v", before, a)
		}
		if !reflect.DeepEqual(sum, b.Add(a)) {
			t.Fatalf("%v + %v depends on the order", a, b)
		}
		if since := sum.Since(a); !reflect.DeepEqual(since, b) {
			t.Fatalf("%v since %v is %v, want %v", sum, a, since, b)
		}
		total := 0
		for _, level := range levels {
			total += sum.Of(level)
		}
		for of, n := range met {
			total -= n
			if got := times(sum, of); got != n {
				t.Fatalf("%s %s: %d times, want %d", of.Level, of.Code, got, n)
			}
		}
		if total != 0 {
			t.Fatalf("%v: levels do not add up", sum)
		}
	})
}

func times(t FaultTally, of FaultCount) int {
	for _, c := range t {
		if c.Level == of.Level && c.Code == of.Code {
			return c.Times
		}
	}
	return 0
}

package threshold

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const surgeSlot = 5 * time.Minute

// queue returns lengths, one behind the other: how many times each.
func queue(runs ...[2]int64) (out []QueueLength) {
	at := time.Date(2025, 3, 9, 0, 0, 0, 0, time.UTC)
	for _, r := range runs {
		for range r[0] {
			out = append(out, QueueLength{at, r[1]})
			at = at.Add(surgeSlot)
		}
	}
	return out
}

// A queue is too long when it is so for a while, is not so every day, and there is enough to
// compare with.
func TestQueuesThatGrow(t *testing.T) {
	// day is a usual one: 600 tasks at 2 o'clock, done in half an hour.
	day := [][2]int64{{24, 10}, {6, 600}, {258, 10}}
	for name, c := range map[string]struct {
		runs    [][2]int64
		over    bool
		since   int // sample
		shrinks bool
	}{
		"nothing is known":          {nil, false, 0, false},
		"as ever":                   {append(slices.Clone(day), day...), false, 0, false},
		"for a moment":              {append(slices.Clone(day), [2]int64{6, 5000}), false, 0, false},
		"for half an hour":          {append(slices.Clone(day), [2]int64{7, 5000}), true, 288, false},
		"few":                       {[][2]int64{{288, 1}, {12, 400}}, false, 0, false},
		"of nothing":                {[][2]int64{{288, 0}, {12, 501}}, true, 288, false},
		"known for a few hours":     {[][2]int64{{100, 1}, {12, 5000}}, false, 0, false},
		"up and down":               {append(slices.Clone(day), [2]int64{7, 5000}, [2]int64{3, 10}, [2]int64{1, 5000}), true, 288, false},
		"over":                      {append(slices.Clone(day), [2]int64{7, 5000}, [2]int64{4, 10}), false, 0, false},
		"it shrinks":                {append(slices.Clone(day), [2]int64{7, 5000}, [2]int64{2, 4000}), true, 288, true},
		"as long as the day before": {append(slices.Clone(day), [2]int64{12, 5000}, [2]int64{200, 10}, [2]int64{12, 5000}), false, 0, false},
		"it lasts for a day":        {append(slices.Clone(day), [2]int64{288, 5000}), true, 288, false},
	} {
		lengths := queue(c.runs...)
		got, over := FindSurge(lengths, surgeSlot, 30*time.Minute, 500)
		if over != c.over || over && (!got.Since.Equal(lengths[c.since].At) || got.Shrinks != c.shrinks || got.Waiting != lengths[len(lengths)-1].Waiting || got.Most < 500 || got.Usual > got.Most) {
			t.Errorf("%s: %t %+v", name, over, got)
		}
	}
}

// However queues go up and down: none is too long that is short or was always as long, and
// what is found was beyond three deviations.
func TestLawsOfQueuesThatGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs [][2]int64
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			runs = append(runs, [2]int64{rapid.Int64Range(1, 150).Draw(t, "times"), rapid.Int64Range(0, 3000).Draw(t, "waiting")})
		}
		lengths := queue(runs...)
		least := rapid.Int64Range(1, 3000).Draw(t, "least")
		got, over := FindSurge(lengths, surgeSlot, 30*time.Minute, least)
		var longest int64
		for _, l := range lengths {
			longest = max(longest, l.Waiting)
		}
		if over && (longest <= least || got.Most < least || longest <= got.Most || got.Since.Before(lengths[0].At.Add(surgeKnown))) {
			t.Fatalf("%+v", got)
		}
		if _, over := FindSurge(append(slices.Clone(lengths), queueAfter(lengths, 4, 0)...), surgeSlot, 30*time.Minute, least); over {
			t.Fatal("it is empty for twenty minutes, and still too long")
		}
	})
}

// queueAfter goes on with a length for some times.
func queueAfter(lengths []QueueLength, times int, waiting int64) (out []QueueLength) {
	for n := range times {
		out = append(out, QueueLength{lengths[len(lengths)-1].At.Add(time.Duration(n+1) * surgeSlot), waiting})
	}
	return out
}

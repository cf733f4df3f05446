package ingest

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawStatuses is what a run of some answers counted.
func drawStatuses(t *rapid.T, name string) (out StatusTally) {
	for _, status := range rapid.SliceOfN(rapid.SampledFrom([]int{200, 304, 404, 429, 503}), 0, 6).Draw(t, name) {
		out = out.Count(status)
	}
	return out
}

// Every answer is counted once, whatever its status, and an upstream that makes up numbers
// makes the account no longer than HTTP has statuses.
func TestStatusesAreCountedAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOf(rapid.IntRange(-1, 1000)).Draw(t, "answers")
		var got StatusTally
		want := map[int]int{}
		for _, status := range answers {
			before, kept := got, maps.Clone(got)
			got = got.Count(status)
			if !maps.Equal(before, kept) {
				t.Fatalf("counting %d changed a copy: %v", status, before)
			}
			if status < 100 || status > 599 {
				status = OddStatus
			}
			want[status]++
		}
		if !maps.Equal(got, want) || len(got) > 501 {
			t.Fatalf("%v of %v", got, answers)
		}
	})
}

// What runs did after others is what they add (and nothing, if nothing).
func TestStatusesSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawStatuses(t, "a"), drawStatuses(t, "b")
		keptA, keptB := maps.Clone(a), maps.Clone(b)
		if got := a.Add(b).Since(a); !reflect.DeepEqual(got, b) {
			t.Fatalf("%v + %v since the first: %v", a, b, got)
		}
		if got := (RunStats{Statuses: a.Add(b)}).Since(RunStats{Statuses: a}).Statuses; !reflect.DeepEqual(got, b) {
			t.Fatalf("a run: %v", got)
		}
		if !maps.Equal(a, keptA) || !maps.Equal(b, keptB) {
			t.Fatalf("a sum changed its parts: %v, %v", a, b)
		}
	})
}

// An account of an older version has no statuses, which is not the same as none of 200.
func TestStatusesInJSON(t *testing.T) {
	text, err := json.Marshal(RunStats{Statuses: StatusTally{503: 1, 200: 41, 429: 2}})
	if err != nil || !strings.Contains(string(text), `"statuses":{"200":41,"429":2,"503":1}`) {
		t.Errorf("%s, %v", text, err)
	}
	var old RunStats
	if err := json.Unmarshal([]byte(`{"requests":3}`), &old); err != nil || old.Statuses != nil {
		t.Errorf("%+v, %v", old, err)
	}
	if text, err := json.Marshal(old); err != nil || strings.Contains(string(text), "statuses") {
		t.Errorf("%s, %v", text, err)
	}
}

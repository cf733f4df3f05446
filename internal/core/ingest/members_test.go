package ingest

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawMembers is what a run had of the members of a pool.
func drawMembers(t *rapid.T, name string) (out MemberTally) {
	for _, member := range rapid.SliceOfN(rapid.SampledFrom([]string{"library", "physics", "guest"}), 0, 6).Draw(t, name) {
		out = out.Count(member, rapid.IntRange(1, 9).Draw(t, name))
	}
	if rapid.Bool().Draw(t, name) {
		out = out.Add(MemberTally{"physics": {Refused: "HTTP 401"}})
	}
	return out
}

// Requests of members add up whatever the order, a refusal stays, and no sum changes its parts.
func TestMembersAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMembers(t, "a"), drawMembers(t, "b")
		keptA, keptB := maps.Clone(a), maps.Clone(b)
		sum := a.Add(b)
		for _, name := range []string{"library", "physics", "guest"} {
			if sum[name].Requests != a[name].Requests+b[name].Requests || (sum[name].Refused != "") != (a[name].Refused+b[name].Refused != "") {
				t.Fatalf("%v + %v = %v", a, b, sum)
			}
		}
		if !reflect.DeepEqual(sum, b.Add(a)) || !maps.Equal(a, keptA) || !maps.Equal(b, keptB) {
			t.Fatalf("%v + %v = %v", a, b, sum)
		}
		for name, use := range sum.Since(a) {
			if use.Requests != b[name].Requests || use.Refused != "" && a[name].Refused != "" {
				t.Fatalf("%v since %v: %v", sum, a, use)
			}
		}
	})
}

// A run that chose from no pool says nothing of members.
func TestMembersInJSON(t *testing.T) {
	text, err := json.Marshal(RunStats{Members: MemberTally{"physics": {Requests: 2, Refused: "HTTP 403"}, "library": {Requests: 41}}})
	if err != nil || !strings.Contains(string(text), `"members":{"library":{"requests":41},"physics":{"requests":2,"refused":"HTTP 403"}}`) {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(RunStats{}); err != nil || strings.Contains(string(text), "members") {
		t.Errorf("%s, %v", text, err)
	}
}

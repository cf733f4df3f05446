package tmpl

import (
	"maps"
	"slices"
	"testing"
)

// Every variable that a template may use is in the documentation, and no other.
func TestTrust18VariablesAreListed(t *testing.T) {
	listed := map[string][]string{}
	for _, v := range Variables {
		if v.Doc == "" {
			t.Errorf("%s has no explanation", v.Name)
		}
		listed[v.Place] = append(listed[v.Place], v.Name)
	}
	for place, known := range map[string]map[string]any{inRequests: requestVariables, inRules: atomVariables} {
		want := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return name == nowName })
		if place == inRequests {
			want = append(want, paramPrefix+"KEY", sectorPrefix+"NAME", secretPrefix+"NAME")
		}
		if got := listed[place]; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: listed %v\nknown %v", place, got, want)
		}
	}
}

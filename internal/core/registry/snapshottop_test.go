package registry

import (
	"slices"
	"testing"
)

// What stands at the top of a file holds for every endpoint, a snapshot too: such a file
// needs no list of operations at each of its lists.
func TestASnapshotAtTheTopOfAFileHoldsForEveryList(t *testing.T) {
	src, _, err := Decode("top.yaml", []byte(`source: top
name: Lists without dates
http: {baseUrl: https://api.example.org}
filter: {field: read, bounds: NONE}
paging: {type: ONE}
snapshot: {every: P1D}
response: {items: $, id: $.id}
endpoints:
  users: {role: SEARCH, request: {path: /users}}
  projects: {role: SEARCH, request: {path: /projects}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if found := src.Validate(); len(found) > 0 {
		t.Error(found)
	}
	for _, name := range []string{"users", "projects"} {
		if got := src.Operates(name); !slices.Equal(got, []string{opHarvest, opUpdate}) || !src.ReadsWhole(name) {
			t.Errorf("%s serves %v", name, got)
		}
	}
	if got := src.Operates("nobody"); got != nil {
		t.Errorf("an endpoint that is not there serves %v", got)
	}
}

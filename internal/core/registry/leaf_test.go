package registry

import (
	"reflect"
	"testing"
)

// Sorted as texts, m.aB stands between the keys of m.a.
func TestAssembleJoinsKeysThatSortApart(t *testing.T) {
	type nested struct {
		M map[string]map[string]string `json:"m"`
	}
	want := nested{map[string]map[string]string{"a": {"x": "1", "p.q": "2"}, "aB": {"x": "3"}}}
	s := shapeOf(reflect.TypeFor[nested](), nil)
	leaves := leafSet{}
	flattenValue(s, reflect.ValueOf(want), nil, leaves)
	sorted := leaves.sortLeaves()
	if len(sorted) != 3 || sorted[1].Path[1] != "aB" {
		t.Fatalf("leaves %v do not sort apart", sorted)
	}
	var got nested
	assembleValue(s, reflect.ValueOf(&got).Elem(), sorted, 0)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

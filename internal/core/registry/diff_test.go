package registry

import (
	"reflect"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	text := string(read(t, "testdata/good/levels.yaml"))
	edited := strings.NewReplacer(
		"timeout: PT20S", "timeout: 20s\n  connectTimeout: PT3S", // another spelling is no change
		"name: Levels", "name: \"\\tLevels\"",
		"    role: SEARCH", "    supports: [HARVEST, UPDATE]\n    role: SEARCH",
		"value: env:LEVELS_KEY", "value: env:OTHER_KEY",
		"      size: 30\n", "",
	).Replace(text)
	want := []Change{
		{"credentials.main.value", Changed, "env:LEVELS_KEY", "env:OTHER_KEY"},
		{"endpoints.works.supports", Added, "", "[HARVEST, UPDATE]"},
		{"http.connectTimeout", Added, "", "PT3S"},
		{"name", Changed, "Levels", `"\tLevels"`},
		{"operations.BACKFILL.paging.size", Removed, "30", ""},
	}
	before, after := decode(t, text), decode(t, edited)
	if got := Diff(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	for i := range want {
		w := &want[i]
		w.Old, w.New = w.New, w.Old
		w.Kind = map[ChangeKind]ChangeKind{Added: Removed, Removed: Added, Changed: Changed}[w.Kind]
	}
	if got := Diff(after, before); !reflect.DeepEqual(got, want) {
		t.Errorf("backwards: %+v, want\n%+v", got, want)
	}
}

func TestDiffAgainstNothing(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/levels.yaml")))
	added, removed := Diff(nil, src), Diff(src, nil)
	if len(added) != len(src.allLeaves()) || len(removed) != len(added) {
		t.Fatalf("%d added and %d removed, want %d", len(added), len(removed), len(src.allLeaves()))
	}
	for i, c := range added {
		if c.Kind != Added || removed[i] != (Change{c.Path, Removed, c.New, ""}) {
			t.Errorf("%+v and %+v", c, removed[i])
		}
	}
	if Diff(nil, nil) != nil || Diff(src, src) != nil {
		t.Error("nothing differs from itself")
	}
}

func TestEquivalentFilesDoNotDiffer(t *testing.T) {
	one := `
source: same
name: Same
rate: {perSecond: 2, burst: 3}
endpoints:
  list:
    role: SEARCH
    http: {baseUrl: "https://api.example.org", timeout: PT1M}
    window: {size: P7D, earliest: 2000-01-01}
    response: {items: $.items, id: $.id, zone: Etc/UTC, required: [a, b]}
`
	two := `
endpoints:
  list:
    response: {required: ["a", "b"], zone: Z, id: "$.id", items: "$.items"}
    window: {earliest: "2000-01-01T01:00:00+01:00", size: 168h}
    http:
      timeout: 60s
      baseUrl: https://api.example.org
    role: SEARCH
rate: {burst: 3, perSecond: 2.0}
name: "Same"
source: same
`
	if got := Diff(decode(t, one), decode(t, two)); got != nil {
		t.Errorf("%+v", got)
	}
	other := strings.Replace(two, "+01:00", "+02:00", 1)
	if got := Diff(decode(t, one), decode(t, other)); len(got) != 1 {
		t.Errorf("another instant: %+v", got)
	}
}

package registry

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The law of D§5.18: whatever path, of the places that say something the
// strongest decides, and its level is told.
func TestTheStrongestPlaceDecides(t *testing.T) {
	leaves := sectionPaths()
	rapid.Check(t, func(t *rapid.T) {
		leaf := rapid.SampledFrom(leaves).Draw(t, "path")
		narrow := LevelSection
		if leaf.path[0] == "request" || leaf.path[0] == "auth" {
			narrow = LevelEndpoint
		}
		places := []struct {
			prefix Path
			level  Level
		}{ // weakest first
			{nil, LevelProvenance},
			{Path{"endpoints", "works"}, narrow},
			{Path{"operations", "UPDATE"}, LevelOperation},
			{Path{"endpoints", "works", "operations", "UPDATE"}, LevelOperation},
		}
		said := leafSet{}
		for path, value := range map[string]string{"source": "src", "name": "Name"} {
			said.addLeaf(Leaf{Path: Path{path}, Value: value})
		}
		said.addLeaf(Leaf{Path: Path{"endpoints", "works", "role"}, Value: "SEARCH"})
		var want Leaf
		for i, place := range places {
			if !rapid.Bool().Draw(t, place.prefix.String()) {
				continue
			}
			value := drawScalar(t, leaf.shape)
			if isZero(value) {
				continue // the section's own default may decide
			}
			path := append(append(Path{}, place.prefix...), leaf.path...)
			want = Leaf{Path: path, Value: value, Level: place.level, At: Position{"f.yaml", i + 1, 1}}
			said.addLeaf(want)
		}
		for _, prefix := range []Path{{"operations", "HARVEST"}, {"endpoints", "other"}} { // must not matter
			said.addLeaf(Leaf{Path: append(prefix, leaf.path...), Value: drawScalar(t, leaf.shape)})
		}
		said.addLeaf(Leaf{Path: Path{"endpoints", "other", "role"}, Value: "DETAIL"})
		src := sourceOf(said, Origins{})
		var overrides []Override
		if rapid.Bool().Draw(t, "override") {
			want = Leaf{Value: drawScalar(t, leaf.shape), Level: LevelOverride}
			overrides = []Override{{Path: leaf.path, Value: want.Value}}
		}
		r, err := Resolve(src, "works", "UPDATE", overrides)
		if err != nil {
			t.Fatalf("%v", err)
		}
		got, set := r.merged.leaves[leaf.path.String()]
		if set != (want.Value != nil) || set && (got.Level != want.Level || !reflect.DeepEqual(plainValue(got.Value), plainValue(want.Value))) {
			t.Fatalf("%s: %s %v, want %s %v", leaf.path, got.Level, got.Value, want.Level, want.Value)
		}
		if set && want.Level != LevelOverride && got.home != want.Path.String() {
			t.Fatalf("%s: taken from %s, want %s", leaf.path, got.home, want.Path)
		}
	})
}

type sectionPath struct {
	path  Path
	shape *shape
}

// sectionPaths lists every single value a section may hold, with one key of
// each open map.
func sectionPaths() (out []sectionPath) {
	var walk func(s *shape, path Path)
	walk = func(s *shape, path Path) {
		switch s.kind {
		case object:
			for _, f := range s.fields {
				walk(f.shape, path.withKey(f.name))
			}
		case mapping:
			walk(s.elem, path.withKey("key"))
		case scalar:
			out = append(out, sectionPath{path, s})
		}
	}
	walk(sectionsShape(), nil)
	return out
}

func TestLevelsAreSixWords(t *testing.T) {
	var words []string
	for l := LevelPlatform; l <= LevelOverride; l++ {
		words = append(words, l.String())
	}
	if got := strings.Join(words, " "); got != "platform provenance endpoint section operation override" {
		t.Errorf("levels are %s", got)
	}
}

func TestExplainTellsLevelAndPlace(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/levels.yaml")))
	set, err := ParseOverride("rate.burst=7")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(src, "works", "BACKFILL", []Override{set})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range r.Explain() {
		if e.Level != strings.Fields(e.Origin)[0] {
			t.Errorf("%s: level %q, origin %q", e.Path, e.Level, e.Origin)
		}
		seen[e.Level] = true
	}
	for l := LevelPlatform; l <= LevelOverride; l++ {
		if !seen[l.String()] {
			t.Errorf("no value came from the level %s", l)
		}
	}
	if r.Credential.Type != "API_KEY" || r.Credential.Value.String() != "env:LEVELS_KEY" || r.Credential.In != "QUERY" {
		t.Errorf("credential %+v", r.Credential)
	}
	if got := r.Origin("credential.value"); !strings.HasPrefix(got, "provenance (test.yaml:") {
		t.Errorf("credential.value from %s", got)
	}
}

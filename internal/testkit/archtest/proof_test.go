package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// fixture is a package in memory and the places where one rule must find it
// broken; no place means that the rule must be content.
type fixture struct {
	rule   string
	name   string
	dir    string
	source map[string]string
	broken []string
}

// of is a package of one file.
func of(source string) map[string]string { return map[string]string{"a.go": source} }

// inTest is a package of one test file.
func inTest(source string) map[string]string { return map[string]string{"a_test.go": source} }

func importing(paths ...string) string {
	return "package x\n\nimport (\n\"" + strings.Join(paths, "\"\n\"") + "\"\n)\n"
}

const our = modulePath + "/"

func TestEveryRuleCanFailAndCanPass(t *testing.T) {
	failed, passed := map[string]bool{}, map[string]bool{}
	for _, f := range allFixtures() {
		t.Run(f.rule+"/"+f.name, func(t *testing.T) { proveFixture(t, f) })
		if len(f.broken) > 0 {
			failed[f.rule] = true
		} else {
			passed[f.rule] = true
		}
	}
	for _, r := range rules {
		if r.reason == "" {
			t.Errorf("rule %s gives no reason", r.name)
		}
		if !failed[r.name] || !passed[r.name] {
			t.Errorf("rule %s needs a fixture that breaks it and one that keeps it", r.name)
		}
	}
}

func proveFixture(t *testing.T, f fixture) {
	p := pkg{dir: f.dir}
	for _, name := range slices.Sorted(maps.Keys(f.source)) {
		parsed, err := parseFile(path.Join(f.dir, name), []byte(f.source[name]))
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, parsed)
	}
	r, ok := ruleNamed(f.rule)
	if !ok {
		t.Fatalf("there is no rule %s", f.rule)
	}
	var got []string
	for _, v := range r.check(p) {
		got = append(got, v.where)
		for _, part := range []string{v.where, v.what, r.name, r.reason} {
			if message := r.message(v); part == "" || !strings.Contains(message, part) {
				t.Errorf("message %q lacks %q", message, part)
			}
		}
	}
	if strings.Join(got, " ") != strings.Join(f.broken, " ") {
		t.Errorf("found %q, want %q", got, f.broken)
	}
}

func ruleNamed(name string) (rule, bool) {
	for _, r := range rules {
		if r.name == name {
			return r, true
		}
	}
	return rule{}, false
}

// A row of the layer table that nobody can break would be decoration.
func TestEveryLayerRefusesWhatIsAboveIt(t *testing.T) {
	forbidden := map[string][]string{
		"cmd":                     {"internal/daemon", "internal/core/window", "catalog"},
		"internal/cli":            {"cmd/patra", "internal/engine/planner", "internal/engine/operate", "internal/driver/store", "internal/surface/httpapi", "internal/crash"},
		"internal/daemon":         {"internal/cli", "internal/upsim"},
		"internal/engine/inspect": {"internal/engine/planner", "internal/driver/store", "internal/daemon", "internal/crash"},
		"internal/engine":         {"internal/driver/store", "internal/surface/httpapi", "internal/daemon", "catalog"},
		"internal/driver":         {"internal/engine/planner", "internal/surface/httpapi", "internal/daemon", "internal/cli"},
		"internal/surface":        {"internal/engine/planner", "internal/driver/store", "internal/daemon", "internal/cli"},
		"internal/core":           {"internal/engine/planner", "internal/driver/store", "internal/surface/httpapi", "internal/upsim", "catalog"},
		"internal/crash":          {"internal/core/window", "internal/driver/store"},
		"internal/pause":          {"internal/core/window", "internal/crash"},
		"internal/upsim":          {"internal/core/window", "internal/cli", "catalog"},
		"internal/testkit":        {"cmd/patra"},
		"catalog":                 {"internal/core/registry", "internal/cli"},
	}
	for _, l := range layers {
		if len(forbidden[l.folder]) == 0 {
			t.Errorf("layer %s has no import it must refuse", l.folder)
		}
		dir := l.folder + "/x"
		for _, target := range forbidden[l.folder] {
			t.Run(l.folder+" to "+target, func(t *testing.T) {
				proveFixture(t, fixture{"import-direction", "", dir, of(importing(our + target)), []string{dir + "/a.go:4"}})
			})
		}
		for _, target := range l.may {
			t.Run(l.folder+" may "+target, func(t *testing.T) {
				proveFixture(t, fixture{"import-direction", "", dir, of(importing(our + target + "/y")), nil})
			})
		}
	}
}

func TestUnreadableSourceIsAnError(t *testing.T) {
	if _, err := parseFile("a.go", []byte("packag x")); err == nil {
		t.Error("a file that does not parse was accepted, so no rule would look at it")
	}
}

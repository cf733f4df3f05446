package archtest

import "fmt"

// layer is one folder of the house and what its production code may import of
// ours. Test files are free: services are tested against real drivers.
type layer struct {
	folder string
	may    []string
	reason string
}

// D§3: cmd → cli → daemon → {surface, engine, driver} → core. The first row
// that fits a package counts.
var layers = []layer{
	{"cmd", []string{"internal/cli"},
		"a main only passes signals and arguments on; all else must be testable without a process"},
	{"internal/cli", []string{"internal/cli", "internal/daemon", "internal/engine/inspect", "internal/core", "internal/upsim", "catalog"},
		"commands reach engine and driver only through daemon, the one place where they are joined; of inspect they need the types of its answers, and the demo needs its upstream"},
	{"internal/daemon", []string{"internal/daemon", "internal/surface", "internal/engine", "internal/driver", "internal/core", "internal/pause", "catalog"},
		"daemon joins the rooms below it and must run without a command line"},
	{"internal/engine/inspect", []string{"internal/core"},
		"answers for people are computed from small readers alone: whatever shows them must not bring the services that do the work"},
	{"internal/engine", []string{"internal/engine", "internal/core", "internal/crash", "internal/pause"},
		"services see the outside world only through their own small interfaces"},
	{"internal/driver", []string{"internal/driver", "internal/core", "internal/crash", "internal/pause"},
		"a driver fulfils a port; if it knew the engine or a surface it could not be exchanged"},
	{"internal/surface", []string{"internal/surface", "internal/core"},
		"what programs and browsers touch must not depend on how the work is done or stored"},
	{"internal/core", []string{"internal/core"},
		"pure rules are the bottom of the house; anything they import, everybody imports"},
	{"internal/crash", nil,
		"a place to die decides nothing and needs nothing"},
	{"internal/pause", nil,
		"a wait reads the clock, so it cannot stand in core; it decides nothing and needs nothing"},
	{"internal/upsim", []string{"internal/upsim"},
		"the upstream simulator must not share our mistakes, so it knows nothing of ours"},
	{"internal/testkit", []string{"catalog", "internal"},
		"test tools may use every room, but nobody may run a command from them"},
	{"catalog", []string{"catalog"},
		"the bundled sources are data; whoever reads them brings the code"},
}

func layerOf(dir string) (layer, bool) {
	for _, l := range layers {
		if within(dir, l.folder) {
			return l, true
		}
	}
	return layer{}, false
}

func knownLayer(p pkg) []violation {
	if _, ok := layerOf(p.dir); ok {
		return nil
	}
	return []violation{{where: p.dir, what: "folder belongs to no layer; move the package or add a row to layers"}}
}

func importDirection(p pkg) (found []violation) {
	l, ok := layerOf(p.dir)
	if !ok {
		return nil // knownLayer reports it
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			dir, our := ours(importPath(spec))
			if our && !withinAny(dir, l.may) && !within(dir, testkit) {
				found = append(found, violation{f.at(spec), fmt.Sprintf("%s imports %s: %s", l.folder, dir, l.reason)})
			}
		}
	}
	return found
}

// tracer is the one room that knows how spans are recorded and sent.
const tracer = "internal/surface/traces"

func oneTracer(p pkg) (found []violation) {
	if within(p.dir, tracer) || within(p.dir, testkit) {
		return nil
	}
	for _, f := range p.files {
		for _, spec := range f.tree.Imports {
			if imported := importPath(spec); within(imported, "go.opentelemetry.io") && !f.test {
				found = append(found, violation{f.at(spec), "imports " + imported})
			}
		}
	}
	return found
}

const testkit = "internal/testkit"

func testkitOnlyInTests(p pkg) (found []violation) {
	if within(p.dir, testkit) {
		return nil
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			if dir, our := ours(importPath(spec)); our && within(dir, testkit) {
				found = append(found, violation{f.at(spec), "imports " + dir})
			}
		}
	}
	return found
}

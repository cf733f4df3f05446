package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

const core = "internal/core"

// impure are packages that reach outside the process, with all below them.
var impure = []string{"net/http", "database/sql", "os", "log"}

func corePureImports(p pkg) (found []violation) {
	if !within(p.dir, core) {
		return nil
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			if imported := importPath(spec); withinAny(imported, impure) {
				found = append(found, violation{f.at(spec), "imports " + imported})
			}
		}
	}
	return found
}

// inspect is where questions of people are answered.
const inspect = "internal/engine/inspect"

// showing are packages that make or show text for people, with all below them.
var showing = []string{"github.com/spf13/cobra", "github.com/jedib0t/go-pretty", "golang.org/x/term", "text/template", "text/tabwriter", "os", "io", "log"}

func inspectMakesValues(p pkg) (found []violation) {
	if !within(p.dir, inspect) {
		return nil
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			if imported := importPath(spec); withinAny(imported, showing) {
				found = append(found, violation{f.at(spec), "imports " + imported})
			}
		}
	}
	return found
}

// clock are the names of package time that read or wait for the real clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// seeded are the names of math/rand that do not draw from the global source.
var seeded = []string{"New", "NewSource", "NewZipf", "NewPCG", "NewChaCha8", "Rand", "Source", "Source64", "Zipf", "PCG", "ChaCha8"}

func coreNoClock(p pkg) []violation {
	return inCore(p, "time", func(name string) bool { return slices.Contains(clock, name) })
}

func coreNoGlobalRandom(p pkg) []violation {
	isGlobal := func(name string) bool { return !slices.Contains(seeded, name) }
	anything := func(string) bool { return true }
	return slices.Concat(
		inCore(p, "math/rand", isGlobal),
		inCore(p, "math/rand/v2", isGlobal),
		inCore(p, "crypto/rand", anything),
	)
}

func inCore(p pkg, imported string, bad func(name string) bool) (found []violation) {
	if !within(p.dir, core) {
		return nil
	}
	for _, f := range p.files {
		if !f.test {
			found = append(found, uses(f, imported, bad)...)
		}
	}
	return found
}

func noSleepInTests(p pkg) (found []violation) {
	for _, f := range p.files {
		if f.test {
			found = append(found, uses(f, "time", func(name string) bool { return name == "Sleep" })...)
		}
	}
	return found
}

// uses finds mentions of bad names of an imported package, called or not: a
// function passed on as a value will be called by somebody. Renamed imports are
// followed; a dot import is reported itself, because it hides every use.
func uses(f *file, imported string, bad func(name string) bool) (found []violation) {
	for _, spec := range f.tree.Imports {
		if importPath(spec) != imported {
			continue
		}
		local := localName(spec)
		if local == "." {
			found = append(found, violation{f.at(spec), "dot import of " + imported})
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			// A resolved identifier is a variable that shadows the package.
			ident, ok := selector.X.(*ast.Ident)
			if ok && ident.Name == local && ident.Obj == nil && bad(selector.Sel.Name) {
				found = append(found, violation{f.at(selector), "uses " + imported + "." + selector.Sel.Name})
			}
			return true
		})
	}
	return found
}

// localName is the name an import has in its file. A version suffix is not part
// of the package's name.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(strings.TrimSuffix(importPath(spec), "/v2"))
}

package archtest

import (
	"go/ast"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// shownOnly are the settings of a source that steer nothing, and why they may be written.
var shownOnly = map[string]string{
	"query.Field.Description": "it tells whoever reads the file what the field means",
}

const registryCore = "internal/core/registry"

// setting is a key of a source file as Go knows it.
type setting struct{ dir, typ, field string }

// settingsOf lists the keys below a type, each once.
func settingsOf(t reflect.Type, seen map[reflect.Type]bool, add func(setting)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		settingsOf(t.Elem(), seen, add)
	case reflect.Struct:
		dir, our := ours(t.PkgPath())
		if seen[t] || !our {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if tag := f.Tag.Get("json"); f.IsExported() && tag != "" && tag != "-" {
				add(setting{dir, t.Name(), f.Name})
			}
			settingsOf(f.Type, seen, add)
		}
	}
}

// readFields lists the names behind a dot, by folder of the package they may be of: the
// one they stand in and those that their file imports.
func readFields(packages []pkg) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	eachFile(packages, func(p pkg, f *file) {
		dirs := []string{p.dir}
		for _, spec := range f.tree.Imports {
			// The registry binds, merges, stores and shows the keys of others all alike.
			if dir, our := ours(importPath(spec)); our && !within(p.dir, registryCore) {
				dirs = append(dirs, dir)
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				for _, dir := range dirs {
					if out[dir] == nil {
						out[dir] = map[string]bool{}
					}
					out[dir][s.Sel.Name] = true
				}
			}
			return true
		})
	})
	return out
}

// A key that a source file may have does something: whoever writes it must not believe
// in vain that it holds.
func TestEveryKeyOfASourceIsRead(t *testing.T) {
	packages, err := loadModule()
	if err != nil {
		t.Fatal(err)
	}
	read := readFields(packages)
	n := 0
	settingsOf(reflect.TypeFor[registry.Source](), map[reflect.Type]bool{}, func(s setting) {
		n++
		name := s.dir[strings.LastIndex(s.dir, "/")+1:] + "." + s.typ + "." + s.field
		why, listed := shownOnly[name]
		switch used := read[s.dir][s.field]; {
		case !used && !listed:
			t.Errorf("%s: no code reads it: it would be stored and shown, and change nothing", name)
		case used && listed:
			t.Errorf("%s is read, but is listed as shown only (%s)", name, why)
		}
	})
	if n < 150 {
		t.Errorf("only %d keys were found", n)
	}
	t.Logf("%d keys", n)
}

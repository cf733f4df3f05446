package archtest

import (
	"fmt"
	"go/ast"
	"strings"
)

const (
	daemonFolder = "internal/daemon"
	driverFolder = "internal/driver"
)

// daemonShowsNoDriver finds types of drivers in what daemon gives to others: exported
// fields, functions, methods, variables and types, also through an unexported type of
// its own that one of these names.
func daemonShowsNoDriver(p pkg) []violation {
	if !within(p.dir, daemonFolder) {
		return nil
	}
	w := &wall{types: map[string]declared{}, seen: map[string]bool{}}
	for _, f := range p.files {
		if !f.test {
			w.noteTypes(f)
		}
	}
	for _, f := range p.files {
		if !f.test {
			w.checkImports(f)
			w.checkFile(f)
		}
	}
	return w.found
}

// declared is a type of the package, and where it stands.
type declared struct {
	file    *file
	spec    *ast.TypeSpec
	methods []method
}

// method is an exported method of a type, and where it stands.
type method struct {
	file *file
	decl *ast.FuncDecl
}

// wall looks through the exported face of a package.
type wall struct {
	types map[string]declared
	seen  map[string]bool // types that were looked at
	found []violation
}

// noteTypes notes the types and the exported methods of a file by name of the type.
func (w *wall) noteTypes(f *file) {
	for _, decl := range f.tree.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					known := w.types[spec.Name.Name]
					w.types[spec.Name.Name] = declared{f, spec, known.methods}
				}
			}
		case *ast.FuncDecl:
			if decl.Recv != nil && decl.Name.IsExported() {
				name := receiverName(decl)
				known := w.types[name]
				known.methods = append(known.methods, method{f, decl})
				w.types[name] = known
			}
		}
	}
}

// receiverName is the name of the type that a method belongs to.
func receiverName(decl *ast.FuncDecl) string {
	t := decl.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name
}

// checkImports refuses a dot import of a driver: it hides every use.
func (w *wall) checkImports(f *file) {
	for _, spec := range f.tree.Imports {
		if dir, our := ours(importPath(spec)); our && within(dir, driverFolder) && localName(spec) == "." {
			w.found = append(w.found, violation{f.at(spec), "dot import of " + dir})
		}
	}
}

// checkFile looks at what a file exports.
func (w *wall) checkFile(f *file) {
	for _, decl := range f.tree.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				w.checkSpec(f, spec)
			}
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.IsExported() {
				w.checkType(f, decl.Type)
			}
		}
	}
}

// checkSpec looks at an exported type, variable or constant. What a variable is set to
// counts: it may give it its type.
func (w *wall) checkSpec(f *file, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			w.checkDeclared(spec.Name.Name)
		}
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			if !name.IsExported() {
				continue
			}
			if spec.Type != nil {
				w.checkType(f, spec.Type)
			} else if i < len(spec.Values) {
				w.checkType(f, spec.Values[i])
			}
		}
	}
}

// checkDeclared looks once at a type of the package and at its exported methods.
func (w *wall) checkDeclared(name string) {
	d, ours := w.types[name]
	if !ours || w.seen[name] {
		return
	}
	w.seen[name] = true
	if d.spec != nil {
		w.checkType(d.file, d.spec.Type)
	}
	for _, m := range d.methods {
		w.checkType(m.file, m.decl.Type)
	}
}

// checkType looks at everything that others see of a type: of a struct its exported
// and its embedded fields, of an interface its exported methods, of a function all.
func (w *wall) checkType(f *file, t ast.Node) {
	ast.Inspect(t, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if isVisible(field) {
					w.checkType(f, field.Type)
				}
			}
			return false
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && from.Obj == nil {
				w.checkSelector(f, n, from.Name)
			}
			return false
		case *ast.Field: // of a function or an interface: its names are no types
			w.checkType(f, n.Type)
			return false
		case *ast.FuncLit:
			w.checkType(f, n.Type)
			return false
		case *ast.Ident:
			w.checkDeclared(n.Name)
		}
		return true
	})
}

// isVisible tells whether others reach a field, or what it embeds.
func isVisible(field *ast.Field) bool {
	for _, name := range field.Names {
		if name.IsExported() {
			return true
		}
	}
	return len(field.Names) == 0
}

// checkSelector notes a name of a driver's package.
func (w *wall) checkSelector(f *file, n *ast.SelectorExpr, from string) {
	for _, spec := range f.tree.Imports {
		dir, our := ours(importPath(spec))
		if our && within(dir, driverFolder) && from == localName(spec) {
			w.found = append(w.found, violation{f.at(n), fmt.Sprintf("shows %s.%s of %s", from, n.Sel.Name, dir)})
		}
	}
}

func wallFixtures() []fixture {
	driven := func(lines ...string) map[string]string {
		return of("package daemon\nimport \"" + our + "internal/driver/store\"\n" + strings.Join(lines, "\n"))
	}
	at := func(line int) []string { return []string{fmt.Sprintf("%s/a.go:%d", daemonFolder, line)} }
	return []fixture{
		{"daemon-wall", "exported field", daemonFolder, driven("type App struct{ Store *store.Store }"), at(3)},
		{"daemon-wall", "embedded", daemonFolder, driven("type App struct{ *store.Store }"), at(3)},
		{"daemon-wall", "list in a field", daemonFolder, driven("type App struct{ All map[string][]store.Info }"), at(3)},
		{"daemon-wall", "result of a method", daemonFolder, driven("type App struct{}", "func (a *App) Living() ([]store.Info, error) { return nil, nil }"), at(4)},
		{"daemon-wall", "parameter of a method", daemonFolder, driven("type App struct{}", "func (a *App) Note(i store.Info) {}"), at(4)},
		{"daemon-wall", "function", daemonFolder, driven("func Open() *store.Store { return nil }"), at(3)},
		{"daemon-wall", "function as a parameter", daemonFolder, driven("func Each(f func(store.Info)) {}"), at(3)},
		{"daemon-wall", "another name for it", daemonFolder, driven("type Info = store.Info"), at(3)},
		{"daemon-wall", "method of an interface", daemonFolder, driven("type Reader interface{ Info() store.Info }"), at(3)},
		{"daemon-wall", "variable", daemonFolder, driven("var Open = store.New"), at(3)},
		{"daemon-wall", "through a type of its own", daemonFolder, driven("type rows struct{ Store *store.Store }", "type App struct{ Rows *rows }"), at(3)},
		{"daemon-wall", "renamed import", daemonFolder, of("package daemon\nimport db \"" + our + "internal/driver/store\"\ntype App struct{ Store *db.Store }"), at(3)},
		{"daemon-wall", "dot import", daemonFolder, of("package daemon\nimport . \"" + our + "internal/driver/store\""), at(2)},
		{"daemon-wall", "unexported field", daemonFolder, driven("type App struct{ store *store.Store }", "func New() *App { return nil }"), nil},
		{"daemon-wall", "unexported function and type", daemonFolder, driven("type rows struct{ *store.Store }", "func open(s *store.Store) *rows { return nil }"), nil},
		{"daemon-wall", "inside of a function", daemonFolder, driven("func Open() error { var s *store.Store; _ = s; return nil }"), nil},
		{"daemon-wall", "other package of the same name", daemonFolder, of("package daemon\nimport \"example.org/store\"\ntype App struct{ Store *store.Store }"), nil},
		{"daemon-wall", "test file", daemonFolder, inTest("package daemon\nimport \"" + our + "internal/driver/store\"\nfunc Open() *store.Store { return nil }"), nil},
		{"daemon-wall", "other layer", "internal/testkit/x", driven("func Open() *store.Store { return nil }"), nil},
	}
}

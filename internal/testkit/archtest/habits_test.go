package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const (
	maxLines   = 800
	maxMethods = 6
)

var bucketNames = []string{"util", "utils", "common", "helpers", "impl", "base", "misc"}

// onePackageDoc reads the files go doc reads: test files count only where a
// package has nothing else.
func onePackageDoc(p pkg) (found []violation) {
	files := slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return f.test })
	if len(files) == 0 {
		files = p.files
	}
	var documented []*file
	for _, f := range files {
		if f.tree.Doc != nil {
			documented = append(documented, f)
		}
	}
	switch {
	case len(files) == 0:
		return nil
	case len(documented) == 0:
		return []violation{{p.dir, "package " + files[0].name() + " has no package doc"}}
	case len(documented) > 1:
		for _, f := range documented[1:] {
			found = append(found, violation{f.at(f.tree), "second package doc, the first is in " + documented[0].path})
		}
		return found
	}
	f := documented[0]
	want := "Package " + f.name()
	if f.name() == "main" {
		want = "Command " + path.Base(p.dir)
	}
	words := strings.Fields(f.tree.Doc.Text())
	if len(words) < 3 || strings.Join(words[:2], " ") != want {
		return []violation{{f.at(f.tree.Doc), fmt.Sprintf("package doc does not start with %q and a sentence", want)}}
	}
	return nil
}

func shortFiles(p pkg) (found []violation) {
	for _, f := range p.files {
		if f.lines > maxLines && !ast.IsGenerated(f.tree) {
			found = append(found, violation{f.path, fmt.Sprintf("has %d lines, more than %d", f.lines, maxLines)})
		}
	}
	return found
}

func namedForTopic(p pkg) []violation {
	for _, element := range strings.Split(p.dir, "/") {
		if slices.Contains(bucketNames, element) {
			return []violation{{p.dir, "folder is called " + element}}
		}
	}
	for _, f := range p.files {
		if slices.Contains(bucketNames, f.name()) {
			return []violation{{f.at(f.tree.Name), "package is called " + f.name()}}
		}
	}
	return nil
}

func noInit(p pkg) (found []violation) {
	if !within(p.dir, "internal") {
		return nil
	}
	for _, f := range p.files {
		for _, decl := range f.tree.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.Name == "init" {
				found = append(found, violation{f.at(function), "declares func init"})
			}
		}
	}
	return found
}

// smallInterfaces counts the methods an interface declares itself. Those of named
// interfaces it is composed of count where they are declared.
func smallInterfaces(p pkg) (found []violation) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			declared, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			if count := countMethods(declared); count > maxMethods {
				found = append(found, violation{f.at(declared), fmt.Sprintf("interface declares %d methods, more than %d", count, maxMethods)})
			}
			return false
		})
	}
	return found
}

// countMethods includes the methods of interfaces that are embedded without a name.
func countMethods(declared *ast.InterfaceType) (count int) {
	for _, field := range declared.Methods.List {
		count += len(field.Names)
		if inner, ok := field.Type.(*ast.InterfaceType); ok {
			count += countMethods(inner)
		}
	}
	return count
}

const (
	planner        = "internal/engine/planner"
	operationsFile = planner + "/operation.go"
)

var operations = []string{"Harvest", "Backfill", "Update"}

// operationsAskedOnce finds files of the planner that ask which operation they plan,
// besides the one that chooses its value.
func operationsAskedOnce(p pkg) (found []violation) {
	if p.dir != planner {
		return nil
	}
	for _, f := range p.files {
		if !f.test && f.path != operationsFile {
			found = append(found, uses(f, modulePath+"/internal/core/ingest", func(name string) bool { return slices.Contains(operations, name) })...)
		}
	}
	return found
}

// narrowFolders are where structs are kept small.
var narrowFolders = []string{"internal/engine/executor"}

const maxFields = 15

// narrowStructs counts the fields of each struct of these folders. An embedded one is one
// field: it is a value with a meaning of its own.
func narrowStructs(p pkg) (found []violation) {
	if !slices.Contains(narrowFolders, p.dir) {
		return nil
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := declared.Type.(*ast.StructType); ok && fields.Fields.NumFields() > maxFields {
				found = append(found, violation{f.at(declared), fmt.Sprintf("struct %s has %d fields, more than %d", declared.Name.Name, fields.Fields.NumFields(), maxFields)})
			}
			return true
		})
	}
	return found
}

// deliveryChoosers are the functions of the executor that may look whether a source has a
// second step.
var deliveryChoosers = []string{"newDelivery", "PlannedRates"}

// walksChosenOnce finds other functions that ask how the records of a slice come.
func walksChosenOnce(p pkg) (found []violation) {
	if p.dir != "internal/engine/executor" {
		return nil
	}
	for _, f := range p.files {
		for _, decl := range f.tree.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || f.test || slices.Contains(deliveryChoosers, function.Name.Name) {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				if question, ok := n.(*ast.BinaryExpr); ok && isNilQuestion(question, "Detail") {
					found = append(found, violation{f.at(question), function.Name.Name + " asks whether there is a second step"})
				}
				return true
			})
		}
	}
	return found
}

// isNilQuestion reports whether an expression compares a field with nil.
func isNilQuestion(e *ast.BinaryExpr, field string) bool {
	of, isField := e.X.(*ast.SelectorExpr)
	null, isName := e.Y.(*ast.Ident)
	return isField && isName && of.Sel.Name == field && null.Name == "nil"
}

package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest"
)

// A step is safe to redo only if somebody tried it with its answer lost. The
// conformance suite does so for each step it knows; this test reads the source
// for the steps there are.
func TestEveryStepIsTriedWithItsAnswerLost(t *testing.T) {
	written := stepsInSource(t)
	if tried := storetest.Steps(); !reflect.DeepEqual(written, tried) {
		for _, step := range written {
			if !slices.Contains(tried, step) {
				t.Errorf("step %q has no case in storetest's LostAnswers", step)
			}
		}
		for _, step := range tried {
			if !slices.Contains(written, step) {
				t.Errorf("storetest's LostAnswers knows a step %q that is nowhere in the store", step)
			}
		}
	}
}

func stepsInSource(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*/*.go") // the rooms
	if err != nil {
		t.Fatal(err)
	}
	positions := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(positions, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"step", "stepFrom", "leasedStep"}, selector.Sel.Name) || len(call.Args) < 2 {
				return true
			}
			if handed, ok := call.Args[1].(*ast.Ident); ok && handed.Name == "name" {
				return true // by one of the three to the next
			}
			literal, ok := call.Args[1].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the name of a step must be a literal, so that it can be found", positions.Position(call.Pos()))
				return true
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(names, name) {
				t.Errorf("%s: a second step is called %q", positions.Position(call.Pos()), name)
			}
			names = append(names, name)
			return true
		})
	}
	if len(names) < 10 {
		t.Fatalf("only %d steps found: the source was not really read", len(names))
	}
	slices.Sort(names)
	return names
}

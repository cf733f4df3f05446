package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ExportMark relies on one thing: whoever writes versions holds the row of a leased
// task before it takes the id of its batch. This test reads the source for it. Who
// has to change it has to think of another proof first (decision 37).
func TestVersionsAreWrittenUnderTheLockOfATask(t *testing.T) {
	calls := map[string][]string{} // function → what it calls, in order
	var inserts []string
	files, err := filepath.Glob("../*/*.go") // no room may write versions but this one
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok {
						calls[f.Name.Name] = append(calls[f.Name.Name], s.Sel.Name)
					}
				case *ast.BasicLit:
					if n.Value == `"ing_record_body"` || strings.Contains(n.Value, "INTO ing_record_body") || n.Value == `"ing_body_frame"` || strings.Contains(n.Value, "INTO ing_body_frame") {
						inserts = append(inserts, f.Name.Name)
					}
				}
				return true
			})
		}
	}
	only := func(callee, caller string) {
		t.Helper()
		for f, list := range calls {
			if f != caller && slices.Contains(list, callee) {
				t.Errorf("%s is called by %s, expected only %s", callee, f, caller)
			}
		}
		if !slices.Contains(calls[caller], callee) {
			t.Errorf("%s does not call %s any more", caller, callee)
		}
	}
	inserts = slices.DeleteFunc(inserts, func(f string) bool { return f == "MeasureSize" || f == "TakeSample" }) // they name the tables to read them
	if !slices.Equal(inserts, []string{"InsertFrames", "writeVersions"}) {
		t.Errorf("versions are inserted by %v", inserts)
	}
	// Remove writes what is left of a frame, and FoldBodies what stood in rows: neither is new.
	for f, list := range calls {
		if slices.Contains(list, "InsertFrames") && !slices.Contains([]string{"writeFrames", "Remove", "FoldBodies"}, f) {
			t.Errorf("frames are inserted by %s", f)
		}
	}
	only("writeFrames", "writeVersions")
	only("writeVersions", "writeRecords")
	only("writeRecords", "commitBatch")
	only("commitBatch", "CommitBatch")
	before := func(f, first, second string) {
		t.Helper()
		if a, b := slices.Index(calls[f], first), slices.Index(calls[f], second); a < 0 || b < a {
			t.Errorf("%s must call %s before %s", f, first, second)
		}
	}
	before("CommitBatch", "openBatch", "commitBatch")
	only("openBatch", "CommitBatch")
	if !slices.Contains(calls["openBatch"], "fenceLease") {
		t.Error("openBatch must pass the fence, which locks the task")
	}
	// Heads are locked before the batch gets its id, so versions of a record have ids in their order. Where no head
	// is expected, only first versions are written, and whoever writes a second one has read the head of the first.
	before("commitBatch", "knownHeads", "insertBatch")
	only("readHeads", "knownHeads")
	before("commitBatch", "insertBatch", "writeRecords")
}

package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Every kind of finding has its row in docs/findings.md, with its severity and a command,
// and every row is a kind of finding.
func TestFindingsPageIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "findings.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[view.FindingCode][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		code, isCode := strings.CutPrefix(strings.TrimSpace(cells[0]), "`")
		if len(cells) != 5 || !isCode {
			continue
		}
		key := view.FindingCode(strings.TrimSuffix(code, "`"))
		if rows[key] != nil {
			t.Errorf("%s has two rows", key)
		}
		rows[key] = cells
	}
	for _, code := range findingCodes(t) {
		cells := rows[code]
		if cells == nil {
			t.Errorf("%s has no row in docs/findings.md", code)
			continue
		}
		delete(rows, code)
		if got := strings.TrimSpace(cells[1]); got != string(code.Severity()) {
			t.Errorf("%s is %s, the page says %s", code, code.Severity(), got)
		}
		if !strings.Contains(cells[4], "`") || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("the row of %s lacks its command or whether it heals", code)
		}
	}
	for code := range rows {
		t.Errorf("docs/findings.md has a row of %s, which is no finding", code)
	}
}

// findingCodes reads the kinds of findings from their source.
func findingCodes(t *testing.T) (out []view.FindingCode) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), "internal/core/view/finding.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "FindingCode" {
				out = append(out, view.FindingCode(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)))
			}
		}
		return true
	})
	if len(out) < 20 {
		t.Fatalf("only %d kinds were found: the source was not really read", len(out))
	}
	return out
}

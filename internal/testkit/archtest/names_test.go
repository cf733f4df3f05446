package archtest

import (
	"go/ast"
	"regexp"
	"testing"
)

// mostOneWord is the share of functions that may have a name of one word. One word is
// enough for a method such as close or add of a small type; for most functions it is a
// riddle.
const mostOneWord = 0.10

var oneWord = regexp.MustCompile(`^[a-z]+$`)

// countNames counts the functions of a package and those whose name is one unexported
// word. The functions main and init have no other.
func countNames(p pkg) (one, all int) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, d := range f.tree.Decls {
			declared, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			if name := declared.Name.Name; oneWord.MatchString(name) && name != "main" && name != "init" {
				one++
			}
		}
	}
	return one, all
}

// A name says what a function does, verb and object, or the noun it returns: whoever
// looks for the place to change finds it by names alone. The share is logged by
// `go test -v -run OneWord ./internal/testkit/archtest`.
func TestFewFunctionsHaveOneWordNames(t *testing.T) {
	packages, err := loadModule()
	if err != nil {
		t.Fatal(err)
	}
	one, all := 0, 0
	for _, p := range packages {
		o, a := countNames(p)
		one, all = one+o, all+a
		if a >= 20 && o*2 > a {
			t.Errorf("%s: %d of %d functions have a name of one word", p.dir, o, a)
		}
	}
	share := float64(one) / float64(all)
	t.Logf("%d of %d functions have a name of one unexported word: %.1f %%", one, all, 100*share)
	if share >= mostOneWord {
		t.Errorf("%.1f %% of all functions have a name of one word; fewer than %.0f %% may", 100*share, 100*mostOneWord)
	}
}

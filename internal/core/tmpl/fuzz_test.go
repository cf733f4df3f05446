package tmpl

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
)

// Whatever a source file holds: no panic, one line of error, bounded output,
// and the same result twice.
func FuzzCompile(f *testing.F) {
	for code := range examples {
		f.Add("${" + code + "}")
	}
	for _, text := range []string{
		"a${filter.from}b${", "$${x}", "${concat('}', \"x\")}", "${window.from.Unix()}", "${map(ids, #)}", "${let a = 1; a}",
		"${jsonPath('$.a') + 1}", "${v + field}", "${{}", "${[1,2,3][1]}", "${$env}", "${a?.b}", "${1..2}", "${::now()}", "${b'x'}", "${/*}*/1}",
	} {
		f.Add(text)
	}
	vars := sampleVars()
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile(text)
		checkError(t, err)
		if err == nil {
			first, present, err := compiled.Render(vars)
			checkError(t, err)
			second, again, other := compiled.Render(vars)
			if first != second || present != again || (err == nil) != (other == nil) || len(first) > maxRendered {
				t.Fatalf("%q gave %q and then %q", text, first, second)
			}
		}
		if atom, err := CompileAtom(text); err == nil {
			_, err := atom.Render(AtomVars{Field: "f", V: "v", Negated: true})
			checkError(t, err)
		}
		if item, err := CompileItem(text); err == nil {
			value, err := item.Eval(make([]document.Value, len(item.Paths())), nil)
			checkError(t, err)
			checkValue(t, value)
		}
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "goroutine") {
		t.Fatalf("a panic in disguise: %v", err)
	}
}

func checkValue(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case nil, string, int64, float64, bool, time.Time, map[string]any:
	case []any:
		for _, element := range v {
			checkValue(t, element)
		}
	default:
		t.Fatalf("%T is not a promised type", value)
	}
}

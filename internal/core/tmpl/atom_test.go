package tmpl

import (
	"slices"
	"strings"
	"testing"
)

func TestAtom(t *testing.T) {
	vars := AtomVars{Field: "ti", V: "red owl", Quoted: `"red owl"`, Match: "PHRASE", From: "2024", To: "", Negated: true}
	for text, want := range map[string]string{
		"${quoted}[${upper(field)}]":                              `"red owl"[TI]`,
		"${from}:${default(to, '3000')}[dp]":                      "2024:3000[dp]",
		"${if(negated, 'NOT ', '')}${v}":                          "NOT red owl",
		"${match == 'PHRASE' ? quoted : replace(v, ' ', ' OR ')}": `"red owl"`,
		"${exists}": "false",
		"${to}":     "",
	} {
		compiled, err := CompileAtom(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := compiled.Render(vars); err != nil || got != want || compiled.String() != text {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	compiled, err := CompileAtom("${items}${v + field}")
	if err != nil || !slices.Equal(compiled.Names(), []string{"items", "v", "field"}) {
		t.Errorf("%v %v", compiled.Names(), err)
	}
	for text, want := range map[string]string{
		"${value}": "unknown name value", "${page.size}": "page.size", "${now()}": "not available in a query rule",
		"${jsonPath('$.x')}": "not available", "${params.x}": "params.x", "${feild}": "did you mean field",
	} {
		if _, err := CompileAtom(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

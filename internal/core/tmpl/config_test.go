package tmpl

import (
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	if got := (Config{}).WithDefaults(); got.NullPolicy != Omit || got.Validate() != nil {
		t.Errorf("%+v", got)
	}
	for want, c := range map[string]Config{
		"templates.functions: unknown function formatDate: did you mean formatDateTime? (the list is closed)": {Functions: []string{"now", "formatDate"}},
		"templates.functions: unknown function shell: the list is closed: now, ":                              {Functions: []string{"shell"}},
		"templates.nullPolicy: \"omit\" is none of OMIT, EMPTY, FAIL":                                         {NullPolicy: "omit"},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestNarrowedListIsHeld(t *testing.T) {
	narrow := Config{Functions: []string{"lower", "now", "jsonPath"}}
	for text, ok := range map[string]bool{"${lower('X') + 'y'}": true, "${upper('x')}": false, "${if(true, 1, 2)}": false, "${true ? 1 : 2}": true, "${now()}": true} {
		_, err := CompileWith(text, narrow)
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && !strings.Contains(err.Error(), "templates.functions of this source: lower, now, jsonPath") {
			t.Error(err)
		}
	}
	if _, err := CompileAtomWith("${upper(v)}", narrow); err == nil {
		t.Error("a query rule may use more than the source")
	}
	if _, err := CompileItemWith("${upper(jsonPath('$.x'))}", narrow); err == nil {
		t.Error("an output field may use more than the source")
	}
}

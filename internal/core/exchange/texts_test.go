package exchange

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// TestAParameterIsSentOnceForEachOfItsValues: whatever the values hold, they arrive as
// they are and in their order, in a query and in a form.
func TestAParameterIsSentOnceForEachOfItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ -~]{1,8}`), 0, 5).Draw(t, "values")
		for i := range values {
			values[i] = strings.ReplaceAll(values[i], "${", "x")
		}
		for _, method := range []string{"GET", "POST"} {
			request := RequestConfig{Method: method, Path: "/works", Query: map[string]Texts{"a": {"1"}, "include": values, "z": {"${page.token}"}}}
			if method == "POST" {
				request = RequestConfig{Method: method, Path: "/works", Form: request.Query}
			}
			r := renderer(t, Config{}, request)
			got, err := r.Render(tmpl.Vars{Page: tmpl.PageVars{Token: "t"}})
			if err != nil {
				t.Fatal(err)
			}
			sent := got.URL.RawQuery
			if method == "POST" {
				sent = string(got.Body)
			}
			pairs, err := url.ParseQuery(sent)
			if err != nil || !slices.Equal(pairs["include"], values) || pairs["a"][0] != "1" || pairs["z"][0] != "t" {
				t.Fatalf("%s sent %q, of %q", method, sent, values)
			}
		}
	})
}

// TestSeveralValuesAreAnotherSelection: a value more, or another order, asks for something
// else; one value is what it was before a parameter could have several.
func TestSeveralValuesAreAnotherSelection(t *testing.T) {
	of := func(texts ...string) string {
		r := compiled(t, Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/", Query: map[string]Texts{"include": texts}}})
		out, err := r.Selection(tmpl.Vars{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	seen := map[string]bool{}
	for _, texts := range [][]string{{"a"}, {"a", "b"}, {"b", "a"}, {"a,b"}} {
		seen[of(texts...)] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d different selections of 4", len(seen))
	}
	for text, want := range map[string]string{`"a"`: `"a"`, `["a"]`: `"a"`, `["a","b"]`: `["a","b"]`, `[]`: `[]`} {
		var texts Texts
		if err := json.Unmarshal([]byte(text), &texts); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(texts); err != nil || string(out) != want {
			t.Errorf("%s became %s, %v", text, out, err)
		}
	}
}

// TestEveryValueOfASecretParameterIsMasked: evidence has none of them.
func TestEveryValueOfASecretParameterIsMasked(t *testing.T) {
	r := compiled(t, Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/", Query: map[string]Texts{"api_key": {"${params.a}", "${params.b}"}}}})
	got, err := r.Render(tmpl.Vars{Params: map[string]string{"a": "canary-one", "b": "canary-two"}})
	if err != nil {
		t.Fatal(err)
	}
	if shown := DigestRequest(got).URL + got.Describe(); strings.Contains(shown, "canary") || strings.Count(shown, "api_key=***") != 4 {
		t.Error(shown)
	}
}

// TestAParameterIsGivenInOnePlace: several values in one place are meant, the same name in
// two places is a slip.
func TestAParameterIsGivenInOnePlace(t *testing.T) {
	_, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/", Query: map[string]Texts{"include": {"a", "b"}}},
		Params: map[string]Param{"x": {Name: "include"}}})
	if err == nil || !strings.Contains(err.Error(), `request.query.include and params.x both give the parameter "include"`) {
		t.Error(err)
	}
}

package exchange

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func bodyOf(t interface {
	Helper()
	Fatal(...any)
}, text string, policy tmpl.NullPolicy, vars tmpl.Vars) (string, error) {
	t.Helper()
	r, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Templates: tmpl.Config{NullPolicy: policy}, Request: RequestConfig{Method: "POST", Path: "/", Body: text}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := r.Render(vars)
	if err != nil {
		return "", err
	}
	return string(request.Body), nil
}

func TestMembersThatAreEmptyAreLeftOut(t *testing.T) {
	empty, full := tmpl.Vars{}, tmpl.Vars{Page: tmpl.PageVars{Token: `a"b`}, IDs: []string{"x"}}
	for _, c := range []struct{ text, empty, full string }{
		{`{"q": 1.50, "cursor?": "${page.token}"}`, `{"q":1.50}`, `{"q":1.50,"cursor":"a\"b"}`},
		{`{"cursor?": "${page.token}", "q": [1, null, ""]}`, `{"q":[1,null,""]}`, `{"cursor":"a\"b","q":[1,null,""]}`},
		{`{"after?": {"token?": "${page.token}"}, "q": {}}`, `{"q":{}}`, `{"after":{"token":"a\"b"},"q":{}}`},
		{`{"ids?": ${ids}, "n?": 0, "f?": false, "none?": null}`, `{"n":0,"f":false}`, `{"ids":["x"],"n":0,"f":false}`},
		{`[{"cursor?": "${page.token}"}]`, `[{}]`, `[{"cursor":"a\"b"}]`},
		{`{"really??": "", "a?b": ""}`, `{"really?":"","a?b":""}`, `{"really?":"","a?b":""}`},
		{`{"cursor?": "x${page.token}"}`, `{"cursor":"x"}`, `{"cursor":"xa\"b"}`},
		{`{"q": "${page.token}"}`, `{"q": ""}`, `{"q": "a\"b"}`}, // nothing optional: as it was written
	} {
		for vars, want := range map[*tmpl.Vars]string{&empty: c.empty, &full: c.full} {
			if got, err := bodyOf(t, c.text, tmpl.Omit, *vars); err != nil || got != want {
				t.Errorf("%s became %s, %v; want %s", c.text, got, err, want)
			}
		}
	}
}

// Whatever a value holds, an optional member is there with it or is not there at all, and
// nothing else of the body changes.
func TestAnOptionalMemberChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.SampledFrom([]string{"", "?", "x?", `"?":"`, `","y?":"`, "\ue0000\ue001", "null"}).Draw(t, "token")
		query := rapid.String().Draw(t, "query")
		got, err := bodyOf(t, `{"q": "${query}", "in": {"cursor?": "${page.token}", "q": ["${query}"]}}`, tmpl.Omit, tmpl.Vars{Query: query, Page: tmpl.PageVars{Token: token}})
		if err != nil {
			return // not valid UTF-8
		}
		in := map[string]any{"q": []any{query}}
		if token != "" {
			in["cursor"] = token
		}
		var read any
		if err := json.Unmarshal([]byte(got), &read); err != nil || !reflect.DeepEqual(read, map[string]any{"q": query, "in": in}) {
			t.Fatalf("token %q, query %q: %s, %v", token, query, got, err)
		}
	})
}

// Where empty values are refused, those of optional members are not.
func TestOptionalMembersMayBeEmptyWhereOthersMustNot(t *testing.T) {
	if got, err := bodyOf(t, `{"cursor?": {"at": "${page.token}"}, "q": "${query}"}`, tmpl.Fail, tmpl.Vars{Query: "x"}); err != nil || got != `{"cursor":{"at":""},"q":"x"}` {
		t.Error(got, err)
	}
	if got, err := bodyOf(t, `{"cursor?": "${page.token}", "q": "${query}"}`, tmpl.Fail, tmpl.Vars{Page: tmpl.PageVars{Token: "x"}}); err == nil {
		t.Error(got)
	}
}

func TestOptionalMembersAreWrittenOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"a?": "${query}", "a": 1}`:               "request.body: has a member twice, with ? and without",
		`{"a?": "${query}", "${page.token}": 1}`:   "request.body: the name of one member holds ${…}",
		`{"a?": "${query}", "b": {"a": 1, "a":2}}`: "request.body: is not JSON",
	} {
		_, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Method: "POST", Path: "/", Body: text}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A parameter or header with ? is left out where others are sent empty or refused.
func TestOptionalParametersAreLeftOut(t *testing.T) {
	for _, policy := range []tmpl.NullPolicy{tmpl.Omit, tmpl.Empty, tmpl.Fail} {
		r := compiled(t, Parts{Templates: tmpl.Config{NullPolicy: policy}, Request: RequestConfig{Path: "/",
			Query: map[string]Texts{"cursor?": {"${page.token}"}, "list?": {"${page.token}", "b"}, "q??": {"1"}}, Headers: map[string]string{"X-Token?": "${page.token}"}}})
		for token, want := range map[string]string{"": "list=b&q%3F=1", "t": "cursor=t&list=t&list=b&q%3F=1"} {
			got, err := r.Render(tmpl.Vars{Page: tmpl.PageVars{Token: token}})
			if err != nil || got.URL.RawQuery != want || got.Header.Get("X-Token") != token {
				t.Errorf("%s: %v, %v", policy, got, err)
			}
		}
	}
	_, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/", Query: map[string]Texts{"a": {"1"}, "a?": {"2"}}}})
	if err == nil || !strings.Contains(err.Error(), `both give the parameter "a"`) {
		t.Error(err)
	}
	paging := RequestConfig{Query: map[string]Texts{"token?": {"${page.token}"}}, Body: `{"key?": "${page.token}"}`}.PagingParameters()
	if !reflect.DeepEqual(paging, []string{"token", "key"}) {
		t.Error(paging)
	}
}

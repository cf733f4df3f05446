package exchange

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func TestFormValuesStayInTheirField(t *testing.T) {
	r := compiled(t, Parts{
		Request: RequestConfig{Method: "POST", Path: "/search", Form: map[string]Texts{"cursor": {"${page.token}"}, "mailto": {"${contact.email}"}, "db": {"pubmed"}}},
		Params:  map[string]Param{"query": {Name: "term", In: "BODY"}},
	})
	check := func(value string) {
		t.Helper()
		request := rendered(t, r, tmpl.Vars{Query: value, Page: tmpl.PageVars{Token: value}})
		got, err := url.ParseQuery(string(request.Body))
		want := url.Values{"cursor": {value}, "term": {value}, "db": {"pubmed"}}
		if err != nil || !maps.EqualFunc(got, want, slices.Equal) || request.URL.RawQuery != "" || request.Method != "POST" {
			t.Fatalf("%q arrives as %q, %v", value, request.Body, err)
		}
		if request.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Fatal(request.Header)
		}
	}
	for _, value := range hostile {
		check(value)
	}
}

// Within quotes a value becomes part of the text, outside a whole value; the
// JSON around it has the same members whatever the value holds.
func TestJSONValuesStayInTheirPlace(t *testing.T) {
	r := compiled(t, Parts{Request: RequestConfig{Method: "POST", Path: "/search", Body: `{
		"q\"${'x'}": "a ${query} b", "bare": ${query}, "n": ${page.size}, "half": ${page.size / 8}, "s": "${page.size}",
		"yes": ${page.size > 1}, "ids": ${ids}, "none": ${regexFind(query, '^nothing$')}, "at": ${now()}, "esc": "\\${query}\u0041"}`}})
	check := func(t interface{ Fatalf(string, ...any) }, value string) {
		request, err := r.Render(tmpl.Vars{Query: value, Page: tmpl.PageVars{Size: 100}, IDs: []string{value}})
		if !utf8.ValidString(value) {
			if err == nil {
				t.Fatalf("%q gave %s", value, request.Body)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		var got any
		if err := json.Unmarshal(request.Body, &got); err != nil {
			t.Fatalf("%q gave %s: %v", value, request.Body, err)
		}
		want := map[string]any{
			`q"x`: "a " + value + " b", "bare": value, "n": 100.0, "half": 12.5, "s": "100", "yes": true,
			"ids": []any{value}, "none": nil, "at": "0001-01-01T00:00:00Z", "esc": `\` + value + "A",
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q arrives as %s", value, request.Body)
		}
	}
	for _, value := range append(hostile, `"}`, `", "evil": "1`, "1, \"evil\": 2", `\`, `\"`, `null`, "\u2028", "</script>") {
		check(t, value)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringN(1, 40, -1).Draw(t, "value")) })
}

func TestBodyTexts(t *testing.T) {
	for name, c := range map[string]struct {
		request RequestConfig
		want    string
		sent    string // content type
	}{
		"json by default": {RequestConfig{Body: `{"q":"${query}"}`}, `{"q":"a\"b"}`, "application/json"},
		"json dialect":    {RequestConfig{Body: `["${query}"]`, ContentType: "application/vnd.api+json; charset=utf-8"}, `["a\"b"]`, "application/vnd.api+json; charset=utf-8"},
		"plain text":      {RequestConfig{Body: `q=${query}`, ContentType: "text/plain"}, `q=a"b`, "text/plain"},
		"no body":         {RequestConfig{}, "", ""},
	} {
		c.request.Method, c.request.Path = "POST", "/"
		got := rendered(t, compiled(t, Parts{Request: c.request}), tmpl.Vars{Query: `a"b`})
		if string(got.Body) != c.want || got.Header.Get("Content-Type") != c.sent {
			t.Errorf("%s: %s %v", name, got.Body, got.Header)
		}
	}
}

func TestBodyFollowsTheNullPolicy(t *testing.T) {
	parts := Parts{Request: RequestConfig{Method: "POST", Path: "/", Body: `{"a":"${query}","b":${query}}`}}
	if got := rendered(t, compiled(t, parts), tmpl.Vars{}); string(got.Body) != `{"a":"","b":""}` {
		t.Errorf("%s", got.Body)
	}
	parts.Templates.NullPolicy = tmpl.Fail
	if _, err := compiled(t, parts).Render(tmpl.Vars{}); err == nil || !strings.HasPrefix(err.Error(), "request.body: ") {
		t.Error(err)
	}
}

// A text in a JSON body must not start in one ${…} and end in another.
func TestBrokenJSONBodies(t *testing.T) {
	for _, body := range []string{`{"a": "\${query}"}`, `{"a": "${query}`, `{"a": x${query}}`, `${query}${query}`, `{${query}}`, `{"a": "${query}"${query}"}`, `{"a":1${page.size}}`} {
		if _, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Method: "POST", Path: "/", Body: body}}); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
}

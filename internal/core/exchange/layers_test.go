package exchange

import (
	"errors"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func compiled(t testing.TB, p Parts) *Renderer {
	t.Helper()
	if p.HTTP.BaseURL == "" {
		p.HTTP.BaseURL = "https://api.example.org/v1"
	}
	r, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rendered(t testing.TB, r *Renderer, vars tmpl.Vars) *Request {
	t.Helper()
	request, err := r.Render(vars)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// §4.8: the values of the slice, then the source, then the endpoint, then the
// parameters of the run; the later one wins.
func TestLaterLayersWin(t *testing.T) {
	source := map[string]string{"X-One": "source ${page.size}", "x-two": "source", "X-Three": "source"}
	endpoint := map[string]string{"X-Two": "endpoint ${filter.from}", "X-Three": "endpoint"}
	r := compiled(t, Parts{
		HTTP: Config{Headers: source}, Request: RequestConfig{Path: "/", Headers: endpoint},
		Params: map[string]Param{"three": {Name: "x-three", In: "HEADER"}},
	})
	vars := tmpl.Vars{Page: tmpl.PageVars{Size: 5}, Filter: tmpl.FilterVars{From: "2024"}, Params: map[string]string{"three": "run"}}
	got := rendered(t, r, vars).Header
	if got.Get("X-One") != "source 5" || got.Get("X-Two") != "endpoint 2024" || got.Get("X-Three") != "run" || len(got) != 3 {
		t.Errorf("%v", got)
	}
	vars.Params = nil // a parameter that nobody emitted leaves the layer below
	if got := rendered(t, r, vars).Header; got.Get("X-Three") != "endpoint" {
		t.Errorf("%v", got)
	}
}

func TestParams(t *testing.T) {
	shout := func(code, value string) (string, error) {
		if code != "SHOUT" || value == "bad" {
			return "", errors.New("no such value")
		}
		return strings.ToUpper(value), nil
	}
	r := compiled(t, Parts{
		Request: RequestConfig{Path: "/search", Query: map[string]Texts{"rows": {"${page.size}"}}},
		Params: map[string]Param{
			"query": {Name: "term", Required: true}, "from": {Name: "mindate", Transform: "SHOUT"},
			"size": {Name: "retmax", In: "QUERY", Default: "${page.size + 1}"}, "none": {Name: "never", Default: "${contact.email}"},
			"lang": {Name: "Accept-Language", In: "HEADER", Default: "en"},
		},
		Transform: shout,
	})
	vars := tmpl.Vars{Page: tmpl.PageVars{Size: 5}, Query: "a&b", Params: map[string]string{"from": "q", "unknown": "x"}}
	got := rendered(t, r, vars)
	if got.URL.RawQuery != "mindate=Q&retmax=6&rows=5&term=a%26b" || got.Header.Get("Accept-Language") != "en" {
		t.Errorf("%s %v", got.URL.RawQuery, got.Header)
	}
	vars.Params = map[string]string{"from": "bad"}
	if _, err := r.Render(vars); err == nil || !strings.HasPrefix(err.Error(), "params.from: ") {
		t.Error(err)
	}
	vars.Query, vars.Params = "", nil
	if _, err := r.Render(vars); err == nil || !strings.Contains(err.Error(), `params.query: the request needs "term"`) {
		t.Error(err)
	}
}

func TestNullPolicy(t *testing.T) {
	request := RequestConfig{Path: "/", Query: map[string]Texts{"mailto": {"${contact.email}"}, "fixed": {""}, "note": {"x${contact.email}"}}, Headers: map[string]string{"From": "${contact.email}"}}
	parts := Parts{Request: request, Params: map[string]Param{"a": {Name: "a"}, "b": {Name: "b", Default: "${contact.email}"}}}
	for policy, want := range map[tmpl.NullPolicy]string{
		"": "fixed=&note=x", tmpl.Omit: "fixed=&note=x", tmpl.Empty: "b=&fixed=&mailto=&note=x",
	} {
		parts.Templates.NullPolicy = policy
		got := rendered(t, compiled(t, parts), tmpl.Vars{})
		_, from := got.Header["From"]
		if got.URL.RawQuery != want || from != (policy == tmpl.Empty) {
			t.Errorf("%s: %s %v", policy, got.URL.RawQuery, got.Header)
		}
	}
	parts.Templates.NullPolicy = tmpl.Fail
	r := compiled(t, parts)
	if _, err := r.Render(tmpl.Vars{}); err == nil || !strings.Contains(err.Error(), "params.b: ") || !strings.Contains(err.Error(), "FAIL") {
		t.Error(err)
	}
	if got := rendered(t, r, tmpl.Vars{Contact: tmpl.ContactVars{Email: "e"}}); got.URL.RawQuery != "b=e&fixed=&mailto=e&note=xe" {
		t.Error(got.URL)
	}
}

func TestCompileRefuses(t *testing.T) {
	get := func(change func(*Parts)) Parts {
		p := Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/works", Query: map[string]Texts{"rows": {"1"}}}}
		change(&p)
		return p
	}
	post := func(change func(*Parts)) Parts {
		return get(func(p *Parts) { p.Request.Method = "POST"; change(p) })
	}
	for want, p := range map[string]Parts{
		`request.query.rows and params.size both give the parameter "rows"`: get(func(p *Parts) { p.Params = map[string]Param{"size": {Name: "rows"}} }),
		`params.a and params.b both give the parameter "x"`:                 get(func(p *Parts) { p.Params = map[string]Param{"a": {Name: "x"}, "b": {Name: "x"}} }),
		`params.a and params.b both give the header "X-A"`: get(func(p *Parts) {
			p.Params = map[string]Param{"a": {Name: "x-a", In: "HEADER"}, "b": {Name: "X-A", In: "HEADER"}}
		}),
		"params.a.name: is missing":                            get(func(p *Parts) { p.Params = map[string]Param{"a": {}} }),
		`params.a.in: "PATH" is none of`:                       get(func(p *Parts) { p.Params = map[string]Param{"a": {Name: "x", In: "PATH"}} }),
		"params.a.default: template":                           get(func(p *Parts) { p.Params = map[string]Param{"a": {Name: "x", Default: "${nix}"}} }),
		"params.a.transform: T is not available":               get(func(p *Parts) { p.Params = map[string]Param{"a": {Name: "x", Transform: "T"}} }),
		"params.a: GET has no body":                            get(func(p *Parts) { p.Params = map[string]Param{"a": {Name: "x", In: "BODY"}} }),
		"request.method: GET has no body":                      get(func(p *Parts) { p.Request.Body = "{}" }),
		"request.method: \"PUT\" is neither":                   get(func(p *Parts) { p.Request.Method = "PUT" }),
		"request.contentType: GET":                             get(func(p *Parts) { p.Request.ContentType = "application/json" }),
		`request.neutral: the request has no parameter "sort"`: get(func(p *Parts) { p.Request.Neutral = []string{"rows", "sort"} }),
		"templates.functions: unknown function lowr":           get(func(p *Parts) { p.Templates.Functions = []string{"lowr"} }),
		"request.query.rows: template": get(func(p *Parts) {
			p.Templates.Functions = []string{"lower"}
			p.Request.Query["rows"] = Texts{"${upper('x')}"}
		}),
		"request.path: a path holds no ?":                         get(func(p *Parts) { p.Request.Path = "/works?rows=1" }),
		"request.path: starts with //":                            get(func(p *Parts) { p.Request.Path = "//evil.example/x" }),
		"climbs out of the base URL":                              get(func(p *Parts) { p.Request.Path = "/a/../b" }),
		"request.headers.host: the header Host is set":            get(func(p *Parts) { p.Request.Headers = map[string]string{"host": "evil"} }),
		`http.headers.X Y: "X Y" is not a header name`:            get(func(p *Parts) { p.HTTP.Headers = map[string]string{"X Y": "1"} }),
		"request.body and request.form.a: a request has one body": post(func(p *Parts) { p.Request.Body = "{}"; p.Request.Form = map[string]Texts{"a": {"1"}} }),
		"request.body and params.a: a request has one body":       post(func(p *Parts) { p.Request.Body = "{}"; p.Params = map[string]Param{"a": {Name: "x", In: "BODY"}} }),
		`request.contentType: "application/xml"`:                  post(func(p *Parts) { p.Request.Body = "<a/>"; p.Request.ContentType = "application/xml" }),
		"request.contentType: text/plain needs request.body":      post(func(p *Parts) { p.Request.ContentType = "text/plain" }),
		"request.body: is not JSON":                               post(func(p *Parts) { p.Request.Body = `{"a": ${query}, "b"}` }),
		"request.body: template":                                  post(func(p *Parts) { p.Request.Body = `{"a": ${nix}}` }),
	} {
		if _, err := Compile(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package exchange

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Each part that next names replaces the one of the first request, and the others stay.
func TestNextReplacesParts(t *testing.T) {
	first := RequestConfig{Method: "POST", Path: "/search", Query: map[string]Texts{"a": {"1"}, "b": {"${query}"}}, Headers: map[string]string{"X-One": "1", "X-Two": "2"},
		Body: `{"q": "${filter.from}"}`, Neutral: []string{"a"}}
	params := map[string]Param{"p": {Name: "p", Default: "x"}, "h": {Name: "X-Param", In: "HEADER", Default: "y"}}
	vars := tmpl.Vars{Query: "q", Filter: tmpl.FilterVars{From: "2024"}, Page: tmpl.PageVars{Token: "t&"}}
	for name, c := range map[string]struct {
		next NextRequest
		want string
	}{
		"body":    {NextRequest{Body: `{"id": "${page.token}"}`}, `POST https://h/search?a=1&b=q&p=x 1 2 y application/json {"id": "t&"}`},
		"form":    {NextRequest{Form: map[string]Texts{"id": {"${page.token}"}}}, `POST https://h/search?a=1&b=q&p=x 1 2 y application/x-www-form-urlencoded id=t%26`},
		"query":   {NextRequest{Query: map[string]Texts{"id": {"${page.token}"}}}, `POST https://h/search?id=t%26 1 2 y application/json {"q": "2024"}`},
		"path":    {NextRequest{Path: "/scroll/${page.token}"}, `POST https://h/scroll/t&?a=1&b=q&p=x 1 2 y application/json {"q": "2024"}`},
		"headers": {NextRequest{Headers: map[string]string{"x-two": "${page.token}"}}, `POST https://h/search?a=1&b=q&p=x 1 t& y application/json {"q": "2024"}`},
		"get":     {NextRequest{Method: "GET", Path: "/scroll", Query: map[string]Texts{"id": {"${page.token}"}}}, `GET https://h/scroll?id=t%26 1 2 y  `},
		"emptied": {NextRequest{Query: map[string]Texts{"none?": {""}}, Body: `{}`}, `POST https://h/search 1 2 y application/json {}`},
	} {
		request := first
		request.Next = c.next
		r, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: request, Params: params, Templates: tmpl.Config{}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := r.Later().Render(vars)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h := got.Header
		if text := strings.Join([]string{got.Method, got.URL.String(), h.Get("X-One"), h.Get("X-Two"), h.Get("X-Param"), h.Get("Content-Type"), string(got.Body)}, " "); text != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, text, c.want)
		}
		one, err := r.Render(vars)
		if err != nil || !strings.Contains(string(one.Body), "2024") || one.URL.RawQuery != "a=1&b=q&p=x" {
			t.Errorf("%s changed the first request: %v, %v", name, one, err)
		}
	}
}

// What is asked for is said by the first request: next does not start another watermark.
func TestNextSelectsNothing(t *testing.T) {
	of := func(n NextRequest) string {
		r := compiled(t, Parts{Request: RequestConfig{Path: "/", Query: map[string]Texts{"a": {"1"}}, Next: n}})
		out, err := r.Selection(tmpl.Vars{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if of(NextRequest{}) != of(NextRequest{Query: map[string]Texts{"b": {"${page.token}"}}}) {
		t.Error("another selection")
	}
}

func TestNextIsRefusedWhereItCannotBeSent(t *testing.T) {
	for want, n := range map[string]NextRequest{
		"request.next: request.method: GET has no body":       {Method: "GET", Body: "{}"},
		"request.next: request.body: is not JSON":             {Method: "POST", Body: "{"},
		"request.next: request.path: ":                        {Path: "//evil"},
		"request.next: request.headers.Host: the header":      {Headers: map[string]string{"Host": "x"}},
		"request.next: request.query.a: template":             {Query: map[string]Texts{"a": {"${nix}"}}},
		"request.next: request.contentType: text/plain needs": {Method: "POST", ContentType: "text/plain"},
	} {
		_, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: RequestConfig{Path: "/", Next: n}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

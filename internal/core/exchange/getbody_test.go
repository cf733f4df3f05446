package exchange

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// A GET has a body where the source says so, and nowhere else; it is masked as every body is, and not sent on.
func TestABodyWithGetIsSaid(t *testing.T) {
	request := RequestConfig{Path: "/search", BodyWithGet: true, Body: `{"q": "${query}", "api_key": "${params.k}"}`}
	r := compiled(t, Parts{Request: request})
	got, err := r.Render(tmpl.Vars{Query: "x", Params: map[string]string{"k": "canary-key"}})
	if err != nil || got.Method != "GET" || string(got.Body) != `{"q": "x", "api_key": "canary-key"}` || got.Header.Get("Content-Type") != "application/json" {
		t.Fatal(got, err)
	}
	if shown := got.Describe() + DigestRequest(got).Body; strings.Contains(shown, "canary") || strings.Count(shown, `"q":"x"`) != 2 {
		t.Error(shown)
	}
	got.AllowRedirects = true
	if next, err := Redirected(got, &Response{Status: 302, Header: Header{"Location": {"/elsewhere"}}}, 0); next != nil || err != nil {
		t.Error("the body was sent on:", next, err)
	}
	other := compiled(t, Parts{Request: RequestConfig{Path: "/search", BodyWithGet: true, Body: `{"q": "other"}`}})
	one, _ := r.Selection(tmpl.Vars{})
	two, _ := other.Selection(tmpl.Vars{})
	if one == two {
		t.Error("another body is the same selection")
	}
	for want, c := range map[string]RequestConfig{
		"request.method: GET has no body":                       {Path: "/", Body: "{}"},
		"request.bodyWithGet: there is no body to send":         {Path: "/", BodyWithGet: true},
		"request.bodyWithGet: the method is POST":               {Path: "/", Method: "POST", BodyWithGet: true, Body: "{}"},
		"request.contentType: text/plain needs request.body":    {Path: "/", BodyWithGet: true, Form: map[string]Texts{"a": {"b"}}, ContentType: "text/plain"},
		"request.method: GET has no body: use method POST with": {Path: "/", Form: map[string]Texts{"a": {"b"}}},
	} {
		if _, err := Compile(Parts{HTTP: Config{BaseURL: "https://h"}, Request: c}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

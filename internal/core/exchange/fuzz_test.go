package exchange

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Whatever values hold, a request has the same host, segments, parameters,
// headers and members, or there is no request.
func FuzzRender(f *testing.F) {
	for _, value := range hostile {
		f.Add(value, "x")
		f.Add("x", value)
	}
	fields := map[string]Texts{"a": {"${page.token}"}, "b": {"x${query}y"}, "c": {"${params.p}"}, "d": {"${page.size}"}}
	params := func(in string) map[string]Param {
		return map[string]Param{"query": {Name: "q", In: in, Required: true}, "p": {Name: "h", In: "HEADER", Required: true}}
	}
	http := Config{BaseURL: "https://api.example.org/v1", Headers: map[string]string{"X-Query": "${query}"}}
	path := "/a/${page.token}/b-${query}.json"
	get := compiled(f, Parts{HTTP: http, Request: RequestConfig{Path: path, Query: fields}, Params: params("QUERY")})
	form := compiled(f, Parts{HTTP: http, Request: RequestConfig{Method: "POST", Path: path, Form: fields}, Params: params("BODY")})
	body := compiled(f, Parts{HTTP: http, Request: RequestConfig{Method: "POST", Path: path, Body: `{"a":"${page.token}","b":["x${query}",${params.p}]}`}})

	f.Fuzz(func(t *testing.T, token, query string) {
		vars := tmpl.Vars{Page: tmpl.PageVars{Token: token, Size: 5}, Query: query, Params: map[string]string{"p": token}}
		clean := token != "" && query != "" && utf8.ValidString(token) && utf8.ValidString(query) && !strings.Contains(token+query, "..") &&
			token != "." && !strings.ContainsFunc(token+query, func(c rune) bool { return c < ' ' || c == 0x7f })
		for _, r := range []*Renderer{get, form, body} {
			request, err := r.Render(vars)
			if err != nil {
				if clean {
					t.Fatalf("%q %q: %v", token, query, err)
				}
				continue
			}
			checkShape(t, request, r == get)
			switch r {
			case get:
				checkFields(t, request.URL.RawQuery, token, query)
			case form:
				checkFields(t, string(request.Body), token, query)
			default:
				var got struct {
					A string
					B []string
				}
				if err := json.Unmarshal(request.Body, &got); err != nil || got.A != token || len(got.B) != 2 || got.B[0] != "x"+query || got.B[1] != token {
					t.Fatalf("%q %q: body %s, %v", token, query, request.Body, err)
				}
			}
		}
	})
}

func checkShape(t *testing.T, request *Request, get bool) {
	t.Helper()
	sent, err := url.Parse(request.URL.String())
	if err != nil {
		t.Fatal(err)
	}
	segments := strings.Split(sent.EscapedPath(), "/")
	if sent.Scheme != "https" || sent.Host != "api.example.org" || sent.User != nil || sent.Fragment != "" || len(segments) != 5 ||
		segments[1] != "v1" || segments[2] != "a" || !strings.HasPrefix(segments[4], "b-") || !strings.HasSuffix(segments[4], ".json") {
		t.Fatalf("the target is %s", sent)
	}
	if resolved := sent.JoinPath(); len(strings.Split(resolved.EscapedPath(), "/")) != 5 {
		t.Fatalf("%s resolves to %s", sent, resolved)
	}
	headers := 3
	if get {
		headers = 2
	}
	if _, h := request.Header["H"]; !h {
		headers-- // the JSON body takes the parameter itself
	}
	if len(request.Header) != headers {
		t.Fatalf("headers %q", request.Header)
	}
	for _, values := range request.Header {
		if len(values) != 1 || strings.ContainsAny(values[0], "\r\n\x00") {
			t.Fatalf("headers %q", request.Header)
		}
	}
}

func checkFields(t *testing.T, encoded, token, query string) {
	t.Helper()
	got, err := url.ParseQuery(encoded)
	if err != nil || len(got) != 5 || strings.Count(encoded, "&") != 4 || strings.Count(encoded, "=") != 5 {
		t.Fatalf("%q %q became %s, %v", token, query, encoded, err)
	}
	for name, want := range map[string]string{"a": token, "b": "x" + query + "y", "c": token, "d": "5", "q": query} {
		if len(got[name]) != 1 || got.Get(name) != want {
			t.Fatalf("%s of %q %q is %q", name, token, query, got[name])
		}
	}
}

package exchange

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func renderer(t interface {
	Helper()
	Fatal(...any)
}, http Config, request RequestConfig) *Renderer {
	t.Helper()
	if http.BaseURL == "" {
		http.BaseURL = "https://api.example.org/v1"
	}
	r, err := NewRenderer(http.WithDefaults(), request)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func token(text string) tmpl.Vars { return tmpl.Vars{Page: tmpl.PageVars{Token: text, Size: 100}} }

// Values as an upstream or a user might hand them over to break out of their place.
var hostile = []string{
	"a&api_key=stolen", "a=b", "a#b", "a?b=c", "a b+c", "100%", "%2e%2e%2f", "a\r\nX-Evil: 1", "a\x00b", "../../etc", "//evil.example", "a/../b",
	"ünïcødé 漢字 🦉", "\xff\xfe", `"quoted"`, `a\b`, ";", ",", "${contact.email}", "a\tb",
}

// A23: whatever a value holds, it arrives as this one parameter.
func TestQueryValuesStayInTheirParameter(t *testing.T) {
	r := renderer(t, Config{}, RequestConfig{Path: "/works", Query: map[string]Texts{"cursor": {"${page.token}"}, "rows": {"${page.size}"}, "filter": {"from:${page.token},x"}}})
	check := func(t interface {
		Helper()
		Fatalf(string, ...any)
	}, value string) {
		t.Helper()
		request, err := r.Render(token(value))
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		sent, err := url.Parse(request.URL.String())
		if err != nil {
			t.Fatalf("%q gave %s: %v", value, request.URL, err)
		}
		if sent.Host != "api.example.org" || sent.Path != "/v1/works" || sent.Scheme != "https" || sent.Fragment != "" || sent.User != nil {
			t.Fatalf("%q changed the target to %s", value, sent)
		}
		got := sent.Query()
		want := url.Values{"cursor": {value}, "rows": {"100"}, "filter": {"from:" + value + ",x"}}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q arrives as %q, want %q", value, got, want)
		}
		if strings.ContainsAny(request.URL.String(), "\r\n\x00 ") {
			t.Fatalf("%q: raw control characters in %q", value, request.URL.String())
		}
	}
	for _, value := range hostile {
		check(t, value)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringN(1, 40, -1).Draw(t, "value")) })
}

func TestEmptyParametersAreLeftOut(t *testing.T) {
	r := renderer(t, Config{Headers: map[string]string{"From": "${contact.email}"}}, RequestConfig{
		Path:  "works",
		Query: map[string]Texts{"mailto": {"${contact.email}"}, "note": {"by ${contact.email}"}, "fixed": {""}, "cursor": {`${coalesce(page.token, "*")}`}},
	})
	request, err := r.Render(tmpl.Vars{})
	if err != nil {
		t.Fatal(err)
	}
	if got := request.URL.RawQuery; got != "cursor=%2A&fixed=&note=by+" {
		t.Errorf("query %s", got)
	}
	if len(request.Header) != 0 {
		t.Errorf("headers %v", request.Header)
	}
	request, err = r.Render(tmpl.Vars{Contact: tmpl.ContactVars{Email: "me@example.org"}})
	if err != nil || request.Header.Get("from") != "me@example.org" || request.URL.Query().Get("mailto") != "me@example.org" {
		t.Errorf("%v %v %v", request.URL, request.Header, err)
	}
}

// A23: a value stays within its segment of the path.
func TestPathStaysBelowTheBase(t *testing.T) {
	r := renderer(t, Config{}, RequestConfig{Path: "/works/${page.token}"})
	for value, want := range map[string]string{
		"10.1%2Fx":      "https://api.example.org/v1/works/10.1%252Fx",
		"a?b=c#d":       "https://api.example.org/v1/works/a%3Fb=c%23d",
		"a b":           "https://api.example.org/v1/works/a%20b",
		"ü":             "https://api.example.org/v1/works/%C3%BC",
		"a\r\nHost: x":  "https://api.example.org/v1/works/a%0D%0AHost:%20x",
		"..%2f..%2fetc": "https://api.example.org/v1/works/..%252f..%252fetc",
		`..\..\etc`:     `https://api.example.org/v1/works/..%5C..%5Cetc`,
		"...":           "https://api.example.org/v1/works/...",
		"10.1/x":        "https://api.example.org/v1/works/10.1%2Fx",
		"//evil":        "https://api.example.org/v1/works/%2F%2Fevil",
		"%2e%2e":        "https://api.example.org/v1/works/%252e%252e",
	} {
		request, err := r.Render(token(value))
		if err != nil || request.URL.String() != want {
			t.Errorf("%q: %v %v, want %s", value, request, err, want)
		}
	}
	for _, value := range []string{"..", ".", "", "../x", "a/../../x", "a/.."} {
		if request, err := r.Render(token(value)); err == nil {
			t.Errorf("%q gave %s", value, request.URL)
		}
	}
}

// A23: a value cannot end its header.
func TestHeadersCannotBeInjected(t *testing.T) {
	r := renderer(t, Config{Headers: map[string]string{"X-Token": "t ${page.token}", "accept": "text/plain"}}, RequestConfig{Path: "/", Headers: map[string]string{"Accept": "application/json"}})
	for _, value := range []string{"a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x00b"} {
		if request, err := r.Render(token(value)); err == nil {
			t.Errorf("%q gave the header %q", value, request.Header)
		}
	}
	request, err := r.Render(token("plain \t"))
	if err != nil || request.Header.Get("x-token") != "t plain" {
		t.Errorf("%v %v", request, err)
	}
}

// The endpoint's header wins over the source's, however either is spelled.
func TestEndpointHeaderWins(t *testing.T) {
	for _, name := range []string{"Accept", "accept", "ACCEPT"} {
		r := renderer(t, Config{Headers: map[string]string{"aCCept": "text/plain", "Accept": "text/html"}}, RequestConfig{Path: "/", Headers: map[string]string{name: "application/json"}})
		request, err := r.Render(tmpl.Vars{})
		if err != nil || request.Header.Get("Accept") != "application/json" || len(request.Header) != 1 {
			t.Errorf("%s: %v %v", name, request.Header, err)
		}
	}
}

// A9: what requests may start from.
func TestBaseURL(t *testing.T) {
	for _, c := range []struct {
		config Config
		ok     bool
	}{
		{Config{BaseURL: "https://api.example.org"}, true},
		{Config{BaseURL: "https://api.example.org:8443/v1/"}, true},
		{Config{BaseURL: "https://[2001:db8::1]/"}, true},
		{Config{BaseURL: "http://api.example.org"}, false},
		{Config{BaseURL: "HTTP://api.example.org"}, false},
		{Config{BaseURL: "http://api.example.org", AllowHTTP: true}, true},
		{Config{BaseURL: "http://127.0.0.1:80", AllowPrivate: true}, true},
		{Config{BaseURL: ""}, false},
		{Config{BaseURL: "api.example.org"}, false},
		{Config{BaseURL: "//api.example.org"}, false},
		{Config{BaseURL: "https:///works"}, false},
		{Config{BaseURL: "https:api.example.org"}, false},
		{Config{BaseURL: "file:///etc/passwd", AllowHTTP: true}, false},
		{Config{BaseURL: "gopher://x/", AllowHTTP: true, AllowPrivate: true}, false},
		{Config{BaseURL: "unix:///var/run/x", AllowPrivate: true}, false},
		{Config{BaseURL: "https://user:secret@api.example.org"}, false},
		{Config{BaseURL: "https://api.example.org?key=secret"}, false},
		{Config{BaseURL: "https://api.example.org#part"}, false},
		{Config{BaseURL: "https://api.example.org/%zz"}, false},
		{Config{BaseURL: "https://api.example.org\r\n/"}, false},
	} {
		_, err := NewRenderer(c.config, RequestConfig{Path: "/"})
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.config, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "http.baseUrl: ") {
			t.Errorf("%q: the message does not name the setting: %v", c.config.BaseURL, err)
		}
	}
	if _, err := ParseBaseURL(Config{BaseURL: "https://user:hunter2@api.example.org"}); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the message tells the password: %v", err)
	}
}

func TestBaseAndPathJoinWithOneSlash(t *testing.T) {
	for _, base := range []string{"https://h/v1", "https://h/v1/"} {
		for _, path := range []string{"works", "/works"} {
			request, err := renderer(t, Config{BaseURL: base}, RequestConfig{Path: path}).Render(tmpl.Vars{})
			if err != nil || request.URL.String() != "https://h/v1/works" {
				t.Errorf("%s + %s: %v %v", base, path, request, err)
			}
		}
	}
}

func TestRequestCarriesItsLimits(t *testing.T) {
	request, err := renderer(t, Config{AllowPrivate: true}, RequestConfig{Path: "/"}).Render(tmpl.Vars{})
	want := Limits{MaxBodyBytes: 64 << 20, Timeout: 30 * time.Second, ConnectTimeout: 10 * time.Second, MinRate: 1000, AllowHTTP: true, AllowPrivate: true}
	if err != nil || request.Method != "GET" || !request.Replayable || request.Limits != want {
		t.Errorf("%+v %v", request, err)
	}
	var proxy secret.Ref
	if err := proxy.UnmarshalText([]byte("env:PROXY")); err != nil {
		t.Fatal(err)
	}
	full := Config{
		Timeout: duration.Duration(1), ConnectTimeout: duration.Duration(2), ReadTimeout: duration.Duration(3), MinRate: 4, MaxBodyBytes: 5, Proxy: proxy, AllowRedirects: true, AllowHTTP: true,
	}
	request, err = renderer(t, full, RequestConfig{Path: "/"}).Render(tmpl.Vars{})
	want = Limits{Timeout: 1, ConnectTimeout: 2, ReadTimeout: 3, MinRate: 4, MaxBodyBytes: 5, Proxy: proxy, AllowRedirects: true, AllowHTTP: true}
	if err != nil || request.Limits != want {
		t.Errorf("%+v %v", request, err)
	}
}

// Who asks is in every request, unless the source names itself.
func TestUserAgentNamesTheContact(t *testing.T) {
	plain, named := Config{}, Config{Headers: map[string]string{"user-agent": "mine/1"}}
	for _, c := range []struct {
		config      Config
		email, want string
	}{
		{plain, "me@example.org", "patra-ingest (mailto:me@example.org)"},
		{plain, "", ""},
		{named, "me@example.org", "mine/1"},
		{plain, "me@example.org) evil/1 (", ""},
		{plain, "me@example.org\r\nX-Evil: 1", ""},
		{plain, "ü@example.org", ""},
	} {
		request, err := renderer(t, c.config, RequestConfig{Path: "/"}).Render(tmpl.Vars{Contact: tmpl.ContactVars{Email: c.email}})
		if err != nil || request.Header.Get("User-Agent") != c.want || len(request.Header) > 1 {
			t.Errorf("%q: %v %v, want %q", c.email, request.Header, err, c.want)
		}
	}
}

// Requests of one renderer share nothing: a wrapper may change its own.
func TestRequestsAreIndependent(t *testing.T) {
	r := renderer(t, Config{Headers: map[string]string{"Accept": "a"}}, RequestConfig{Path: "/works"})
	first, _ := r.Render(tmpl.Vars{})
	first.URL.Path, first.URL.Host = "/evil", "evil.example"
	first.Header.Set("Accept", "b")
	second, err := r.Render(tmpl.Vars{})
	if err != nil || second.URL.String() != "https://api.example.org/v1/works" || second.Header.Get("Accept") != "a" {
		t.Errorf("%v %v", second.URL, second.Header)
	}
}

func TestBadTemplatesAreRefusedWithTheirPlace(t *testing.T) {
	for want, request := range map[string]RequestConfig{
		"request.path":             {Path: "/${page.tokn}"},
		"request.query.q":          {Path: "/", Query: map[string]Texts{"q": {"${page"}}},
		"request.headers.X-Broken": {Path: "/", Headers: map[string]string{"X-Broken": "${env.HOME}"}},
	} {
		if _, err := NewRenderer(Config{BaseURL: "https://h"}, request); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

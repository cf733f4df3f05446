package exchange

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func sentTo(t *testing.T, base string) (*Renderer, *url.URL) {
	t.Helper()
	r := renderer(t, Config{BaseURL: base, AllowHTTP: true}, RequestConfig{Path: "/works", Query: map[string]Texts{"rows": {"5"}}})
	request, err := r.Render(tmpl.Vars{})
	if err != nil {
		t.Fatal(err)
	}
	return r, request.URL
}

func TestFollow(t *testing.T) {
	const base = "https://api.example.org/v1"
	r, sent := sentTo(t, base)
	for next, want := range map[string]string{
		"?page=2":                                   base + "/works?page=2",
		"works?page=2":                              base + "/works?page=2",
		"/v1/works/next":                            base + "/works/next",
		"/v1":                                       base,
		base + "/works?cursor=a%20b":                base + "/works?cursor=a%20b",
		base + "/works?q=two words ":                base + "/works?q=two%20words",
		"https://API.example.org:443/v1/works":      "https://API.example.org:443/v1/works",
		"//api.example.org/v1/works":                base + "/works",
		base + "/works?page=2#items":                base + "/works?page=2",
		base + "/works?back=https://evil.example":   base + "/works?back=https://evil.example",
		base + "/10.1000%2F1?x=1":                   base + "/10.1000%2F1?x=1",
		base + "/works/../works?page=2":             base + "/works?page=2",
		base + "/works?api_key=[secret]&page=2":     base + "/works?api_key=[secret]&page=2",
		"https://api.example.org/v1/works/ü?page=2": base + "/works/%C3%BC?page=2",
	} {
		to, err := r.Follow(sent, next)
		if err != nil || to.String() != want {
			t.Errorf("%s: %v %v, want %s", next, to, err, want)
		}
	}
}

// A1, A2, A3: an answer names the next page; it must not lead us elsewhere.
func TestA1A2A3NextAddressStaysAtTheSource(t *testing.T) {
	r, sent := sentTo(t, "https://api.example.org/v1")
	for attack, addresses := range map[string][]string{
		"A1 other host": {
			"https://evil.example/v1/works", "//evil.example/v1/works", "https://api.example.org.evil.example/v1/works", "https://evilapi.example.org/v1/works",
			"https://example.org/v1/works", "https://127.0.0.1/v1/works", "https://[::1]/v1/works", "https://api.example.org./v1/works", "https:///v1/works",
		},
		"A2 other scheme or port": {
			"http://api.example.org/v1/works", "https://api.example.org:8443/v1/works", "https://api.example.org:80/v1/works", "ftp://api.example.org/v1/works",
			"file:///v1/works", "javascript:alert(1)", "data:text/html,x", "https:v1/works",
		},
		"A2 user": {"https://me@api.example.org/v1/works", "https://me:hunter2@api.example.org/v1/works", "https://@api.example.org/v1/works", "https://api.example.org@evil.example/v1/works"},
		"A2 confusion": {
			`https://api.example.org\@evil.example/v1`, `https:\\evil.example/v1/works`, `/\evil.example/v1/works`, `\\evil.example`, "https://api.example.org/v1/works\r\nHost: evil.example",
			"https://api.example.org/v1/\x00", "https://api.example.org/v1/\tworks", "https://evil.example#@api.example.org/v1", "https://api.example.org%2eevil.example/v1", "https://api.example.org /v1",
			"%zz", "https://api.example.org:x/v1", "https://[::1/v1",
		},
		"A3 other path": {
			"/", "/v2/works", "/v1x", "/v10/works", "../admin", "../../etc", "/v1/../admin", "/v1/%2e%2e/admin", "/v1/works/%2E%2E/%2E%2E/admin", "/v1/..%2fadmin", "/v1/..%5cadmin", "//api.example.org/admin",
		},
		"too long": {"?cursor=" + strings.Repeat("x", 20<<10)},
	} {
		for _, next := range addresses {
			to, err := r.Follow(sent, next)
			var f *fault.Error
			if to != nil || !errors.As(err, &f) || f.Code != fault.Refused || f.Level != fault.Fatal {
				t.Errorf("%s: %.80q gave %v, %v", attack, next, to, err)
				continue
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "evil") {
				t.Errorf("the refusal repeats the address: %v", err)
			}
		}
	}
}

// Whatever is written there, what comes out is asked of the same server, as a
// server reads it.
func TestA1FollowedAddressIsOfTheSource(t *testing.T) {
	r, sent := sentTo(t, "https://api.example.org/v1")
	parts := []string{"https:", "http:", "//", "/", `\`, "@", "api.example.org", "evil.example", ":443", ":80", "?", "#", "..", "%2e", "%2f", "%5c", "v1", "works", "x=1", " ", "\t", "[", "]", ";", "&"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "")
		to, err := r.Follow(sent, text)
		if err != nil {
			return
		}
		again, err := url.Parse(to.String())
		if err != nil || again.Scheme != "https" || again.Hostname() != "api.example.org" || again.User != nil || !strings.HasPrefix(again.Path+"/", "/v1/") || strings.Contains(again.Path, "..") && strings.Contains("/"+again.Path+"/", "/../") {
			t.Fatalf("%q leads to %s, %v", text, to, err)
		}
	})
}

func TestRedirected(t *testing.T) {
	target, _ := url.Parse("https://api.example.org/v1/works?rows=5")
	ask := func(method string, allowed bool) *Request {
		return &Request{Method: method, URL: target, Header: Header{"Accept": {"*/*"}}, Limits: Limits{AllowRedirects: allowed}}
	}
	answer := func(status int, location string) *Response {
		h := Header{}
		if location != "" {
			h.Set("Location", location)
		}
		return &Response{Status: status, Header: h}
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		next, err := Redirected(ask("GET", true), answer(status, "/v2/works?rows=5"), 0)
		if err != nil || next == nil || next.URL.String() != "https://api.example.org/v2/works?rows=5" || next.Header.Get("Accept") != "*/*" || target.Path != "/v1/works" {
			t.Errorf("%d: %+v %v", status, next, err)
		}
	}
	for name, c := range map[string]struct {
		request *Request
		answer  *Response
	}{
		"not allowed": {ask("GET", false), answer(302, "/v2")}, "A6 POST with a body": {ask("POST", true), answer(307, "/v2")}, "no location": {ask("GET", true), answer(302, "")},
		"good answer": {ask("GET", true), answer(200, "/v2")}, "not modified": {ask("GET", true), answer(304, "/v2")}, "multiple choices": {ask("GET", true), answer(300, "/v2")},
	} {
		if next, err := Redirected(c.request, c.answer, 0); next != nil || err != nil {
			t.Errorf("%s: %+v %v", name, next, err)
		}
	}
	for _, location := range []string{"https://evil.example/", "http://api.example.org/v1/works", "https://api.example.org:8443/", "//evil.example", "https://me@api.example.org/", `\\evil.example`, "/a/%2e%2e/b"} {
		if next, err := Redirected(ask("GET", true), answer(302, location), 0); next != nil || fault.As(err).Code != fault.Refused {
			t.Errorf("A6 %s: %+v %v", location, next, err)
		}
	}
	if next, err := Redirected(ask("GET", true), answer(302, "/v1/works"), maxRedirects); next != nil || fault.As(err).Code != fault.Refused {
		t.Errorf("A6 loop: %+v %v", next, err)
	}
}

func TestHostsThatRequestsMayBeSentOnTo(t *testing.T) {
	for host, good := range map[string]bool{
		"store.example": true, "store.example:8443": true, "10.0.0.5:80": true, "[::1]:8080": true,
		"": false, "https://store.example": false, "store.example/": false, "store.example/a": false, "me@store.example": false, "*.example.org": false, "store.example:0": false, ":443": false, "store example": false, "störe.example": false,
	} {
		if err := (Config{RedirectHosts: []string{"good.example", host}}).CheckRedirectHosts(); (err == nil) != good {
			t.Errorf("%q: %v", host, err)
		}
	}
}

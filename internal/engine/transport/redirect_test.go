package transport

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// signpost answers by path and notes what it was asked.
type signpost struct {
	to    map[string]string // path to Location; others are answered
	asked []exchange.Request
}

func (s *signpost) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	s.asked = append(s.asked, *r)
	location, redirects := s.to[r.URL.Path]
	if !redirects {
		return &exchange.Response{Status: 200, Header: exchange.Header{}, Body: []byte("{}"), WireBytes: 2}, nil
	}
	header := exchange.Header{}
	header.Set("Location", location)
	return &exchange.Response{Status: 302, Header: header, WireBytes: 3}, nil
}

// A6: where a source allows redirects they are followed within its origin, each
// hop under a permit of its own, and as often as agreed.
func TestA6RedirectsOfASource(t *testing.T) {
	moved := map[string]string{"/works": "/v2/works", "/v2/works": "https://api.example.org/v3/works", "/v3/works": "works4", "/v3/works4": "/v3/works5"}
	for name, c := range map[string]struct {
		to      map[string]string
		allowed bool
		asked   int
		code    fault.Code
	}{
		"not allowed":  {map[string]string{"/works": "/v2/works"}, false, 1, fault.BadRequest},
		"one":          {map[string]string{"/works": "/v2/works"}, true, 2, ""},
		"three":        {map[string]string{"/works": "/a", "/a": "/b", "/b": "/c"}, true, 4, ""},
		"four":         {moved, true, 4, fault.Refused},
		"loop":         {map[string]string{"/works": "/works"}, true, 4, fault.Refused},
		"other host":   {map[string]string{"/works": "https://evil.example/works"}, true, 1, fault.Refused},
		"second other": {map[string]string{"/works": "/a", "/a": "//evil.example/"}, true, 2, fault.Refused},
		"other scheme": {map[string]string{"/works": "http://api.example.org/works"}, true, 1, fault.Refused},
	} {
		synctest.Test(t, func(t *testing.T) {
			up, permits, in := &signpost{to: c.to}, &turnstile{}, call()
			in.Request.AllowRedirects = c.allowed
			_, err := Stack(up, permits).Do(t.Context(), in)
			if (err == nil) != (c.code == "") || err != nil && fault.As(err).Code != c.code {
				t.Errorf("%s: %v", name, err)
			}
			if len(up.asked) != c.asked || permits.given != c.asked || permits.back != c.asked || in.Notes.Attempts != c.asked {
				t.Errorf("%s: %d requests, %d permits, noted %d; want %d", name, len(up.asked), permits.given, in.Notes.Attempts, c.asked)
			}
			for _, r := range up.asked {
				if r.URL.Host != "api.example.org" || r.URL.Scheme != "https" {
					t.Errorf("%s: asked %s", name, r.URL.Host)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v tells the key", name, err)
			}
		})
	}
}

// A redirect stays below the path of the base URL, as the address of a next page does:
// the same server may hold what is not this source's.
func TestTrust08RedirectsStayBelowTheBasePath(t *testing.T) {
	for location, good := range map[string]bool{
		"/v1/works/2": true, "works2": true, "https://api.example.org/v1/other": true, "/v1": true,
		"/": false, "/admin": false, "/v10/works": false, "/v1x": false, "../admin": false, "/v1/..%2fadmin": false, "/v1/%2e%2e/admin": false, "//api.example.org/v2": false,
	} {
		up, in := &signpost{to: map[string]string{"/v1/works": location}}, call()
		in.Request.URL.Path, in.Request.BasePath, in.Request.AllowRedirects = "/v1/works", "/v1", true
		_, err := Stack(up, &turnstile{}).Do(t.Context(), in)
		if (err == nil) != good || err != nil && fault.As(err).Code != fault.Refused || !good && len(up.asked) != 1 {
			t.Errorf("%s: %v after %d requests", location, err, len(up.asked))
		}
	}
}

// A7: the key is put on each hop anew; the caller's request stays as it was.
func TestA7RedirectsAreSignedAnew(t *testing.T) {
	secrets := vault{"env:KEY": canary}
	for _, in := range []string{"HEADER", "QUERY"} {
		up := &signpost{to: map[string]string{"/works": "/v2/works?rows=5&key=stale"}}
		c := call()
		c.Request.AllowRedirects, c.Request.CredentialRequired = true, true
		c.Request.Credential = exchange.Credential{Type: "API_KEY", In: in, Name: "key", Value: ref(t, "env:KEY")}
		if _, err := StackSigned(up, secrets, &turnstile{}).Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for i, r := range up.asked {
			if got := r.Header.Get("key") + r.URL.Query().Get("key"); in == "QUERY" && got != canary || in == "HEADER" && r.Header.Get("key") != canary {
				t.Errorf("%s: hop %d carries %q", in, i, got)
			}
		}
		if len(up.asked) != 2 || c.Request.URL.Path != "/works" || c.Request.Header.Get("key") != "" {
			t.Errorf("%s: %d requests, left %+v", in, len(up.asked), c.Request)
		}
		noted := c.Notes.Request
		if noted.URL != exchange.DigestRequest(c.Request).URL || !strings.Contains(noted.RedirectedTo, "/v2/works") || strings.Contains(noted.URL+noted.RedirectedTo, canary) {
			t.Errorf("%s: noted %+v", in, noted)
		}
	}
}

// A6, A7: a GET is sent on to hosts that the source names, over https, without its credential and without its headers. The address
// that is noted has no parameters: they are often a signature.
func TestA7RedirectsToANamedHostCarryNothing(t *testing.T) {
	for name, c := range map[string]struct {
		to    map[string]string
		hosts []string
		asked []string // hosts
		good  bool
	}{
		"named":               {map[string]string{"/works": "https://store.example/a?sig=1"}, []string{"store.example"}, []string{"api.example.org", "store.example"}, true},
		"named with its port": {map[string]string{"/works": "https://store.example:8443/a?sig=1"}, []string{"store.example:8443"}, []string{"api.example.org", "store.example:8443"}, true},
		"another port":        {map[string]string{"/works": "https://store.example:8443/a"}, []string{"store.example"}, []string{"api.example.org"}, false},
		"below a name":        {map[string]string{"/works": "https://evil.store.example/a"}, []string{"store.example"}, []string{"api.example.org"}, false},
		"plain":               {map[string]string{"/works": "http://store.example/a"}, []string{"store.example"}, []string{"api.example.org"}, false},
		"with a user":         {map[string]string{"/works": "https://me@store.example/a"}, []string{"store.example"}, []string{"api.example.org"}, false},
		"from one to another": {map[string]string{"/works": "https://store.example/a", "/a": "https://other.example/b?sig=2"}, []string{"store.example", "other.example"}, []string{"api.example.org", "store.example", "other.example"}, true},
		"from there away":     {map[string]string{"/works": "https://store.example/a", "/a": "https://evil.example/b"}, []string{"store.example"}, []string{"api.example.org", "store.example"}, false},
		"from there back":     {map[string]string{"/works": "https://store.example/a", "/a": "https://api.example.org/works"}, []string{"store.example"}, []string{"api.example.org", "store.example"}, false},
		"within its origin":   {map[string]string{"/works": "/v2"}, []string{"store.example"}, []string{"api.example.org", "api.example.org"}, true},
	} {
		up, in := &signpost{to: c.to}, call()
		in.Request.RedirectHosts, in.Request.CredentialRequired = c.hosts, true
		in.Request.Header = exchange.Header{"Accept": {"text/plain"}, "X-Own": {"mine"}}
		in.Request.Credential = exchange.Credential{Type: "API_KEY", In: "HEADER", Name: "key", Value: ref(t, "env:KEY")}
		in.Request.Further = []exchange.Further{{Credential: exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "more", Value: ref(t, "env:KEY")}}}
		_, err := StackSigned(up, vault{"env:KEY": canary}, &turnstile{}).Do(t.Context(), in)
		if (err == nil) != c.good || err != nil && fault.As(err).Code != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
		var hosts []string
		for _, r := range up.asked {
			hosts = append(hosts, r.URL.Host)
			own := r.URL.Host == "api.example.org"
			if sent := r.Header.Get("key") == canary && r.URL.Query().Get("more") == canary && r.Header.Get("X-Own") != ""; sent != own || r.Header.Get("Accept") != "text/plain" {
				t.Errorf("%s: %s is sent %v, %s", name, r.URL.Host, r.Header, r.URL.RawQuery)
			}
		}
		if !slices.Equal(hosts, c.asked) || strings.Contains(in.Notes.Request.RedirectedTo, "sig") {
			t.Errorf("%s: asked %v; noted %q", name, hosts, in.Notes.Request.RedirectedTo)
		}
	}
}

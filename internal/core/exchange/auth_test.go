package exchange

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/secret"
)

func refTo(t *testing.T, text string) (r secret.Ref) {
	t.Helper()
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCredentialDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		given            Credential
		in, name, prefix string
	}{
		"key":                   {Credential{Type: "API_KEY"}, "HEADER", "Authorization", ""},
		"grant":                 {Credential{Type: "OAUTH2"}, "HEADER", "Authorization", "Bearer "},
		"grant with a scheme":   {Credential{Type: "OAUTH2", Prefix: "Token "}, "HEADER", "Authorization", "Token "},
		"grant in the query":    {Credential{Type: "OAUTH2", In: "QUERY", Name: "access_token"}, "QUERY", "access_token", ""},
		"session":               {Credential{Type: "SESSION"}, "HEADER", "Authorization", "Bearer "},
		"session under a name":  {Credential{Type: "SESSION", Name: "X-Token"}, "HEADER", "X-Token", ""},
		"session of a header":   {Credential{Type: "SESSION", Login: Login{Header: "X-Sid"}}, "HEADER", "X-Sid", ""},
		"session of a cookie":   {Credential{Type: "SESSION", Login: Login{Cookie: "sid"}}, "COOKIE", "sid", ""},
		"cookie sent elsewhere": {Credential{Type: "SESSION", In: "QUERY", Name: "s", Login: Login{Cookie: "sid"}}, "QUERY", "s", ""},
	} {
		got := c.given.WithDefaults()
		if got.In != c.in || got.Name != c.name || got.Prefix != c.prefix {
			t.Errorf("%s: %q %q %q", name, got.In, got.Name, got.Prefix)
		}
		if again := got.WithDefaults(); again.Identity() != got.Identity() {
			t.Errorf("%s: defaults change with every filling", name)
		}
		if got.NeedsToken() != got.Renews(401) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A snapshot that is stored and read again is the same credential, and one that
// differs in any key is another: tokens are kept by it.
func TestIdentityOfACredential(t *testing.T) {
	token, err := document.ParsePath("$.token")
	if err != nil {
		t.Fatal(err)
	}
	base := Credential{Type: "SESSION", Login: Login{URL: "/login", Form: map[string]string{"a": "${value}"}, Token: token}, Value: refTo(t, "env:KEY")}.WithDefaults()
	text, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	var back Credential
	if err := json.Unmarshal(text, &back); err != nil || back.Identity() != base.Identity() {
		t.Errorf("%v: %s", err, text)
	}
	for name, change := range map[string]func(*Credential){
		"reference": func(c *Credential) { c.Value = refTo(t, "env:OTHER") }, "address": func(c *Credential) { c.Login.URL = "/other" },
		"form": func(c *Credential) { c.Login.Form = map[string]string{"b": "${value}"} }, "scope": func(c *Credential) { c.Scope = "x" },
	} {
		other := base
		change(&other)
		if other.Identity() == base.Identity() {
			t.Errorf("another %s is the same credential", name)
		}
	}
}

func TestReferencesAreComplete(t *testing.T) {
	one := refTo(t, "env:X")
	c := Credential{Value: one, Username: one, Password: one, ClientID: one, ClientSecret: one, RefreshToken: one, Sign: Sign{Key: one, KeyID: one}}
	text, err := json.Marshal(c)
	if err != nil || len(c.References()) != strings.Count(string(text), "env:X") {
		t.Errorf("%v: %d references of %s", err, len(c.References()), text)
	}
	if len(Credential{}.References()) != 0 {
		t.Error("references of nothing")
	}
}

func TestTokenEndpoints(t *testing.T) {
	origin := &url.URL{Scheme: "https", Host: "api.example.org:8443", Path: "/v1/works", RawQuery: "a=b"}
	for address, want := range map[string]string{
		"/oauth/token": "https://api.example.org:8443/oauth/token", "/token?tenant=a": "https://api.example.org:8443/token?tenant=a",
		"https://auth.example.org/token": "https://auth.example.org/token", "http://auth.example.org/token": "",
		"//auth.example.org/token": "", "token": "", "": "", "https:///token": "", "https:token": "", "ftp://x/token": "", "https://u:hunter2@x/": "",
		"/token#hunter2": "", "/\\x/token": "", "/a b": "", "%zz": "", "file:///etc/passwd": "",
	} {
		got, err := TokenEndpoint(origin, false, address)
		if (err == nil) != (want != "") || err == nil && got.String() != want || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v %v, want %q", address, got, err, want)
		}
	}
	if got, err := TokenEndpoint(origin, true, "http://auth.example.org/token"); err != nil || got.Host != "auth.example.org" {
		t.Error(got, err)
	}
}

// Whatever a secret holds, the login has the same fields.
func TestLoginKeepsItsShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]string{"username": rapid.String().Draw(t, "username"), "password": rapid.String().Draw(t, "password")}
		body, kind := Login{Body: `{"a": "x${username}y", "b": ${password}, "c": {"d": 1}}`}.Render(values)
		var read struct {
			A, B string
			C    struct{ D int }
		}
		if err := json.Unmarshal(body, &read); err != nil || kind != typeJSON || read.A != "x"+values["username"]+"y" || read.B != values["password"] || read.C.D != 1 {
			t.Fatalf("%s: %v", body, err)
		}
		body, kind = Login{Form: map[string]string{"u=&": "${username}", "p": "x${password}${password}"}}.Render(values)
		form, err := url.ParseQuery(string(body))
		if err != nil || kind != typeForm || len(form) != 2 || form.Get("u=&") != values["username"] || form.Get("p") != "x"+values["password"]+values["password"] {
			t.Fatalf("%s: %v", body, err)
		}
	})
}

func TestSecretsInACredential(t *testing.T) {
	for _, c := range []struct {
		keys, text string
		secret     bool
	}{
		{"login.form.password", "hunter2", true}, {"login.form.password", "${password}", false}, {"login.form.user", "ann", false},
		{"login.body", `{"password": "hunter2"}`, true}, {"login.body", `{"password": "${password}"}`, false}, {"login.body", `{"user": "ann"}`, false},
		{"login.url", "https://u:p@x/", true}, {"login.url", "/login", false}, {"tokenUrl", "/token?client_secret=x", true}, {"prefix", "hunter2", true}, {"scope", "hunter2", false},
		{"sign", "x", false}, {"sign.value", `key="kanari", sig="${signature}"`, true}, {"sign.value", `keyId="${keyId}", signature="${signature}"`, false},
		{"sign.text", "${method}\nsecret=kanari\n${path}", true}, {"sign.text", "${method}\n${path}\nx-date: ${timestamp}", false}, {"sign.text", "api-key: ${keyId}", false},
	} {
		if got := CredentialSecret(strings.Split(c.keys, "."), c.text); got != c.secret {
			t.Errorf("%s %s: %v", c.keys, c.text, got)
		}
	}
}

// The order in which parameters are sent is no part of what is signed; every
// part of the request is.
func TestSignedText(t *testing.T) {
	s := Sign{Parts: []string{"METHOD", "HOST", "PATH", "QUERY", "TIMESTAMP", "KEY_ID", "BODY_SHA256"}}.WithDefaults()
	text := func(r Request, stamp, id string) string { return s.SignedText(&r, stamp, id) }
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.StringMatching(`[a-c]{1,2}=[a-z%0-9]{0,3}`), 1, 6).Draw(t, "pairs")
		shuffled := rapid.Permutation(pairs).Draw(t, "shuffled")
		at := func(pairs []string) Request {
			return Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "H", Path: "/a b", RawQuery: strings.Join(pairs, "&")}, Body: []byte("x")}
		}
		one := at(pairs)
		if text(one, "1", "k") != text(at(shuffled), "1", "k") {
			t.Fatalf("%v and %v are signed differently", pairs, shuffled)
		}
		seen := []string{text(one, "1", "k"), text(one, "2", "k"), text(one, "1", "l")}
		for _, change := range []func(*Request){
			func(r *Request) { r.Method = "POST" }, func(r *Request) { r.Body = []byte("y") }, func(r *Request) { r.Body = nil },
			func(r *Request) { r.URL.Host = "I" }, func(r *Request) { r.URL.Path = "/b" }, func(r *Request) { r.URL.RawQuery += "&z=1" },
		} {
			other := at(pairs)
			change(&other)
			seen = append(seen, text(other, "1", "k"))
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) != 9 {
			t.Fatalf("two different requests are signed alike: %q", seen)
		}
	})
}

func TestTimestamps(t *testing.T) {
	now := time.Date(2025, 3, 1, 13, 4, 5, 678e6, time.FixedZone("x", 3600))
	for format, want := range map[string]string{"UNIX": "1740830645", "UNIX_MILLIS": "1740830645678", "RFC3339": "2025-03-01T12:04:05Z", "HTTP_DATE": "Sat, 01 Mar 2025 12:04:05 GMT"} {
		if got := (Sign{TimestampFormat: format}).Timestamp(now); got != want {
			t.Errorf("%s: %s", format, got)
		}
	}
}

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

const canary = "canary&kanari"

// vault knows some references.
type vault map[string]string

func (v vault) Reveal(_ context.Context, ref secret.Ref, _ secret.Purpose) (secret.Text, error) {
	if value, ok := v[ref.String()]; ok {
		return secret.New(value), nil
	}
	return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
}

// wire keeps the request as it would leave, and answers with everything it was
// told, as upstreams do in their error pages.
type wire struct{ sent *exchange.Request }

func (w *wire) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	w.sent = r
	echo := fmt.Sprint(r.URL, r.Header, string(r.Body))
	return &exchange.Response{Status: 200, Header: exchange.Header{"X-Echo": {echo}}, Body: []byte(echo)}, nil
}

func ref(t *testing.T, text string) secret.Ref {
	t.Helper()
	var r secret.Ref
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func asking(c exchange.Credential) *exchange.Request {
	target, _ := url.Parse("https://api.example.org/works?rows=5")
	return &exchange.Request{
		Method: "POST", URL: target, Header: exchange.Header{"Accept": {"*/*"}}, Body: []byte("ids=1%2C2"), Replayable: true,
		Credential: c.WithDefaults(), CredentialRequired: true,
	}
}

func TestEveryKindOfCredential(t *testing.T) {
	secrets := vault{"env:KEY": canary, "env:USER": "ann", "file:pw": canary}
	for name, tc := range map[string]struct {
		credential exchange.Credential
		carried    func(*exchange.Request) string
		want       string
	}{
		"api key in a header":    {exchange.Credential{Type: "API_KEY", Name: "X-Api-Key", Value: ref(t, "env:KEY")}, header("X-Api-Key"), canary},
		"api key with a prefix":  {exchange.Credential{Type: "API_KEY", Prefix: "Token ", Value: ref(t, "env:KEY")}, header("Authorization"), "Token " + canary},
		"api key in the query":   {exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "api_key", Value: ref(t, "env:KEY")}, func(r *exchange.Request) string { return r.URL.Query().Get("api_key") }, canary},
		"api key in the body":    {exchange.Credential{Type: "API_KEY", In: "BODY", Name: "api_key", Value: ref(t, "env:KEY")}, form("api_key"), canary},
		"api key in a JSON body": {exchange.Credential{Type: "API_KEY", In: "BODY", Name: "api_key", Value: ref(t, "env:KEY")}, member("api_key"), canary},
		"api key in a cookie":    {exchange.Credential{Type: "API_KEY", In: "COOKIE", Name: "key", Value: ref(t, "env:KEY")}, header("Cookie"), "a=1; key=" + canary},
		"bearer":                 {exchange.Credential{Type: "BEARER", Value: ref(t, "env:KEY")}, header("Authorization"), "Bearer " + canary},
		"basic":                  {exchange.Credential{Type: "BASIC", Username: ref(t, "env:USER"), Password: ref(t, "file:pw")}, header("Authorization"), "Basic YW5uOmNhbmFyeSZrYW5hcmk="},
	} {
		leaf, in := &wire{}, asking(tc.credential)
		ids := form("ids")
		if strings.Contains(name, "JSON") {
			in.Body, ids = []byte(` {"ids": "1,2"}`), member("ids")
			in.Header.Set("Content-Type", "application/json")
		}
		if strings.Contains(name, "cookie") {
			in.Header.Set("Cookie", "a=1")
		}
		c := &Call{Request: in, Retry: fault.RetryPolicy{}.WithDefaults()}
		answer, err := StackSigned(leaf, secrets, &turnstile{}).Do(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := tc.carried(leaf.sent); got != tc.want {
			t.Errorf("%s: sent %q", name, got)
		}
		if leaf.sent.URL.Query().Get("rows") != "5" || ids(leaf.sent) != "1,2" || leaf.sent.Header.Get("Accept") != "*/*" {
			t.Errorf("%s: the rest of the request changed: %+v", name, leaf.sent)
		}
		// I12: what stands above authentication never sees the value.
		notes, err := json.Marshal(c.Notes)
		if err != nil {
			t.Fatal(err)
		}
		for _, seen := range []string{string(notes), fmt.Sprintf("%+v", *in), in.URL.String(), string(in.Body), string(answer.Body), answer.Header.Get("X-Echo")} {
			if strings.Contains(seen, "kanari") || strings.Contains(seen, "YW5u") {
				t.Errorf("%s: the secret is in %s", name, seen)
			}
		}
	}
}

func header(name string) func(*exchange.Request) string {
	return func(r *exchange.Request) string { return r.Header.Get(name) }
}

func form(name string) func(*exchange.Request) string {
	return func(r *exchange.Request) string {
		values, _ := url.ParseQuery(string(r.Body))
		return values.Get(name)
	}
}

func member(name string) func(*exchange.Request) string {
	return func(r *exchange.Request) string {
		var all map[string]string
		if err := json.Unmarshal(r.Body, &all); err != nil {
			return err.Error()
		}
		return all[name]
	}
}

// §3.6: a restricted endpoint is never asked anonymously; an optional credential may be missing.
func TestMissingSecret(t *testing.T) {
	c := exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "api_key", Value: ref(t, "env:NONE")}
	leaf, in := &wire{}, asking(c)
	chain := StackSigned(leaf, vault{}, &turnstile{})
	_, err := chain.Do(t.Context(), &Call{Request: in})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Unauthorized || f.Level != fault.Fatal || leaf.sent != nil || !strings.Contains(err.Error(), "env:NONE") {
		t.Errorf("%v, sent %v", err, leaf.sent)
	}
	in.CredentialRequired = false
	if _, err := chain.Do(t.Context(), &Call{Request: in}); err != nil || leaf.sent.URL.Query().Has("api_key") {
		t.Errorf("%v, sent %v", err, leaf.sent.URL)
	}
}

// What cannot be signed is not sent unsigned.
func TestUnknownWaysToSign(t *testing.T) {
	for _, c := range []exchange.Credential{{Type: "CUSTOM", Signing: "none"}, {Type: "FUTURE"}} {
		in, leaf := asking(c), &wire{}
		in.CredentialRequired = false
		if _, err := StackSigned(leaf, vault{}, &turnstile{}).Do(t.Context(), &Call{Request: in}); fault.As(err).Code != fault.Unauthorized || leaf.sent != nil {
			t.Errorf("%s: %v, sent %v", c.Type, err, leaf.sent)
		}
	}
}

// A3: an address an upstream gave for the next page gets our key in the place of
// what stands there, and keeps the rest letter by letter: a cursor that Go does
// not take for a pair, left out, would ask for the first page again.
func TestA3KeyInTheQueryLeavesTheRest(t *testing.T) {
	c := exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "api_key", Value: ref(t, "env:KEY")}
	const ours = "api_key=canary%26kanari"
	for given, want := range map[string]string{
		"":                                  ours,
		"rows=5":                            "rows=5&" + ours,
		"cursor=a;b&rows=5":                 "cursor=a;b&rows=5&" + ours,
		"q=100%&cursor=x%2Cy":               "q=100%&cursor=x%2Cy&" + ours,
		"z=1&a=2+3&a=%20&flag&=":            "z=1&a=2+3&a=%20&flag&=&" + ours,
		"api_key=[secret]&page=2":           "page=2&" + ours,
		"api_key=evil&page=2&api%5Fkey=two": "page=2&" + ours,
		"&api_key&page=2&&xapi_key=3":       "page=2&xapi_key=3&" + ours,
	} {
		leaf, in := &wire{}, asking(c)
		in.URL.RawQuery = given
		if _, err := StackSigned(leaf, vault{"env:KEY": canary}, &turnstile{}).Do(t.Context(), &Call{Request: in}); err != nil {
			t.Fatal(err)
		}
		if leaf.sent.URL.RawQuery != want || in.URL.RawQuery != given {
			t.Errorf("%s was sent as %s, want %s", given, leaf.sent.URL.RawQuery, want)
		}
	}
}

// moody keeps a secret and is in trouble for some time.
type moody struct{ failures int }

func (m *moody) Reveal(_ context.Context, ref secret.Ref, _ secret.Purpose) (secret.Text, error) {
	if m.failures--; m.failures >= 0 {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrTrouble)
	}
	return secret.New(canary), nil
}

// §12.1: whoever keeps the secret may be in trouble like an upstream. That is
// tried again, and never sent without; a secret that is not there is not.
func TestSecretThatCannotBeReadThisTime(t *testing.T) {
	for name, c := range map[string]exchange.Credential{
		"bearer": {Type: "BEARER", Value: ref(t, "exec:vault read key")},
		"token":  grantOf(t, nil),
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, required := range []bool{true, false} {
				up, in := &authority{live: map[string]bool{canary: true}}, asking(c)
				in.CredentialRequired = required
				if _, err := StackSigned(up, &moody{failures: 2}, &turnstile{}).Do(t.Context(), &Call{Request: in, Retry: fault.RetryPolicy{}.WithDefaults()}); err != nil || up.served != 1 {
					t.Errorf("%s: %v, %d requests", name, err, up.served)
				}
				up = &authority{}
				_, err := StackSigned(up, &moody{failures: 1000}, &turnstile{}).Do(t.Context(), &Call{Request: in, Retry: fault.RetryPolicy{}.WithDefaults()})
				if f := fault.As(err); f.Code != fault.Unauthorized || f.Level != fault.Transient || !f.Unsent || up.served != 0 || !errors.Is(err, secret.ErrTrouble) {
					t.Errorf("%s: %v, %d requests", name, err, up.served)
				}
			}
		})
	}
}

// A person who reads the error knows where to look.
func TestRefusalsSayWhatToDo(t *testing.T) {
	key := exchange.Credential{Type: "API_KEY", Name: "X-Api-Key", Value: ref(t, "env:KEY")}
	for _, c := range []struct {
		credential exchange.Credential
		answer     *exchange.Response
		text       string
	}{
		{key, answer(401, ""), "UNAUTHORIZED (HTTP 401): POST /works: check env:KEY"},
		{key, answer(403, ""), "UNAUTHORIZED (HTTP 403): POST /works: check env:KEY"},
		{key, answer(404, ""), "BAD_REQUEST (HTTP 404): POST /works"},
		{exchange.Credential{}, answer(401, ""), "UNAUTHORIZED (HTTP 401): POST /works carries no credential (auth.credential)"},
		{key, answer(302, "", "Location", "https://elsewhere.example/?key="+canary), "BAD_REQUEST (HTTP 302): POST /works is redirected, and that is not followed: write the address it leads to into the source, or allow it (http.allowRedirects: GET, same origin; http.redirectHosts: hosts that you name)"},
		{key, answer(304, ""), "BAD_REQUEST (HTTP 304): POST /works"},
	} {
		in := asking(c.credential)
		if c.credential.Type == "" {
			in.Credential = c.credential
		}
		_, err := StackSigned(fixed{c.answer}, vault{"env:KEY": canary}, &turnstile{}).Do(t.Context(), &Call{Request: in})
		if err == nil || err.Error() != c.text {
			t.Errorf("%v, want %s", err, c.text)
		}
	}
}

// fixed always answers the same.
type fixed struct{ answer *exchange.Response }

func (f fixed) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	return f.answer, nil
}

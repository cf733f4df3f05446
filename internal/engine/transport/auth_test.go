package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

const canary = "canary&kanari"

// vault knows some references.
type vault map[string]string

func (v vault) Reveal(_ context.Context, ref secret.Ref) (secret.Text, error) {
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

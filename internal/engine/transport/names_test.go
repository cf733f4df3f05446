package transport

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// parrot gives tokens, and repeats with every answer all it was ever sent and knows.
type parrot struct{ knows string }

func (p *parrot) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	p.knows += fmt.Sprint(" ", r.URL, r.Header, string(r.Body))
	if r.URL.Path == "/token" {
		return answer(200, `{"access_token": "granted-4711-token", "token": "granted-4711-token", "token_type": "Bearer"}`), nil
	}
	return answer(200, p.knows, "X-Echo", p.knows), nil
}

// However a request is signed, the name that goes with its key is hidden in answers if it
// is no ordinary word, or if it is the key itself.
func TestTrust02NamesOfAccountsAreHidden(t *testing.T) {
	const key = "sk-4f9c1e77aa0b4cd18e"
	session := exchange.Credential{Type: "SESSION", Username: ref(t, "env:NAME"), Password: ref(t, "env:KEY")}
	session.Login.URL, session.Login.Form, session.Login.Token = "/token", map[string]string{"user": "${username}", "password": "${password}"}, path(t, "$.token")
	hmac := exchange.Credential{Type: "CUSTOM", Signing: exchange.SigningHMAC, Sign: exchange.Sign{Key: ref(t, "env:KEY"), KeyID: ref(t, "env:NAME")}}
	apart := hmac
	apart.Sign.KeyIDHeader = "X-Key"
	kinds := map[string]exchange.Credential{
		"basic": {Type: "BASIC", Username: ref(t, "env:NAME"), Password: ref(t, "env:KEY")}, "hmac": hmac, "hmac in headers": apart, "session": session,
		"client":             {Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:NAME"), ClientSecret: ref(t, "env:KEY")},
		"client in the body": {Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:NAME"), ClientSecret: ref(t, "env:KEY"), ClientAuth: "BODY"},
		"public client":      {Type: "OAUTH2", TokenURL: "/token", Grant: "REFRESH_TOKEN", ClientID: ref(t, "env:NAME"), RefreshToken: ref(t, "env:KEY")},
	}
	for what, c := range map[string]struct {
		name, key string
		hidden    bool
	}{
		"a key id":              {"AKIA-4711-KANARI", key, true},
		"an address":            {"jane.doe@example.org", key, true},
		"a word":                {"crossref", key, false},
		"a short name":          {"ann42", key, false},
		"the key, no password":  {"kanarienvogel", "x", true},
		"the key, a known word": {"kanarienvogel", "api", true},
	} {
		secrets := vault{"env:NAME": c.name, "env:KEY": c.key}
		for kind, credential := range kinds {
			call := &Call{Request: asking(credential), Retry: fault.RetryPolicy{}.WithDefaults()}
			got, err := StackSigned(&parrot{knows: "of " + c.name}, secrets, &turnstile{}).Do(t.Context(), call)
			if err != nil {
				t.Fatalf("%s, %s: %v", what, kind, err)
			}
			for _, shown := range []string{string(got.Body), got.Header.Get("X-Echo")} {
				if strings.Contains(shown, c.name) == c.hidden || strings.Contains(shown, key) {
					t.Errorf("%s, %s: %s", what, kind, shown)
				}
			}
		}
	}
}

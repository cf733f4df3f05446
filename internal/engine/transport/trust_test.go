package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// failing answers no request, and tells all it was asked in its error.
type failing struct{ code fault.Code }

func (f failing) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	out := fault.New(f.code, fmt.Errorf("content encoding %q was not asked for: %w", fmt.Sprint(r.URL, r.Header, string(r.Body)), context.DeadlineExceeded))
	out.Unsent, out.Status = true, 418
	return nil, out
}

// However a request is signed, the error it ends with has nothing of it: errors go
// to the log, the terminal and the database.
func TestTrust04ErrorsOfSignedRequestsAreMasked(t *testing.T) {
	const value = "canary&kanari/4711+x"
	secrets := vault{"env:KEY": value, "env:USER": "ann", "env:REFRESH": "refresh" + value}
	session := exchange.Credential{Type: "SESSION", Username: ref(t, "env:USER"), Password: ref(t, "env:KEY")}
	session.Login.URL, session.Login.Form = "/login", map[string]string{"user": "${username}", "password": "${password}"}
	for name, c := range map[string]exchange.Credential{
		"header": {Type: "API_KEY", Name: "X-Api-Key", Value: ref(t, "env:KEY")},
		"query":  {Type: "API_KEY", In: "QUERY", Name: "api_key", Value: ref(t, "env:KEY")},
		"body":   {Type: "API_KEY", In: "BODY", Name: "api_key", Value: ref(t, "env:KEY")},
		"cookie": {Type: "API_KEY", In: "COOKIE", Name: "key", Value: ref(t, "env:KEY")},
		"bearer": {Type: "BEARER", Value: ref(t, "env:KEY")},
		"basic":  {Type: "BASIC", Username: ref(t, "env:USER"), Password: ref(t, "env:KEY")},
		"client": {Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:USER"), ClientSecret: ref(t, "env:KEY")},
		"client in the body": {
			Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:USER"), ClientSecret: ref(t, "env:KEY"), ClientAuth: "BODY",
		},
		"refresh token": {Type: "OAUTH2", TokenURL: "/token", Grant: "REFRESH_TOKEN", ClientID: ref(t, "env:USER"), RefreshToken: ref(t, "env:REFRESH")},
		"login":         session,
		"password":      {Type: "OAUTH2", TokenURL: "/token", Grant: "PASSWORD", Username: ref(t, "env:USER"), Password: ref(t, "env:KEY")},
		"assertion":     {Type: "OAUTH2", TokenURL: "/token", Grant: "JWT_BEARER", JWT: exchange.JWT{Alg: "HS256", Key: ref(t, "env:KEY"), Claims: map[string]exchange.Texts{"pin": {"${pin}"}}}, Secrets: map[string]secret.Ref{"pin": ref(t, "env:KEY")}},
		"further field": {Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:USER"), ClientAuth: "JWT", JWT: exchange.JWT{Alg: "HS256", Key: ref(t, "env:KEY")}, Params: map[string]exchange.Texts{"pin": {"${pin}"}}, Secrets: map[string]secret.Ref{"pin": ref(t, "env:KEY")}},
		"JWT":           {Type: "JWT", JWT: exchange.JWT{Alg: "HS256", Key: ref(t, "env:KEY")}},
		"AWS":           {Type: "CUSTOM", Signing: exchange.SigningAWS, Sign: exchange.Sign{Key: ref(t, "env:KEY"), KeyID: ref(t, "env:USER"), Token: ref(t, "env:KEY"), Region: "r", Service: "s"}},
	} {
		call := &Call{Request: asking(c), Retry: fault.RetryPolicy{MaxAttempts: 1, RetryAfterCap: 1}.WithDefaults()}
		call.Retry.MaxAttempts = 1
		_, err := StackSigned(failing{fault.BadBody}, secrets, &turnstile{}).Do(t.Context(), call)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.BadBody || f.Status != 418 || !f.Unsent || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: %v is another fault", name, err)
		}
		for _, shown := range []string{err.Error(), fmt.Sprintf("%+v %#v", f, f.Err), fmt.Sprint(errors.Unwrap(f))} {
			if strings.Contains(shown, "kanari") || strings.Contains(shown, "YW5u") || strings.Contains(shown, "a2FuYXJp") {
				t.Errorf("%s: the secret is in %s", name, shown)
			}
		}
		if !strings.Contains(err.Error(), "[secret]") {
			t.Errorf("%s: nothing was hidden in %s", name, err)
		}
	}
}

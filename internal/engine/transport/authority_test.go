package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// authority is an upstream and its token endpoint. Like many of its kind it
// repeats in its answers what it was told.
type authority struct {
	mu      sync.Mutex
	life    string        // expires_in as it is written; "" says nothing
	takes   time.Duration // a token call
	serves  time.Duration // a request for the resource
	rotates bool
	says    func(n int) *exchange.Response // to token call n, from 1; nil is a token
	deny    func(token string) bool        // on top of what it knows

	asked   []url.Values // forms of the token calls
	refresh string       // the one refresh token it takes; "" takes all
	live    map[string]bool
	served  int // requests for the resource
	refused int // of them answered 401
}

func (a *authority) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	if r.URL.Path == "/token" {
		return a.grant(ctx, r)
	}
	<-time.After(a.serves)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served++
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !a.live[token] || a.deny != nil && a.deny(token) {
		a.refused++
		return answer(401, "the token "+token+" is not accepted"), nil
	}
	return answer(200, `{"items": [], "your token": "`+token+`"}`), nil
}

func (a *authority) grant(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	form, _ := url.ParseQuery(string(r.Body))
	a.mu.Lock()
	a.asked = append(a.asked, form)
	n := len(a.asked)
	a.mu.Unlock()
	select {
	case <-time.After(a.takes):
	case <-ctx.Done(): // nobody hears the answer
		a.mu.Lock()
		defer a.mu.Unlock()
		a.issue(n)
		return nil, fault.New(fault.Network, ctx.Err())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.says != nil {
		if said := a.says(n); said != nil {
			return said, nil
		}
	}
	if got := form.Get("refresh_token"); a.refresh != "" && got != a.refresh {
		return answer(400, `{"error": "invalid_grant", "error_description": "`+got+` is spent"}`), nil
	}
	return answer(200, a.issue(n)), nil
}

func (a *authority) issue(n int) string {
	if a.live == nil {
		a.live = map[string]bool{}
	}
	token := fmt.Sprint("token-kanari-", n)
	a.live[token] = true
	out := map[string]any{"access_token": token, "token_type": "bearer"}
	if a.life != "" {
		out["expires_in"] = json.RawMessage(a.life)
	}
	if a.rotates {
		a.refresh = fmt.Sprint("refresh-kanari-", n)
		out["refresh_token"] = a.refresh
	}
	text, _ := json.Marshal(out)
	return string(text)
}

func (a *authority) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.live)
}

func answer(status int, body string, header ...string) *exchange.Response {
	h := exchange.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &exchange.Response{Status: status, Header: h, Body: []byte(body), WireBytes: int64(len(body))}
}

var grantSecrets = vault{"env:ID": "client 1", "env:SECRET": "canary&kanari", "env:REFRESH": "refresh-kanari-0"}

func grantOf(t *testing.T, change func(*exchange.Credential)) exchange.Credential {
	c := exchange.Credential{Type: "OAUTH2", TokenURL: "/token", ClientID: ref(t, "env:ID"), ClientSecret: ref(t, "env:SECRET"), Scope: "read", Audience: "works"}
	if change != nil {
		change(&c)
	}
	return c.WithDefaults()
}

func refreshing(t *testing.T) func(*exchange.Credential) {
	return func(c *exchange.Credential) { c.Grant, c.RefreshToken = "REFRESH_TOKEN", ref(t, "env:REFRESH") }
}

// upon asks a chain for the resource.
func upon(ctx context.Context, chain Doer, c exchange.Credential) (*Call, *exchange.Response, error) {
	return trying(ctx, chain, c, 0)
}

// trying tries so many times; 0 is as often as usual.
func trying(ctx context.Context, chain Doer, c exchange.Credential, attempts int) (*Call, *exchange.Response, error) {
	target, _ := url.Parse("https://api.example.org/works?rows=5")
	call := &Call{
		Request: &exchange.Request{Method: "GET", URL: target, Header: exchange.Header{}, Replayable: true, Credential: c, CredentialRequired: true},
		Key:     "k", Retry: fault.RetryPolicy{MaxAttempts: attempts}.WithDefaults(),
	}
	response, err := chain.Do(ctx, call)
	return call, response, err
}

// quiet fails if a secret is in anything a caller can see.
func quiet(t *testing.T, call *Call, response *exchange.Response, err error) {
	t.Helper()
	notes, _ := json.Marshal(call.Notes)
	for _, seen := range []string{fmt.Sprintf("%+v %v", call, err), fmt.Sprintf("%+v", *call.Request), string(notes), fmt.Sprintf("%+v", response)} {
		if strings.Contains(seen, "kanari") {
			t.Errorf("a secret is in %s", seen)
		}
	}
	if response != nil && strings.Contains(string(response.Body), "kanari") {
		t.Errorf("a secret is in %s", response.Body)
	}
}

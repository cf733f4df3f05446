package transport

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// A secret in the query of a login, under whatever name, is in no error and in nothing that a span tells.
func TestALoginByGetIsToldNobody(t *testing.T) {
	credential := exchange.Credential{Type: "SESSION", Username: ref(t, "env:USER"), Password: ref(t, "env:PASS"), Name: "X-Session",
		Login: exchange.Login{URL: "/login", Method: "GET", Basic: true, Query: map[string]string{"plain": "${password}"}, Headers: map[string]string{"X-App": "a ${username}"}, Token: path(t, "$.token")}}.WithDefaults()
	if complaints := credential.Complaints(); len(complaints) > 0 {
		t.Fatal(complaints)
	}
	secrets := named{"env:USER": "canary-user1", "env:PASS": "canary-pass&"}
	logins := 0
	up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
		if r.URL.Path != "/login" {
			return &exchange.Response{Status: 200, Body: []byte(r.Header.Get("X-Session"))}, nil
		}
		logins++
		if r.Method != "GET" || r.Body != nil || r.URL.RawQuery != "plain=canary-pass%26" || r.Header.Get("X-App") != "a canary-user1" || r.Header.Get("Authorization") != "Basic "+basicPair("canary-user1", "canary-pass&").Reveal() {
			t.Errorf("the login was %s %s %v", r.Method, r.URL, r.Header)
		}
		if logins == 1 {
			return nil, fault.New(fault.Network, &url.Error{Op: "Get", URL: r.URL.String(), Err: errors.New("reset")})
		}
		return &exchange.Response{Status: 200, Body: []byte(`{"token": "canary-token"}`)}, nil
	})
	in := call()
	in.Request.Credential, in.Request.CredentialRequired, in.Retry.MaxAttempts = credential, true, 1
	stack := StackSigned(up, secrets, &turnstile{})
	if _, err := stack.Do(t.Context(), in); err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	response, err := stack.Do(t.Context(), in)
	if err != nil || strings.Contains(string(response.Body), "canary") {
		t.Errorf("%v, %v", response, err)
	}
	told := &Call{Request: &exchange.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "h", Path: "/login", RawQuery: "plain=canary"}}, private: true}
	if got := told.tracedAddress(); got != "https://h/login" {
		t.Error(got)
	}
}

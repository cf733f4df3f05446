package transport

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// A secret in the path reaches the upstream and nobody else: not the evidence, not an error that repeats the address, not
// the address of a redirect, which is followed with it all the same.
func TestASecretInThePath(t *testing.T) {
	const key = "canary/key+1?&"
	secrets := named{"env:KEY": key}
	var asked []string
	up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
		asked = append(asked, r.URL.EscapedPath())
		switch {
		case strings.HasSuffix(r.URL.Path, "/broken"):
			return nil, fault.New(fault.Network, &url.Error{Op: "Get", URL: r.URL.String(), Err: errors.New("connection reset")})
		case len(asked) == 1:
			return &exchange.Response{Status: 302, Header: exchange.Header{"Location": {"/bot" + url.PathEscape(key) + "/moved"}}}, nil
		}
		return &exchange.Response{Status: 200, Body: []byte(r.URL.String() + " " + r.URL.Path)}, nil
	})
	do := func(last string) (*Call, *exchange.Response, error) {
		render, err := exchange.Compile(exchange.Parts{HTTP: exchange.Config{BaseURL: "https://api.example.org", AllowRedirects: true}, Request: exchange.RequestConfig{Path: "/bot${secret.key}/" + last}})
		if err != nil {
			t.Fatal(err)
		}
		in := call()
		if in.Request, err = render.Render(tmpl.Vars{}); err != nil {
			t.Fatal(err)
		}
		in.Request.Credential, in.Request.CredentialRequired = exchange.Credential{Type: "API_KEY", In: "PATH", Value: ref(t, "env:KEY")}, true
		in.Retry.MaxAttempts = 1
		response, err := StackSigned(up, secrets, &turnstile{}).Do(t.Context(), in)
		return in, response, err
	}
	in, response, err := do("updates")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bot" + url.PathEscape(key) + "/updates", "/bot" + url.PathEscape(key) + "/moved"}
	if strings.Join(asked, " ") != strings.Join(want, " ") {
		t.Errorf("asked %v, want %v", asked, want)
	}
	shown := string(response.Body) + in.Notes.Request.URL + in.Notes.Request.RedirectedTo + in.Notes.Response.Sample + in.Request.Describe()
	if strings.Contains(shown, "canary") || !strings.Contains(in.Notes.Request.RedirectedTo, "/bot[secret]/moved") || !strings.Contains(in.Notes.Request.URL, "/bot[secret]/updates") {
		t.Error(shown)
	}
	if _, _, err := do("broken"); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "[secret]") {
		t.Error(err)
	}
}

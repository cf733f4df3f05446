package transport

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// named reveals what it holds; the rest is absent.
type named map[string]string

func (n named) Reveal(_ context.Context, ref secret.Ref, _ secret.Purpose) (secret.Text, error) {
	if value, ok := n[ref.String()]; ok {
		return secret.New(value), nil
	}
	return secret.Text{}, secret.ErrAbsent
}

// Requests carry all credentials of their list, those apart that may be left out and are absent; none of them is in
// what stands above, in the answer or in an error.
func TestSeveralCredentialsAtOnce(t *testing.T) {
	first := exchange.Credential{Type: "API_KEY", In: "HEADER", Name: "X-Key", Value: ref(t, "env:KEY")}
	further := []exchange.Further{
		{Name: "institution", Credential: exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "inst", Value: ref(t, "env:INST")}, Optional: true},
		{Name: "account", Credential: exchange.Credential{Type: "BASIC", In: "HEADER", Name: "Authorization", Username: ref(t, "env:USER"), Password: ref(t, "env:PASS")}},
	}
	all := named{"env:KEY": "canary-key", "env:INST": "canary-inst", "env:USER": "canary-user1", "env:PASS": "canary-pass"}
	for name, c := range map[string]struct {
		lacks    string
		required bool
		sent     string // X-Key, query, whether there is an account
	}{
		"all":                  {"", true, "canary-key inst=canary-inst true"},
		"without the optional": {"env:INST", true, "canary-key  true"},
		"without a needed one": {"env:PASS", true, ""},
		"anonymous":            {"env:PASS", false, "  false"},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := named{}
			for key, value := range all {
				if key != c.lacks {
					secrets[key] = value
				}
			}
			var sent string
			echo := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
				sent = strings.Join([]string{r.Header.Get("X-Key"), r.URL.RawQuery, map[bool]string{true: "true", false: "false"}[r.Header.Get("Authorization") != ""]}, " ")
				return &exchange.Response{Status: 200, Body: []byte(strings.Join([]string{all["env:KEY"], all["env:INST"], all["env:USER"], all["env:PASS"], r.Header.Get("Authorization")}, " "))}, nil
			})
			in := call()
			in.Request.URL.RawQuery = ""
			in.Request.Credential, in.Request.Further, in.Request.CredentialRequired = first, further, c.required
			response, err := authenticated{echo, secrets, nil}.Do(t.Context(), in)
			if sent != c.sent {
				t.Errorf("sent %q, want %q", sent, c.sent)
			}
			if c.sent == "" {
				if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.Unauthorized || !f.Unsent {
					t.Error(err)
				}
				return
			}
			if err != nil || name == "all" && strings.Contains(string(response.Body), "canary") {
				t.Errorf("%s, %v", response.Body, err)
			}
			if len(in.Request.Header) != 0 && in.Request.Header.Get("X-Key") != "" || in.Request.URL.RawQuery != "" {
				t.Error("the request above holds a credential")
			}
		})
	}
}

package trust

import (
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
)

func ref(t *testing.T, text string) secret.Ref {
	t.Helper()
	var r secret.Ref
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHostOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://API.Example.org/v1": "api.example.org", "https://api.example.org:443": "api.example.org", "https://api.example.org.:8443": "https://api.example.org:8443", "http://api.example.org:8443": "api.example.org:8443",
		"http://api.example.org": "api.example.org:80", "http://127.0.0.1:81": "127.0.0.1:81", "https://[::1]/": "[::1]", "http://[::1]:82/": "[::1]:82",
		"nats://bus": "bus:4222", "tls://bus": "tls://bus:4222", "https://ap\u0130.example.org": "ap\u0130.example.org", "http://api.example.org:443": "api.example.org:443",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := HostOf(u); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// Where a token is fetched at one host and used at another, both get something of the
// secret.
func TestTrust01TokenGoesToTheOtherHostToo(t *testing.T) {
	c := exchange.Credential{Type: "OAUTH2", ClientID: ref(t, "env:ID"), ClientSecret: ref(t, "env:SECRET"), TokenURL: "https://login.example.org/token"}
	var got []string
	for _, u := range Sorted(usesOf(exchange.Config{BaseURL: "https://api.example.org"}, c)) {
		got = append(got, u.Ref.String()+" "+u.Host)
	}
	if want := "env:ID api.example.org, env:SECRET api.example.org, env:ID login.example.org, env:SECRET login.example.org"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A host that a shell would take apart is quoted in the command to type.
func TestTrust01CommandIsSafeToPaste(t *testing.T) {
	if got := (Use{OfSecret(ref(t, "env:KEY")), `a;touch x`}).Command(); got != "patra source trust env:KEY 'a;touch x'" {
		t.Error(got)
	}
}

func TestAllowsCommand(t *testing.T) {
	p := Policy{Commands: []string{"pass show ncbi", "vault read *", "  padded   key "}}
	for line, want := range map[string]bool{
		"pass show ncbi": true, "pass  show ncbi": true, "padded key": true, "vault read secret/x": true,
		"pass show": false, "pass show ncbi --clip": false, "pass": false, "sh -c id": false, "vault read": false, "vault read a b": false, "vault read -format=json": false, "vault write a": false, "": false,
	} {
		if p.AllowsCommand(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
	if (Policy{}).AllowsCommand("") || (Policy{Commands: []string{""}}).AllowsCommand("x") {
		t.Error("nothing is a command")
	}
}

// What is told has the command to type, safe for a shell.
func TestStoppedTellsWhatToType(t *testing.T) {
	exec := Use{OfSecret(ref(t, "exec:print 'my key'; id")), "api.example.org"}
	s := &Stopped{What: "source mine", Refused: []Refusal{{exec, NotListed}, {Use{OfSecret(ref(t, "env:KEY")), "api.example.org"}, NotAgreed}}}
	text := s.Error()
	for _, want := range []string{
		"source mine is stopped", "run `print 'my key'; id`", "trust: {commands: ['print '\\''my key'\\''; id']}",
		"patra source trust env:KEY api.example.org", `patra source trust 'exec:print '\''my key'\''; id' api.example.org`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	s.Command = "patra source trust mine"
	if text := s.Error(); !strings.HasSuffix(text, s.Command) || strings.Contains(text, "trust env:KEY") {
		t.Error(text)
	}
	if s.OnlyConsent() || !(&Stopped{Refused: s.Refused[1:]}).OnlyConsent() {
		t.Error("which consent is missing")
	}
}

// A key that signs, and every secret with a name, needs consent like any other: for the token
// endpoint and for the host that the token goes to.
func TestTrust01KeysAndNamedSecretsNeedConsent(t *testing.T) {
	c := exchange.Credential{Type: "OAUTH2", Grant: "JWT_BEARER", TokenURL: "https://login.example.org/token", JWT: exchange.JWT{Key: ref(t, "file:/key.pem"), KeyID: ref(t, "env:KID")}, Secrets: map[string]secret.Ref{"tenant": ref(t, "env:TENANT")}}
	var got []string
	for _, u := range Sorted(usesOf(exchange.Config{BaseURL: "https://api.example.org"}, c)) {
		got = append(got, u.Ref.String()+" "+u.Host)
	}
	if want := "env:KID api.example.org, env:TENANT api.example.org, file:/key.pem api.example.org, env:KID login.example.org, env:TENANT login.example.org, file:/key.pem login.example.org"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whoever may have a token may not therefore replace the file it is in.
func TestTrust01ReplacingAFileNeedsConsentOfItsOwn(t *testing.T) {
	c := exchange.Credential{Type: "OAUTH2", Grant: "REFRESH_TOKEN", Rotates: true, TokenURL: "/token", RefreshToken: ref(t, "file:/run/secrets/refresh")}
	uses := Sorted(usesOf(exchange.Config{BaseURL: "https://api.example.org"}, c))
	if len(uses) != 2 || uses[0].Host == uses[1].Host {
		t.Fatal(uses)
	}
	if got := uses[0].String(); got != "let api.example.org replace what the file /run/secrets/refresh holds" {
		t.Error(got)
	}
	if got := uses[0].Command(); got != "patra source trust file:/run/secrets/refresh '(replaces it) api.example.org'" {
		t.Error(got)
	}
	c.Rotates = false
	if without := usesOf(exchange.Config{BaseURL: "https://api.example.org"}, c); len(without) != 1 {
		t.Error(without)
	}
}

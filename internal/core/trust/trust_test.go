package trust

import (
	"net/url"
	"strings"
	"testing"

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
		"https://API.Example.org/v1": "api.example.org", "https://api.example.org:443": "api.example.org", "https://api.example.org.:8443": "api.example.org:8443",
		"http://api.example.org": "api.example.org:80", "http://127.0.0.1:81": "127.0.0.1:81", "https://[::1]/": "[::1]", "http://[::1]:82/": "[::1]:82",
		"nats://bus": "bus:4222", "http://api.example.org:443": "api.example.org:443",
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
	exec := Use{ref(t, "exec:print 'my key'; id"), "api.example.org"}
	s := &Stopped{What: "source mine", Refused: []Refusal{{exec, NotListed}, {Use{ref(t, "env:KEY"), "api.example.org"}, NotAgreed}}}
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

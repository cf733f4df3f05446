package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Whoever agreed that a host gets a token did not agree that it replaces the file: nothing is
// spent or written until somebody agrees to both.
func TestTrust01AFileIsReplacedWithConsentOnly(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "refresh")
	if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ref secret.Ref
	if err := ref.UnmarshalText([]byte("file:" + file)); err != nil {
		t.Fatal(err)
	}
	const host = "auth.example.org"
	for name, c := range map[string]struct {
		agreed  []string
		replace bool
	}{
		"nothing":      {nil, false},
		"sending only": {[]string{host}, false},
		"another host": {[]string{host, trust.ReplacedBy("evil.example")}, false},
		"both":         {[]string{host, trust.ReplacedBy(host)}, true},
	} {
		allowed := map[string][]trust.Ref{}
		for _, h := range c.agreed {
			allowed[h] = []trust.Ref{trust.OfSecret(ref)}
		}
		in := Installed{Config: config.Config{Trust: trust.Policy{Folders: []string{folder}, Secrets: allowed}}}
		spent := false
		err := in.Guard().RotateToken(t.Context(), ref, secret.Purpose{Host: host}, func(context.Context, secret.Text, func() error) (secret.Text, error) {
			spent = true
			return secret.New("second"), nil
		})
		content, _ := os.ReadFile(file)
		var refused *trust.Refusal
		if spent != c.replace || (err == nil) != c.replace || !c.replace && !errors.As(err, &refused) || strings.TrimSpace(string(content)) != map[bool]string{true: "second", false: "first"}[c.replace] {
			t.Errorf("%s: spent %v, %v, the file holds %q", name, spent, err, content)
		}
		if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

package daemon

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
)

func referenceTo(t *testing.T, text string) secret.Ref {
	t.Helper()
	var r secret.Ref
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCredentialUse(t *testing.T) {
	t.Setenv("PATRA_TEST_KEY", "4711-canary")
	t.Setenv("PATRA_TEST_WORD", "demo")
	in := Installed{}
	yes, no := true, false
	for _, c := range []struct {
		ref      string
		required *bool
		want     string
	}{
		{"env:PATRA_TEST_KEY", &yes, "key (API_KEY in HEADER X-Key, from env:PATRA_TEST_KEY, present)"},
		{"env:PATRA_TEST_WORD", &yes, "from env:PATRA_TEST_WORD, present, but so short that words which contain it are garbled in what is stored: get a longer one)"},
		{"env:PATRA_TEST_NONE", &yes, "key (API_KEY in HEADER X-Key, from env:PATRA_TEST_NONE, absent)"},
		{"env:PATRA_TEST_NONE", &no, "key (API_KEY in HEADER X-Key, from env:PATRA_TEST_NONE, absent): optional, so requests are anonymous"},
		{"file:" + filepath.Join(t.TempDir(), "none"), &yes, "not looked at: the file is not below a folder listed under trust.folders)"},
		{"file:/run/secrets/none-of-these", &yes, "absent)"},
		{"exec:pass show key", &yes, "from exec:pass show key, printed by a command)"},
	} {
		use := in.CredentialUse(registry.Settings{Auth: exchange.Auth{Credential: "key", Required: c.required}, Credential: exchange.Credential{Type: "API_KEY", Name: "X-Key", Value: referenceTo(t, c.ref)}.WithDefaults()})
		if got := use.String(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if got := in.CredentialUse(registry.Settings{}).String(); !strings.HasPrefix(got, "none") {
		t.Error(got)
	}
	several := in.CredentialUse(registry.Settings{Auth: exchange.Auth{Credentials: []string{"key", "inst?"}, Required: &yes},
		Credential: exchange.Credential{Type: "API_KEY", Name: "X-Key", Value: referenceTo(t, "env:PATRA_TEST_KEY")}.WithDefaults(),
		Further:    []exchange.Further{{Name: "inst", Optional: true, Credential: exchange.Credential{Type: "API_KEY", Name: "X-Inst", Value: referenceTo(t, "env:PATRA_TEST_NONE")}.WithDefaults()}}})
	want := "present); inst (API_KEY in HEADER X-Inst, from env:PATRA_TEST_NONE, absent): optional, so requests go without it"
	if got := several.String(); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

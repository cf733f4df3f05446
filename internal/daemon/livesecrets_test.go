package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// house is a program with a folder of secrets that patra.yaml allows.
type house struct {
	*testing.T
	app    *App
	folder string
}

func newHouse(t *testing.T, commands ...string) *house {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	h := &house{T: t, folder: t.TempDir()}
	text := "trust:\n  folders: ['" + h.folder + "']\n"
	if len(commands) > 0 {
		text += "  commands: ['" + strings.Join(commands, "', '") + "']\n"
	}
	installed, err := ReadInstalled(h.write("patra.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	h.app, err = Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Installed: installed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.app.Close() })
	return h
}

func (h *house) write(name, text string) string {
	h.Helper()
	path := filepath.Join(h.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

func (h *house) ref(text string) (out secret.Ref) {
	h.Helper()
	if err := out.UnmarshalText([]byte(text)); err != nil {
		h.Fatal(err)
	}
	return out
}

func (h *house) agrees(s spec.Snapshot) {
	h.Helper()
	if err := h.app.Guard().Agree(h.Context(), trust.Of(s), ingest.Act{Actor: "ann", Reason: "ours"}); err != nil {
		h.Fatal(err)
	}
}

func snapshotOf(c exchange.Credential) spec.Snapshot {
	s := spec.Snapshot{Source: "mine", Endpoint: "items", Operation: ingest.Harvest}
	s.HTTP.BaseURL, s.Credential = "https://api.example.org/v1", c
	return s
}

// A bundle is made of the snapshot of whoever wrote the source. What nobody agreed to is
// not read for it, and what somebody did is hidden in it, names that are keys included.
func TestTrust01BundlesReadOnlyWhatWasAgreedTo(t *testing.T) {
	h := newHouse(t)
	t.Setenv("PATRA_TEST_NAME", "AKIA-4711-KANARI")
	file := h.write("key", "kanari-from-a-file\n")
	s := snapshotOf(exchange.Credential{Type: "BASIC", Username: h.ref("env:PATRA_TEST_NAME"), Password: h.ref("file:" + file)})
	const text = "AKIA-4711-KANARI kanari-from-a-file"
	shown := func() string { return h.app.liveSecrets(t.Context(), &s).String(text) }

	if got := shown(); got != text {
		t.Errorf("nobody agreed, and it was read: %s", got)
	}
	h.agrees(s)
	if got := shown(); got != "[secret] [secret]" {
		t.Errorf("agreed to, and shown: %s", got)
	}
	elsewhere := s
	elsewhere.HTTP.BaseURL = "https://other.example.org"
	if got := h.app.liveSecrets(t.Context(), &elsewhere).String(text); got != text {
		t.Errorf("agreed to for another host, and read: %s", got)
	}
}

// Whether a secret was changed is found out within the limits of every other use: no
// command is run, nothing is read that nobody agreed to or that lies elsewhere, and a
// file that is no secret counts as none.
func TestTrust13SecretsAreComparedWithinTheLimits(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "was-run")
	command := "touch " + mark
	h := newHouse(t, command)
	outside := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(outside, []byte("kanari-outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	noted := func(s spec.Snapshot) string {
		t.Helper()
		if err := h.app.noteSecrets(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		mark, err := h.app.store.SecretMark(t.Context(), ingest.Scope{Source: s.Source, Endpoint: s.Endpoint, Operation: s.Operation})
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	of := func(endpoint, ref string) spec.Snapshot {
		s := snapshotOf(exchange.Credential{Type: "API_KEY", Name: "X-Key", Value: h.ref(ref)})
		s.Endpoint = endpoint
		return s
	}

	inside := of("inside", "file:"+h.write("key", "kanari-inside"))
	if noted(inside) != "" {
		t.Error("nobody agreed, and it was read")
	}
	h.agrees(inside)
	if !secret.Marks(noted(inside), secret.New("kanari-inside")) {
		t.Error("a secret that was agreed to is not compared")
	}
	elsewhere := of("elsewhere", "file:"+outside)
	h.agrees(elsewhere)
	if noted(elsewhere) != "" {
		t.Error("a file outside of the folders was read")
	}
	book := of("book", "file:"+h.write("book", strings.Repeat("kanari", 20_000)))
	h.agrees(book)
	if !secret.Marks(noted(book), secret.Text{}) {
		t.Error("a file that is too long to be a secret counts as one")
	}
	run := of("run", "exec:"+command)
	h.agrees(run)
	if noted(run) != "" {
		t.Error("what a command prints is compared")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command was run")
	}
}

// Whether a secret is there is told by its size: what it holds is nobody's business who
// only asks.
func TestTrust01PresenceReadsNoFile(t *testing.T) {
	h := newHouse(t)
	in := h.app.config.Installed
	for name, c := range map[string]struct {
		content        string
		present, short bool
	}{
		"none": {"", false, false}, "word": {"demo\n", true, true}, "seven": {"kanari1\n", true, true}, "key": {"kanari-4711\n", true, false},
		"book": {strings.Repeat("kanari", 20_000), true, false}, // reading it would fail
	} {
		ref := h.ref("file:" + h.write(name, c.content))
		if in.HasSecret(ref) != c.present || in.ShortSecret(ref) != c.short {
			t.Errorf("%s: present %v, short %v", name, in.HasSecret(ref), in.ShortSecret(ref))
		}
	}
	t.Setenv("PATRA_TEST_WORD", "demo12")
	if ref := h.ref("env:PATRA_TEST_WORD"); !in.HasSecret(ref) || !in.ShortSecret(ref) || in.HasSecret(h.ref("exec:true")) || in.HasSecret(h.ref("file:"+h.folder)) {
		t.Error("a variable, a command or a folder")
	}
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/access"
)

// spelledToken is the form of a token.
var spelledToken = regexp.MustCompile(`^patra_[A-Za-z0-9_-]{43}$`)

// R2: a token is shown once and kept nowhere; it is listed, revoked and audited.
func TestR2TokensAreMadeListedAndRevoked(t *testing.T) {
	d := newDesk(t)
	d.empty()
	made := d.expect(term.ExitOK, "token", "create", "grafana", "--role", "viewer", "--source", "crossref", "--reason", "dashboards")
	text := strings.TrimSpace(made.out)
	if !spelledToken.MatchString(text) || strings.Contains(made.err, text) {
		t.Fatalf("%s%s", made.out, made.err)
	}
	d.holds(made.err, "access token 1 grafana: viewer, crossref, until", "It is not shown again")
	d.holds(d.expect(term.ExitConflict, "token", "create", "grafana", "--role", "admin").err, "has the name grafana already", "patra token revoke grafana")
	list := d.expect(term.ExitOK, "token", "list").out
	d.holds(list, "grafana", "viewer", "crossref", "valid")
	var rows struct {
		Items []access.Token `json:"items"`
	}
	if out := d.expect(term.ExitOK, "token", "list", "-o", "json").out; json.Unmarshal([]byte(out), &rows) != nil || len(rows.Items) != 1 || rows.Items[0].Role != access.Viewer {
		t.Errorf("%s", out)
	}
	d.holds(d.expect(term.ExitOK, "token", "revoke", "grafana", "--dry-run").err, "nothing was written")
	d.expect(term.ExitOK, "token", "revoke", "grafana", "--reason", "leaked")
	d.holds(d.expect(term.ExitOK, "token", "revoke", "1").err, "was over already")
	d.holds(d.expect(term.ExitNotFound, "token", "revoke", "nobody").err, "patra token list")
	d.holds(d.expect(term.ExitOK, "token", "list").out, "revoked")
	log := d.expect(term.ExitOK, "audit", "list").out
	d.holds(log, "token.create", "token.revoke", "dashboards", "leaked")
	files, err := filepath.Glob(d.file + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err != nil || strings.Contains(string(raw), text) {
			t.Errorf("%s holds the token, or cannot be read: %v", file, err)
		}
	}
}

// R2: a token in a file is the user's alone, and replaces no file.
func TestR2TokenFileIsPrivate(t *testing.T) {
	d := newDesk(t)
	d.empty()
	path := filepath.Join(d.dir, "ci.token")
	made := d.expect(term.ExitOK, "token", "create", "ci", "--role", "operator", "--out", path, "-o", "json")
	text, err := os.ReadFile(path)
	if err != nil || !spelledToken.MatchString(strings.TrimSpace(string(text))) || strings.Contains(made.out+made.err, strings.TrimSpace(string(text))) {
		t.Fatalf("%s: %v\n%s%s", text, err, made.out, made.err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	d.holds(d.expect(term.ExitUsage, "token", "create", "cd", "--role", "operator", "--out", path).err, "is there already")
	if strings.Contains(d.expect(term.ExitOK, "token", "list").out, "cd") {
		t.Error("a token was made that nobody has")
	}
}

func TestTokenCreateRefuses(t *testing.T) {
	d := newDesk(t)
	d.empty()
	for text, args := range map[string][]string{
		"--role is needed":          {"x"},
		"unknown role":              {"x", "--role", "root"},
		"cannot be the name":        {"7", "--role", "viewer"},
		"lasts a year at most":      {"x", "--role", "viewer", "--expires", "400d"},
		"has to last for some time": {"x", "--role", "viewer", "--expires", "0s"},
		"--source crosref: no such": {"x", "--role", "viewer", "--source", "crosref"},
		"--expires":                 {"x", "--role", "viewer", "--expires", "soon"},
	} {
		d.holds(d.expect(term.ExitUsage, append([]string{"token", "create"}, args...)...).err, text)
	}
	d.expect(term.ExitOK, "token", "create", "x", "--role", "viewer", "--expires", "400d", "--more-than-a-year")
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// What patra.yaml does not list cannot be agreed to: the command says so with the lines
// to write, and does not promise what the next harvest refuses again.
func TestTrust01WhatIsNotListedCannotBeAgreedTo(t *testing.T) {
	d := newDesk(t)
	t.Setenv("PATRA_TEST_USER", "reader-4711")
	command, mark := d.script()
	folder := filepath.Join(d.dir, "it's secret")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(folder, "key")
	if err := os.WriteFile(key, []byte("kanari-4711-0815"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := newUpstream(t)
	test := func(file string) []string { return []string{"source", "test", file, "--window", firstOfMarch} }
	for name, c := range map[string]struct{ ref, lines string }{
		"a command": {"exec:" + command, "trust:\n  commands:\n    - '" + command + "'"},
		"a file":    {"file:" + key, "trust:\n  folders:\n    - '" + strings.ReplaceAll(folder, "'", "''") + "'"},
	} {
		file := d.shared(up.URL, fmt.Sprintf("credentials:\n  key: {type: BASIC, username: env:PATRA_TEST_USER, password: %q}\nauth: {credential: key}", c.ref), "allowHttp: true")
		for _, args := range [][]string{{file, "--yes"}, {file, "--yes"}, {file, "--dry-run"}, {c.ref, up.host(), "--yes"}} {
			r := d.expect(term.ExitAuth, append([]string{"source", "trust"}, args...)...)
			d.holds(r.err, c.lines, "patra.yaml", filepath.Join("patra", "patra.yaml"), "run the same command again")
			d.holds(r.out, consent.StateListed)
			if len(args) == 2 && strings.Contains(r.out, c.ref+" ") && strings.Contains(r.out, consent.StateAgree) && !strings.Contains(r.out, "env:PATRA_TEST_USER") {
				t.Errorf("%s: consent is promised:\n%s", name, r.out)
			}
		}
		d.expect(term.ExitAuth, test(file)...)
		_, lines, _ := strings.Cut(c.lines, "trust:\n")
		installed := d.installs("trust:\n" + lines + "\n")
		d.expect(term.ExitOK, "source", "trust", file, "--yes")
		d.expect(term.ExitOK, test(file)...)
		d.expect(term.ExitOK, "source", "trust", file, "--yes", "--revoke")
		if err := os.Remove(installed); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(mark) {
		t.Error("the command that is listed and agreed to was not run")
	}
}

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// trusts agrees to what files want, as a person does.
func (d *desk) trusts(files ...string) {
	d.Helper()
	for _, file := range files {
		d.expect(term.ExitOK, "source", "trust", file, "--yes")
	}
}

// upstream is an upstream that remembers everything it was sent.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newUpstream(t *testing.T) *upstream {
	l := &upstream{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		_ = r.ParseForm()
		fmt.Fprint(body, r.URL.String(), r.Header, r.PostForm)
		l.mu.Lock()
		l.sent = append(l.sent, body.String())
		l.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[{"id":"a","updated_at":"2025-03-01"}],"total":1,"access_token":"granted-token","token":"granted-token"}`)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *upstream) host() string { return strings.TrimPrefix(l.URL, "http://") }

func (l *upstream) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.sent, "\n")
}

// shared is a source file as a stranger may send it, with lines of its own.
func (d *desk) shared(address, lines string, http ...string) string {
	d.Helper()
	transport := strings.Join(append([]string{"baseUrl: " + address, "allowPrivate: true"}, http...), "\n  ")
	return d.write("mine.yaml", d.changed(source.Skeleton, "source: example", "source: mine", "baseUrl: https://api.example.org/v1", transport,
		"endpoints:", lines+"\nendpoints:"))
}

const keyFrom = "credentials:\n  key: {type: API_KEY, in: QUERY, name: api_key, value: %q}\nauth: {credential: key}"

// installs writes patra.yaml where the user has it.
func (d *desk) installs(text string) string {
	d.Helper()
	folder := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "patra")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		d.Fatal(err)
	}
	file := filepath.Join(folder, "patra.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return file
}

// script is a command that leaves a mark and prints its environment in one line.
func (d *desk) script() (command, mark string) {
	d.Helper()
	mark = filepath.Join(d.dir, "was-run")
	command = filepath.Join(d.dir, "key")
	if err := os.WriteFile(command, []byte("#!/bin/sh\ntouch "+mark+"\nenv | tr '\\n' ' '\n"), 0o700); err != nil {
		d.Fatal(err)
	}
	return command, mark
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// What a stranger's file would run, read or send is named and does not happen, by
// whatever command the file is met.
func TestTrust01ASharedFileUsesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		lines func(d *desk, command string, up, elsewhere *upstream) string
		code  string
		wants func(command string, up, elsewhere *upstream) string
	}{
		"a command": {
			func(_ *desk, command string, _, _ *upstream) string { return fmt.Sprintf(keyFrom, "exec:"+command) },
			"W-EXEC", func(command string, up, _ *upstream) string {
				return "run `" + command + "` and send what it prints to " + up.host()
			},
		},
		"a file": {
			func(*desk, string, *upstream, *upstream) string { return fmt.Sprintf(keyFrom, "file:/etc/passwd") },
			"W-SECRET-FILE", func(_ string, up, _ *upstream) string {
				return "read the file /etc/passwd and send what it holds to " + up.host()
			},
		},
		"a variable": {
			func(*desk, string, *upstream, *upstream) string { return fmt.Sprintf(keyFrom, "env:PATRA_TEST_CANARY") },
			"W-SECRET-HOST", func(_ string, up, _ *upstream) string { return "send env:PATRA_TEST_CANARY to " + up.host() },
		},
		"a login elsewhere": {
			func(_ *desk, _ string, _, elsewhere *upstream) string {
				return "credentials:\n  key: {type: SESSION, value: env:PATRA_TEST_CANARY, login: {url: \"" + elsewhere.URL + "/login\", form: {key: \"${value}\"}, token: $.token}}\nauth: {credential: key}"
			},
			"W-SECRET-HOST", func(_ string, _, elsewhere *upstream) string {
				return "send env:PATRA_TEST_CANARY to " + elsewhere.host()
			},
		},
		"a token elsewhere": {
			func(_ *desk, _ string, _, elsewhere *upstream) string {
				return "credentials:\n  key: {type: OAUTH2, tokenUrl: \"" + elsewhere.URL + "/token\", clientId: env:PATRA_TEST_CANARY, clientSecret: env:PATRA_TEST_CANARY}\nauth: {credential: key}"
			},
			"W-SECRET-HOST", func(_ string, _, elsewhere *upstream) string {
				return "send env:PATRA_TEST_CANARY to " + elsewhere.host()
			},
		},
		"an assertion elsewhere": {
			func(_ *desk, _ string, _, elsewhere *upstream) string {
				return "credentials:\n  key: {type: OAUTH2, grant: JWT_BEARER, tokenUrl: \"" + elsewhere.URL + "/token\", jwt: {alg: HS256, key: env:PATRA_TEST_CANARY}}\nauth: {credential: key}"
			},
			"W-SECRET-HOST", func(_ string, _, elsewhere *upstream) string {
				return "send env:PATRA_TEST_CANARY to " + elsewhere.host()
			},
		},
		"a file to replace": {
			func(_ *desk, _ string, _, elsewhere *upstream) string {
				return "credentials:\n  key: {type: OAUTH2, grant: REFRESH_TOKEN, rotates: true, tokenUrl: \"" + elsewhere.URL + "/token\", clientId: env:PATRA_TEST_CANARY, refreshToken: file:/etc/passwd}\nauth: {credential: key}"
			},
			"W-SECRET-FILE", func(_ string, _, elsewhere *upstream) string {
				return "let " + elsewhere.host() + " replace what the file /etc/passwd holds"
			},
		},
		"a proxy": {
			func(_ *desk, command string, _, _ *upstream) string { return "#proxy: exec:" + command },
			"W-EXEC", func(command string, _, _ *upstream) string {
				return "run `" + command + "` and send requests through the proxy it prints"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			t.Setenv("PATRA_TEST_CANARY", "kanari-4711-0815")
			command, mark := d.script()
			up, elsewhere := newUpstream(t), newUpstream(t)
			lines, http := c.lines(d, command, up, elsewhere), []string{"allowHttp: true"}
			if proxy, is := strings.CutPrefix(lines, "#"); is {
				http = append(http, proxy)
			}
			file := d.shared(up.URL, lines, http...)
			wants := c.wants(command, up, elsewhere)

			for _, args := range [][]string{{"source", "validate", file}, {"source", "diff", file}, {"source", "apply", file}} {
				r := d.run(args...)
				d.holds(r.err, c.code)
			}
			for _, args := range [][]string{{"source", "show", file}, {"source", "render", file}, {"source", "explain", file}, {"source", "export", "mine"}, {"status", "mine"}} {
				d.run(args...)
			}
			window := []string{"--window", firstOfMarch}
			for _, args := range [][]string{
				append([]string{"source", "test", file}, window...), append([]string{"source", "test", "mine"}, window...),
				{"harvest", "mine", "--from", "2025-03-01", "--to", "2025-03-02"}, {"plan", "mine", "--dry-run", "--count"},
				{"backfill", "mine", "--from", "2025-02-01", "--to", "2025-02-02"},
			} {
				r := d.expect(term.ExitAuth, args...)
				d.holds(r.err, wants, "nothing was read, run or sent", "patra source trust ", "mine")
				if args[1] == "test" {
					d.holds(r.err, c.code)
				}
			}
			d.holds(d.expect(term.ExitFindings, "status", "-o", "json").out, "patra source trust mine")
			if exists(mark) {
				t.Error("the command was run")
			}
			if heard := up.heard() + elsewhere.heard(); heard != "" {
				t.Errorf("something was sent: %s", heard)
			}
		})
	}
}

// Whoever agrees is heard, for this reference and this host, and may change their mind.
func TestTrust01ConsentIsPerReferenceAndHost(t *testing.T) {
	d := newDesk(t)
	t.Setenv("PATRA_TEST_CANARY", "kanari-4711-0815")
	t.Setenv("PATRA_TEST_OTHER", "other-kanari-0815")
	up, elsewhere := newUpstream(t), newUpstream(t)
	file := d.shared(up.URL, fmt.Sprintf(keyFrom, "env:PATRA_TEST_CANARY"))
	test := []string{"source", "test", file, "--window", firstOfMarch}

	r := d.expect(term.ExitAuth, test...)
	d.holds(r.err, "patra source trust "+file)
	d.expect(term.ExitUsage, "source", "trust", file) // nobody can be asked here
	d.holds(d.expect(term.ExitOK, "source", "trust", file, "--dry-run").out, "env:PATRA_TEST_CANARY", up.host())
	d.expect(term.ExitAuth, test...)
	d.expect(term.ExitOK, "source", "trust", file, "--yes", "--reason", "ours")
	d.expect(term.ExitOK, test...)
	d.holds(up.heard(), "kanari-4711-0815")
	d.holds(d.expect(term.ExitOK, "source", "trust").out, "env:PATRA_TEST_CANARY", up.host(), consent.StateAgreed)

	moved := d.shared(elsewhere.URL, fmt.Sprintf(keyFrom, "env:PATRA_TEST_CANARY"))
	d.expect(term.ExitAuth, "source", "test", moved, "--window", firstOfMarch)
	other := d.shared(up.URL, fmt.Sprintf(keyFrom, "env:PATRA_TEST_OTHER"))
	d.expect(term.ExitAuth, "source", "test", other, "--window", firstOfMarch)
	if heard := up.heard() + elsewhere.heard(); strings.Contains(heard, "other-kanari") || elsewhere.heard() != "" {
		t.Errorf("sent without consent: %s", heard)
	}

	file = d.shared(up.URL, fmt.Sprintf(keyFrom, "env:PATRA_TEST_CANARY"))
	d.expect(term.ExitOK, "source", "trust", "env:PATRA_TEST_CANARY", up.host(), "--revoke", "--yes")
	d.expect(term.ExitAuth, test...)
	info, err := os.Stat(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "patra", "trust.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	text, err := os.ReadFile(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "patra", "trust.jsonl"))
	if err != nil || strings.Contains(string(text), "kanari") {
		t.Errorf("%s, %v", text, err)
	}
	_ = file
}

// Consent cannot be handed over together with a file: neither in the database, nor in
// a patra.yaml that lies beside it.
func TestTrust01ConsentIsOutsideOfWhatIsHandedOver(t *testing.T) {
	d := newDesk(t)
	t.Setenv("PATRA_TEST_CANARY", "kanari-4711-0815")
	up := newUpstream(t)
	file := d.shared(up.URL, fmt.Sprintf(keyFrom, "env:PATRA_TEST_CANARY"))
	d.holds(d.expect(term.ExitOK, "source", "apply", file, "--trust", "--reason", "ours").err, "agreed")
	d.expect(term.ExitOK, "source", "test", "mine", "--window", firstOfMarch)
	d.holds(d.expect(term.ExitOK, "audit", "list").out, "trust.agree")
	d.expect(term.ExitOK, "audit", "verify")

	stranger := t.TempDir()
	t.Setenv("HOME", stranger)
	t.Setenv("XDG_CONFIG_HOME", stranger)
	d.write("patra.yaml", "trust: {secrets: {\""+up.host()+"\": [\"env:PATRA_TEST_CANARY\"]}}\n")
	t.Chdir(d.dir)
	before := up.heard()
	for _, args := range [][]string{{"source", "test", "mine", "--window", firstOfMarch}, {"harvest", "mine", "--from", "2025-03-01", "--to", "2025-03-02"}} {
		r := d.expect(term.ExitAuth, args...)
		d.holds(r.err, "patra source trust mine", "patra.yaml in this folder was not read")
	}
	if up.heard() != before {
		t.Errorf("sent without consent: %s", up.heard())
	}
	d.expect(term.ExitOK, "source", "test", "mine", "--window", firstOfMarch, "--config", "patra.yaml")
}

// Commands need the word of the installation besides, and get a small environment.
func TestTrust01Commands(t *testing.T) {
	d := newDesk(t)
	t.Setenv("PATRA_TEST_CANARY", "kanari-4711-0815")
	t.Setenv("PATRA_TEST_GIVEN", "given-on-purpose")
	command, mark := d.script()
	up := newUpstream(t)
	file := d.shared(up.URL, fmt.Sprintf(keyFrom, "exec:"+command+" show mine"))
	test := []string{"source", "test", file, "--window", firstOfMarch}

	d.installs("trust: {commands: [\"" + command + " show *\"]}\n")
	d.trusts(file)
	d.installs("")
	r := d.expect(term.ExitAuth, test...)
	d.holds(r.err, "trust.commands", command+" show mine", "patra.yaml of this installation is")
	for _, others := range []string{command, command + " show", command + " show other", command + " show mine too", command + " * *"} {
		d.installs("trust: {commands: [\"" + others + "\"]}\n")
		if got := d.run(test...).code; got == term.ExitOK != strings.HasSuffix(others, "* *") {
			t.Errorf("%s: exit code %d", others, got)
		}
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	d.installs("trust: {commands: [\"" + command + " show *\"], environment: [PATRA_TEST_GIVEN]}\n")
	d.expect(term.ExitOK, test...)
	if !exists(mark) {
		t.Fatal("the command was not run")
	}
	if heard := up.heard(); strings.Contains(heard, "kanari") || !strings.Contains(heard, "given-on-purpose") || !strings.Contains(heard, "PATH") {
		t.Errorf("the command had another environment: %s", heard)
	}
	dashed := d.shared(up.URL, fmt.Sprintf(keyFrom, "exec:"+command+" show --all"))
	d.expect(term.ExitAuth, "source", "trust", dashed, "--yes")
	d.expect(term.ExitAuth, test...)
}

// Files are read below folders that the installation names, and only regular ones.
func TestTrust01Files(t *testing.T) {
	d := newDesk(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	folder, outside := filepath.Join(d.dir, "secrets"), d.write("outside", "outside-kanari")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) string { return d.write(filepath.Join("secrets", name), text) }
	link := func(name, to string) string {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(folder, name)
	}
	up := newUpstream(t)
	for name, c := range map[string]struct {
		file, says string
		code       int
	}{
		"regular":            {put("key", "key-kanari\n"), "", term.ExitOK},
		"deeper":             {put("below/key", "key-kanari"), "", term.ExitOK},
		"a link inside":      {link("alias", filepath.Join(folder, "key")), "", term.ExitOK},
		"outside":            {outside, "trust.folders", term.ExitAuth},
		"by two dots":        {folder + "/../outside", "trust.folders", term.ExitAuth},
		"a link to outside":  {link("escape", outside), "trust.folders", term.ExitAuth},
		"the folder itself":  {folder, "trust.folders", term.ExitAuth},
		"a folder":           {filepath.Join(folder, "below"), "not a regular file", term.ExitAuth},
		"several lines":      {put("lines", "one-kanari\ntwo-kanari\n"), "line break", term.ExitAuth},
		"a name that begins": {folder + "-other/key", "trust.folders", term.ExitAuth},
		"not there":          {filepath.Join(folder, "none"), "not there", term.ExitAuth},
	} {
		d.installs("trust: {folders: [\"" + folder + "\"]}\n")
		file := d.shared(up.URL, fmt.Sprintf(keyFrom, "file:"+c.file))
		agreed := term.ExitOK
		if c.says == "trust.folders" {
			agreed = term.ExitAuth
		}
		d.expect(agreed, "source", "trust", file, "--yes")
		before := up.heard()
		r := d.expect(c.code, "source", "test", file, "--window", firstOfMarch)
		d.holds(r.err, c.says)
		if sent := up.heard() != before; sent != (c.code == term.ExitOK) {
			t.Errorf("%s: sent %v", name, sent)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	d.installs("")
	file := d.shared(up.URL, fmt.Sprintf(keyFrom, "file:"+filepath.Join(folder, "key")))
	d.expect(term.ExitOK, "source", "test", file, "--window", firstOfMarch)
}

// Bundled sources may send their keys where they come from, and nowhere else.
func TestTrust01BundledSources(t *testing.T) {
	d := newDesk(t)
	t.Setenv("OPENALEX_API_KEY", "kanari-4711-0815")
	up := newUpstream(t)
	r := d.expect(term.ExitAuth, "source", "test", "openalex", "--set", "http.baseUrl="+up.URL, "--set", "http.allowPrivate=true")
	d.holds(r.err, "patra source trust env:OPENALEX_API_KEY "+up.host())
	if up.heard() != "" {
		t.Errorf("sent without consent: %s", up.heard())
	}
	d.holds(d.expect(term.ExitOK, "source", "trust", "openalex").out, "env:OPENALEX_API_KEY", "api.openalex.org", consent.StateAgreed)
	for _, code := range []string{"openalex", "pubmed", "semanticscholar"} {
		r := d.expect(term.ExitOK, "source", "apply", d.write(code+".yaml", d.expect(term.ExitOK, "source", "export", code).out))
		if strings.Contains(r.err, "W-SECRET") || strings.Contains(r.err, "trust") {
			t.Errorf("%s", r.err)
		}
	}
}

// The events file is a file too.
func TestTrust01EventsFile(t *testing.T) {
	d := harvested(t)
	t.Setenv("HOOK_SECRET", "canary-4711-canary-4711-canary")
	command, mark := d.script()
	up := newUpstream(t)
	for reference, says := range map[string]string{"env:HOOK_SECRET": "send env:HOOK_SECRET to " + up.host(), "exec:" + command: "trust.commands", "file:/etc/passwd": "trust.folders"} {
		file := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+up.URL+", allowPrivate: true, secret: '"+reference+"'}\nroutes:\n  - to: hook\n")
		for _, args := range [][]string{{"events", "publish"}, {"events", "test", "hook"}, {"serve", "--roles", "relay"}} {
			d.holds(d.expect(term.ExitAuth, append(args, "--events", file)...).err, says, "patra events trust --events "+file)
		}
	}
	if up.heard() != "" || exists(mark) {
		t.Errorf("something happened: %s", up.heard())
	}
	file := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+up.URL+", allowPrivate: true, secret: 'env:HOOK_SECRET'}\nroutes:\n  - to: hook\n")
	d.expect(term.ExitOK, "events", "trust", "--events", file, "--yes")
	d.expect(term.ExitOK, "events", "test", "hook", "--events", file)
}

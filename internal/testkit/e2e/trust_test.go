package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// keyed is a source whose requests carry a key, beside one whose requests do not.
type keyed struct {
	*subject
	server *upsim.Server // of the source with the key
}

const keyedSource = "form-key-header"

func newKeyed(t *testing.T, database string) *keyed {
	t.Helper()
	home := t.TempDir() // of a user who agreed to nothing
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	k := &keyed{subject: ofKind(t, "token").start(t, database, upsim.Options{})}
	f := authForm(t, "key-header")
	var err error
	if k.server, err = upsim.NewServer(k.data, f.Options); err != nil {
		t.Fatal(err)
	}
	if err := k.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.server.Close() })
	file := filepath.Join(t.TempDir(), "keyed.yaml")
	if err := os.WriteFile(file, []byte(f.YAML(k.server.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, told := k.patra("source", "apply", file)
	if code != 0 || !strings.Contains(told, "W-SECRET-HOST") || !strings.Contains(told, "patra source trust "+keyedSource) {
		t.Fatalf("exit %d: %s", code, told)
	}
	return k
}

// of is a command for the source with the key.
func (k *keyed) of(args []string) []string {
	args[1] = keyedSource
	return args
}

// A source that wants a variable of this machine is stopped on every database until
// somebody agrees; then it is harvested, and the log of the database says who agreed.
func TestTrust01HarvestNeedsConsent(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		k := newKeyed(t, database)
		const auth, findings = 4, 9
		for _, args := range [][]string{k.of(k.args()), k.of(k.planArgs()), {"source", "test", keyedSource}, {"backfill", keyedSource, "--from", "2025-03-03", "--to", "2025-03-04"}} {
			code, _, told := k.patra(args...)
			if code != auth || !strings.Contains(told, "send env:FORM_SECRET to ") || !strings.Contains(told, "patra source trust "+keyedSource) {
				t.Errorf("patra %s: exit %d: %s", args[0], code, told)
			}
		}
		if code, out, _ := k.patra("status", "-o", "json"); code != findings || !strings.Contains(out, "patra source trust "+keyedSource) {
			t.Errorf("status: exit %d: %s", code, out)
		}
		if _, _, told := k.patra("db", "migrate"); !strings.Contains(told, "1 source does not run until a person agrees") || !strings.Contains(told, "patra source trust "+keyedSource) {
			t.Errorf("after an upgrade: %s", told)
		}
		if k.server.Requests() != 0 {
			t.Errorf("%d requests", k.server.Requests())
		}
		k.must("source", "trust", keyedSource, "--yes", "--reason", "ours")
		k.must("source", "test", keyedSource)
		k.must(k.of(k.args())...)
		if out := k.must("audit", "list", "-o", "json"); !strings.Contains(out, "trust.agree") || !strings.Contains(out, "env:FORM_SECRET") {
			t.Errorf("the log does not know: %s", out)
		}
		k.must("audit", "verify")
		server := strings.HasPrefix(database, "mysql:")
		for _, args := range [][]string{{"source", "trust"}, {"source", "trust", keyedSource}} {
			if out := k.must(args...); !strings.Contains(out, "env:FORM_SECRET") || !strings.Contains(out, "agreed to") {
				t.Errorf("%s", out)
			}
		}

		// Another user of the same database: what is in a file counts for nobody else.
		other := t.TempDir()
		t.Setenv("HOME", other)
		t.Setenv("XDG_CONFIG_HOME", other)
		asked := k.server.Requests()
		if code, _, told := k.patra("source", "test", keyedSource); (code == 0) != server {
			t.Errorf("exit %d: %s", code, told)
		}
		if code, _, told := k.patra("batch", "replay", "1", "--from", "upstream"); (code == auth) == server {
			t.Errorf("a replay: exit %d: %s", code, told)
		}
		if sent := k.server.Requests() > asked; sent != server {
			t.Errorf("sent %v", sent)
		}
	})
}

// A process that serves says what waits for consent, works on everything else, and
// goes on by itself when somebody agrees.
func TestTrust01OtherSourcesGoOn(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		k := newKeyed(t, database)
		k.must("source", "trust", keyedSource, "--yes")
		k.must(k.of(k.planArgs())...) // tasks of before wait in the queue
		k.must("source", "trust", keyedSource, "--revoke", "--yes")
		k.must(k.planArgs()...)
		count := func(source string) int {
			tasks, err := k.open().Tasks.List(t.Context(), view.Filter{Source: source, Limit: 1000})
			if err != nil || len(tasks) == 0 {
				t.Fatalf("%d tasks of %s, %v", len(tasks), source, err)
			}
			return len(tasks)
		}
		free, guarded := count(k.source), count(keyedSource)
		said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			defer close(ended)
			cli.Main(ctx, []string{"serve", "--log-format", "text", "--roles", "planner,executor", "--db", database}, said, said)
		}()
		if !said.hears("does not run until a person agrees", 1, ended) || !said.hears("status=SUCCEEDED", free, ended) {
			t.Fatalf("ended:\n%s", said.text.String())
		}
		if k.server.Requests() != 0 {
			t.Errorf("%d requests without consent", k.server.Requests())
		}
		k.must("source", "trust", keyedSource, "--yes")
		if !said.hears("status=SUCCEEDED", free+guarded, ended) {
			t.Fatalf("ended:\n%s", said.text.String())
		}
		stop()
		<-ended
		if text := said.text.String(); strings.Contains(text, "alarm=") {
			t.Errorf("somebody was called:\n%s", text)
		}
		failed, err := k.open().Tasks.List(t.Context(), view.Filter{Status: string(ingest.TaskFailed), Limit: 10})
		if err != nil || len(failed) != 0 {
			t.Errorf("%d tasks failed, %v", len(failed), err)
		}
	})
}

// A task whose consent is taken back while it waits is put back, not failed: no source
// is stopped for it.
func TestTrust01ATaskIsPutBack(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		k := newKeyed(t, database)
		elsewhere, err := upsim.NewServer(k.data, authForm(t, "key-header").Options)
		if err != nil {
			t.Fatal(err)
		}
		if err := elsewhere.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { elsewhere.Close() })
		k.must("source", "trust", keyedSource, "--yes")
		host := strings.TrimPrefix(elsewhere.URL(), "http://")
		args := append(k.of(k.planArgs()), "--set", "http.baseUrl="+elsewhere.URL())
		const auth = 4
		if code, _, told := k.patra(args...); code != auth || !strings.Contains(told, "patra source trust env:FORM_SECRET "+host) {
			t.Errorf("exit %d: %s", code, told)
		}
		k.must("source", "trust", "env:FORM_SECRET", host, "--yes")
		k.must(args...)
		k.must("source", "trust", "env:FORM_SECRET", host, "--revoke", "--yes")
		said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			defer close(ended)
			cli.Main(ctx, []string{"serve", "--log-format", "text", "--roles", "executor", "-v", "--db", database}, said, said)
		}()
		if !said.hears("status=", 1, ended) { // a task was worked on
			t.Fatalf("ended:\n%s", said.text.String())
		}
		stop()
		<-ended
		if text := said.text.String(); !strings.Contains(text, "patra source trust env:FORM_SECRET "+host) {
			t.Errorf("nobody was told:\n%s", text)
		}
		if elsewhere.Requests() != 0 {
			t.Errorf("%d requests without consent", elsewhere.Requests())
		}
		app := k.open()
		if pauses, err := app.Conditions.ListPauses(t.Context(), keyedSource); err != nil || len(pauses) != 0 {
			t.Errorf("the source was stopped: %v, %v", pauses, err)
		}
		if failed, err := app.Tasks.List(t.Context(), view.Filter{Status: string(ingest.TaskFailed), Limit: 10}); err != nil || len(failed) != 0 {
			t.Errorf("%d tasks failed, %v", len(failed), err)
		}
	})
}

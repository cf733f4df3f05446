package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/crash"
)

const (
	alertSecret  = "canary-Hh4tQ9wZ2mXe7Lr0Vb5Nc8Ks3Jd6Fg1"
	alertAddress = "canary-Yt8pA3sD6fG1hJ5kL0zX7cV2bN9mQ4w" // of a receiver whose address is its secret
)

// guarded is a database with a source, a patra.yaml that names a pager, and the pager.
type guarded struct {
	t        *testing.T
	database string
	config   string
	pager    *httptest.Server
	rings    chan ring
	said     *ear // by all processes
}

// ring is a message as it arrived.
type ring struct {
	alert.Message
	body string
}

func newGuarded(t *testing.T, database, notify string) *guarded {
	g := &guarded{t: t, database: database, rings: make(chan ring, 100), said: &ear{news: make(chan struct{})}}
	g.pager = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.URL.Path != "/standard" || err != nil {
			return
		}
		got := ring{body: string(body)}
		if err := json.Unmarshal(body, &got.Message); err != nil || r.Header.Get("webhook-id") != got.ID {
			t.Errorf("%v: %s", err, body)
		}
		g.rings <- got
	}))
	t.Cleanup(g.pager.Close)
	g.config = filepath.Join(t.TempDir(), "patra.yaml")
	text := fmt.Sprintf(`
alerts:
  every: PT1S
  resolveAfter: PT0S
  receivers:
    pager: {webhook: {url: "%s/standard", secret: ["env:ALERT_SECRET"], allowPrivate: true}}
    chat: {webhook: {url: "env:ALERT_URL", body: slack, allowPrivate: true}}
  rules:
    pauses: {codes: [PAUSED], for: PT0S, notify: %s}
`, g.pager.URL, notify)
	if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g.must("db", "migrate")
	return g
}

// must runs a command in this process.
func (g *guarded) must(args ...string) string {
	g.t.Helper()
	var out bytes.Buffer
	if code := cli.Main(g.t.Context(), append(args, "--db", g.database, "--config", g.config), &out, &out); code != 0 {
		g.t.Fatalf("patra %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
	return out.String()
}

// serve starts a program that tells; ended is closed when it has.
func (g *guarded) serve(program string, env ...string) (cmd *exec.Cmd, said *ear, ended chan struct{}) {
	g.t.Helper()
	cmd = exec.Command(program, "serve", "--roles", "alert", "--log-format", "text", "--log-level", "debug", "--db", g.database, "--config", g.config)
	cmd.Env = append(append(os.Environ(), "ALERT_SECRET="+alertSecret, "ALERT_URL="+g.pager.URL+"/services/"+alertAddress), env...)
	said, ended = &ear{news: make(chan struct{})}, make(chan struct{})
	both := io.MultiWriter(said, g.said)
	cmd.Stdout, cmd.Stderr = both, both
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() { defer close(ended); _ = cmd.Wait() }()
	g.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return cmd, said, ended
}

// child starts this test binary as the program.
func (g *guarded) child() (*exec.Cmd, *ear, chan struct{}) {
	g.t.Helper()
	self, err := os.Executable()
	if err != nil {
		g.t.Fatal(err)
	}
	return g.serve(self, childEnv+"=1")
}

// next waits for a message.
func (g *guarded) next(ended <-chan struct{}, kind alert.Kind) ring {
	g.t.Helper()
	select {
	case r := <-g.rings:
		if r.Kind != kind || len(r.Alerts) != 1 || r.Alerts[0].Subject.Source != "crossref" {
			g.t.Fatalf("%s arrived, want %s", r.body, kind)
		}
		return r
	case <-ended:
		select {
		case r := <-g.rings: // it came before the end
			return r
		default:
		}
		g.t.Fatalf("nothing arrived before the end:\n%s", g.said.text.String())
		return ring{}
	}
}

// quiet checks that nothing more has arrived.
func (g *guarded) quiet() {
	g.t.Helper()
	select {
	case r := <-g.rings:
		g.t.Errorf("one more arrived: %s", r.body)
	default:
	}
}

// noSecret looks for the secrets wherever a process leaves something.
func (g *guarded) noSecret() {
	g.t.Helper()
	left := artefacts{}
	left.tables(g.t, g.database)
	left.add("log", []byte(g.said.text.String()))
	for _, args := range [][]string{{"alert", "list"}, {"alert", "messages"}, {"audit", "list"}, {"status"}} {
		var out bytes.Buffer
		cli.Main(g.t.Context(), append(args, "-o", "json", "--db", g.database, "--config", g.config), &out, &out)
		left.add(strings.Join(args, " "), out.Bytes())
	}
	for _, place := range left.find(map[string]string{"signature": alertSecret, "address": alertAddress}) {
		g.t.Errorf("a secret is in %s", place)
	}
}

// A process that is killed between sending and noting loses no alert: the next one sends
// it again, with the same id and the same bytes, and no third time.
func TestAnAlertSurvivesKillBetweenSentAndNoted(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		g := newGuarded(t, database, "[pager]")
		g.must("source", "pause", "crossref", "--reason", "key was revoked")
		killed, said, ended := g.serve(self, crashEnv+"="+string(crash.Told)+":1:kill")
		first := g.next(ended, alert.Firing)
		<-ended
		if status := killed.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Fatalf("it ended with %v:\n%s", killed.ProcessState, said.text.String())
		}
		g.quiet()
		if text := g.must("alert", "messages", "--status", "SENT", "-o", "json"); strings.Contains(text, "SENT") {
			t.Fatalf("it was noted, so nothing is proved:\n%s", text)
		}
		next, said, ended := g.child()
		if again := g.next(ended, alert.Firing); again.ID != first.ID || again.body != first.body {
			t.Errorf("the second time it is\n%s\nthe first time it was\n%s", again.body, first.body)
		}
		g.must("source", "resume", "crossref", "--reason", "new key")
		if end := g.next(ended, alert.Resolved); end.ID == first.ID {
			t.Error("the end has the id of the beginning")
		}
		if !said.hears("kind=RESOLVED", 1, ended) {
			t.Fatalf("it ended:\n%s", said.text.String())
		}
		if err := next.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ended
		g.quiet()
		g.noSecret()
	})
}

// Of two processes one tells. When it is killed the other goes on, and nothing is told
// twice.
func TestOneOfTwoProcessesTells(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		g := newGuarded(t, database, "[pager, chat]")
		one, said, ended := g.child()
		if !said.hears("telling alerts", 1, ended) {
			t.Fatalf("it ended:\n%s", said.text.String())
		}
		other, beside, otherEnded := g.child()
		if !beside.hears("standing by", 1, otherEnded) {
			t.Fatalf("it ended:\n%s", beside.text.String())
		}
		g.must("source", "pause", "crossref", "--reason", "key was revoked")
		g.next(ended, alert.Firing)
		if !said.hears("alert sent", 2, ended) {
			t.Fatalf("it ended:\n%s", said.text.String())
		}
		if err := one.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		if !beside.hears("telling alerts", 1, otherEnded) {
			t.Fatalf("it ended:\n%s", beside.text.String())
		}
		g.must("source", "resume", "crossref", "--reason", "new key")
		g.next(otherEnded, alert.Resolved)
		if !beside.hears("alert sent", 2, otherEnded) {
			t.Fatalf("it ended:\n%s", beside.text.String())
		}
		if err := other.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-otherEnded
		g.quiet()
		g.noSecret()
	})
}

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/hook"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
	"github.com/patra-ingest/patra/internal/upsim"
)

// phone is a real HTTP receiver of alerts: it takes what is signed and keeps it.
type phone struct {
	t     *testing.T
	url   string
	rings chan alert.Message
}

const phoneSecret = "canary-the-secret-of-the-telephone"

func newPhone(t *testing.T) *phone {
	p := &phone{t: t, rings: make(chan alert.Message, 100)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *phone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	seconds, bad := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	var m alert.Message
	if err != nil || bad != nil || json.Unmarshal(body, &m) != nil || m.ID != r.Header.Get("Webhook-Id") ||
		r.Header.Get("Webhook-Signature") != hook.Sign([]byte(phoneSecret), m.ID, time.Unix(seconds, 0), body) {
		p.t.Errorf("not a message of ours: %s", body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	isSilent(p.t, "a message to the telephone", string(body))
	p.rings <- m
}

// night is a source that is harvested every few seconds, and a process that tells people.
type night struct {
	*world
	source   string
	phone    *phone
	box      *wiretap.Mailbox // who reads mail
	read     int              // of the mails
	config   string           // patra.yaml
	upstream atomic.Value     // of http.HandlerFunc: what stands before the simulator; nil: nothing
	inner    http.Handler
	form     simulated.Form
	url      string
}

// how the night is set up: looks every second, and limits that a test can wait for. What
// is told, and when it is over, is decided as in any installation.
const nightConfig = `
alerts:
  every: PT1S
  resolveAfter: PT4S
  receivers:
    phone:
      webhook: {url: "%s", secret: ["env:PHONE_SECRET"], allowPrivate: true}
    mail:
      mail: {server: "%s", ca: "%s", from: patra@example.org, to: [oncall@example.org], user: patra, password: "env:MAIL_SECRET"}
  rules:
    night: {for: PT3S}
findings: {circuitOpens: 1, checkAge: PT0S}
`

// Items a second: so many that a window has a page of them, and so few that it has one or two.
const (
	manyItems = 6
	fewItems  = 1
)

func newNight(t *testing.T, database string, items int) *night {
	t.Helper()
	f := authForm(t, "key-header")
	t.Setenv("PHONE_SECRET", phoneSecret)
	t.Setenv("MAIL_SECRET", phoneSecret)
	began := time.Now()
	data := upsim.NewDataset(upsim.Config{Seed: 3, From: began.Add(-20 * time.Minute), To: began.Add(2 * time.Hour), PerDay: items * 86400, Flat: true})
	server, err := upsim.NewServer(data, f.Options)
	if err != nil {
		t.Fatal(err)
	}
	n := &night{world: &world{t: t, data: data, server: server, database: database, now: began}, source: "form-key-header", phone: newPhone(t), box: wiretap.NewMailbox(t), inner: server, form: f}
	n.passes(nil)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.upstream.Load().(http.HandlerFunc)(w, r) }))
	t.Cleanup(front.Close)
	n.url = front.URL
	n.config = filepath.Join(t.TempDir(), "patra.yaml")
	n.write(n.config, fmt.Sprintf(nightConfig, n.phone.url, n.box.Addr, n.box.CA))
	n.must("db", "migrate")
	n.applies(f.YAML(n.url))
	n.must("harvest", n.source, "--from", began.Add(-2*time.Minute).Format(time.RFC3339), "-q", "-o", "json")
	return n
}

// applies applies the source with a tick every second.
func (n *night) applies(text string) {
	n.t.Helper()
	text = strings.Replace(text, "window: {minWindow: PT1S}", "window: {minWindow: PT1S, safetyLag: PT2S, lookback: PT0S}\nschedule: {every: PT2S}", 1)
	file := filepath.Join(n.t.TempDir(), "source.yaml")
	n.write(file, text)
	n.must("source", "apply", file, "--trust", "--reason", "night")
}

func (n *night) write(path, text string) {
	n.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// passes lets requests go to the simulator, through what spoils them.
func (n *night) passes(spoil http.HandlerFunc) {
	if spoil == nil {
		spoil = n.inner.ServeHTTP
	}
	n.upstream.Store(spoil)
}

// serves starts a process; it ends with the test.
func (n *night) serves(roles string, more ...string) *scraped {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	p := &scraped{said: &ear{news: make(chan struct{})}, ended: make(chan struct{})}
	p.cmd = exec.Command(self, append([]string{"serve", "--config", n.config, "--log-format", "text", "--roles", roles, "--lease", "3s", "--db", n.database}, more...)...)
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	n.t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.ended
	})
	if !p.said.hears("msg=serving", 1, p.ended) {
		n.t.Fatalf("ended:\n%s", p.said.all())
	}
	return p
}

// rings waits for the next message, which has one alert.
func (n *night) rings(kind alert.Kind) alert.Alert {
	n.t.Helper()
	m := <-n.phone.rings
	n.t.Logf("%s", alert.Text(m))
	if m.Kind != kind || len(m.Alerts) != 1 {
		n.t.Fatalf("%s with %d alerts, want %s with one", m.Kind, len(m.Alerts), kind)
	}
	n.mailed(m)
	return m.Alerts[0]
}

// mailed waits for the mail of a message, which is encrypted and says the same.
func (n *night) mailed(m alert.Message) {
	n.t.Helper()
	<-n.box.Arrived()
	mails := n.box.Mails()
	mail := mails[n.read]
	n.read++
	isSilent(n.t, "a mail", mail.Text)
	if !mail.Encrypted || !strings.Contains(mail.Text, m.ID) || !strings.Contains(mail.Text, string(m.Alerts[0].Code)) {
		n.t.Errorf("a mail of another message: %+v", mail)
	}
}

// types runs the command that a message names, with a reason where it asks for one.
func (n *night) types(a alert.Alert, want string) {
	n.t.Helper()
	if a.Next != want {
		n.t.Fatalf("next is %q, want %q", a.Next, want)
	}
	n.must(strings.Fields(strings.TrimPrefix(strings.ReplaceAll(a.Next, "…", "mended"), "patra "))...)
}

// names fails the test unless the message says all of this on its first lines.
func (n *night) names(a alert.Alert, words ...string) {
	n.t.Helper()
	text := alert.Text(alert.Message{Kind: alert.Firing, Severity: a.Severity, Alerts: []alert.Alert{a}})
	for _, word := range words {
		if !strings.Contains(text, word) {
			n.t.Errorf("%q is not in\n%s", word, text)
		}
	}
}

// refuses answers everything with a status, and repeats what it was sent, keys and all.
func refuses(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("no to %s with %v", r.URL, r.Header), status)
	}
}

// isSilent fails the test if a message that leaves the process holds the key of the source or a
// secret of a receiver (I12).
func isSilent(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{simulated.Secret, phoneSecret} {
		if strings.Contains(text, secret) {
			t.Errorf("a secret is in %s: %s", what, text)
		}
	}
}

// renames answers as the simulator does, with one field under another name: the upstream
// has changed its format.
func (n *night) renames(w http.ResponseWriter, r *http.Request) {
	r.Header.Del("Accept-Encoding")
	kept := httptest.NewRecorder()
	n.inner.ServeHTTP(kept, r)
	w.Header().Set("Content-Type", kept.Header().Get("Content-Type"))
	w.WriteHeader(kept.Code)
	_, _ = io.WriteString(w, strings.ReplaceAll(kept.Body.String(), `"title"`, `"heading"`))
}

// A key is revoked: one message names the source and the key, the command it names goes on,
// and one message says that it is over.
func TestNightKeyRevoked(t *testing.T) {
	onEveryNight(t, func(t *testing.T, database string) {
		n := newNight(t, database, manyItems)
		worker := n.begins()
		n.passes(refuses(http.StatusUnauthorized))
		told := n.rings(alert.Firing)
		n.names(told, "CRITICAL", n.source, "UNAUTHORIZED (HTTP 401)", "env:FORM_SECRET")
		n.passes(nil) // there is a key again
		n.types(told, "patra source resume "+n.source+" --reason …")
		n.ends(worker, told)
	})
}

// The upstream answers with 500 only. The message says that work goes on automatically, and the
// command tells what it answers.
func TestProofNightUpstreamDown(t *testing.T) {
	needProof(t)
	onEveryNight(t, func(t *testing.T, database string) {
		n := newNight(t, database, manyItems)
		worker := n.begins()
		n.passes(refuses(http.StatusInternalServerError))
		told := n.rings(alert.Firing)
		n.names(told, "WARNING", n.source, "UPSTREAM_DOWN", "SERVER_ERROR", "goes on automatically")
		n.passes(nil)
		n.types(told, "patra source test "+n.source)
		n.ends(worker, told)
	})
}

// The upstream renames a field, so that no item can be understood, be there many or few. With
// the mapping mended and the command typed, all comes in.
func TestNightMappingBroken(t *testing.T) {
	onEveryNight(t, func(t *testing.T, database string) { mappingNight(t, database, fewItems) })
}

func TestProofNightMappingBrokenOfMany(t *testing.T) {
	needProof(t)
	onEveryNight(t, func(t *testing.T, database string) { mappingNight(t, database, manyItems) })
}

func mappingNight(t *testing.T, database string, items int) {
	n := newNight(t, database, items)
	worker := n.begins()
	n.passes(n.renames)
	told := n.rings(alert.Firing)
	n.names(told, "CRITICAL", n.source, "SCHEMA_CHANGE", "$.title")
	n.applies(strings.Replace(n.form.YAML(n.url), "title: $.title", "title: $.heading", 1))
	n.types(told, "patra source resume "+n.source+"/works --reason …")
	n.ends(worker, told)
	if _, out, _ := n.patra("quarantine", "list", n.source, "-o", "json"); strings.Contains(out, "MISSING_FIELD") {
		t.Errorf("still in quarantine:\n%s", out)
	}
}

// The disk of the database is full: that is told without it, and when there is room again the
// work goes on without a command.
func TestProofNightDiskFull(t *testing.T) {
	needProof(t)
	dir := smallDisk(t)
	n := newNight(t, "sqlite:"+filepath.Join(dir, "patra.db"), manyItems)
	worker := n.begins()
	empty := fill(t, dir, 300<<10)
	told := n.rings(alert.Firing)
	n.names(told, "CRITICAL", "database", "disk is full", "make room", "df -h")
	empty()
	n.ends(worker, told)
}

// The process that plans and works is killed: the message names it, what waits for it, and
// what to start.
func TestNightPlannerDead(t *testing.T) {
	onEveryNight(t, func(t *testing.T, database string) {
		n := newNight(t, database, manyItems)
		worker := n.begins()
		if err := worker.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-worker.ended
		told := n.rings(alert.Firing)
		n.names(told, "WARNING", "ended without shutting down", "planner", n.source)
		if told.Next != "patra serve" {
			t.Fatalf("next is %q", told.Next)
		}
		n.ends(n.serves("planner,executor"), told)
	})
}

// The server of the database cannot be reached: that is told without it, by the same rule as
// everything else, and so is its return. Work goes on without a command, and nothing of the
// time between is missing.
func TestNightDatabaseAway(t *testing.T) {
	direct := databases["mariadb"](t)
	n := newNight(t, direct, manyItems)
	var w *wire
	w, n.database = newWire(t, direct, nil)
	worker := n.begins()
	w.away(true)
	gone := time.Now()
	told := n.rings(alert.Firing)
	n.names(told, "CRITICAL", "DATABASE_UNREACHABLE", "cannot be reached", "nothing is stored")
	if told.Since.Before(gone.Add(-time.Second)) {
		t.Errorf("away since %v, and it went at %v", told.Since, gone)
	}
	w.away(false)
	back := time.Now()
	if code, out, _ := n.patra("status"); told.Next != "patra status" || !strings.Contains(out, n.source) {
		t.Errorf("next is %q: exit %d\n%s", told.Next, code, out)
	}
	n.ends(worker, told)
	n.isReadUntil(worker, back)
}

// isReadUntil waits until the watermark is beyond an instant: it passes no range that is owed.
func (n *night) isReadUntil(worker *scraped, at time.Time) {
	n.t.Helper()
	for {
		done := strings.Count(worker.said.all(), "status=SUCCEEDED")
		var list struct {
			Items []view.Cursor `json:"items"`
		}
		if out := n.must("cursor", "list", n.source, "-o", "json"); json.Unmarshal([]byte(out), &list) != nil || len(list.Items) != 1 {
			n.t.Fatalf("%s", out)
		}
		if list.Items[0].Instant.After(at) {
			return
		}
		if !worker.said.hears("status=SUCCEEDED", done+1, worker.ended) {
			n.t.Fatalf("ended:\n%s", worker.said.all())
		}
	}
}

// onEveryNight runs a night on SQLite, and on MariaDB too among the proofs: it takes a while.
func onEveryNight(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	if os.Getenv("PATRA_PROOF") != "" {
		onEachDatabaseInTurn(t, test)
		return
	}
	test(t, databases["sqlite"](t))
}

// needProof skips what waits for minutes.
func needProof(t *testing.T) {
	t.Helper()
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
}

// begins starts who works and who tells, and waits until all is well.
func (n *night) begins() *scraped {
	n.t.Helper()
	worker := n.serves("planner,executor")
	n.serves("alert")
	if !worker.said.hears("status=SUCCEEDED", 2, worker.ended) {
		n.t.Fatalf("ended:\n%s", worker.said.all())
	}
	return worker
}

// ends waits for the one message that it is over, and for work that goes on. Nothing else was
// told meanwhile, and nothing is found any more.
func (n *night) ends(worker *scraped, told alert.Alert) {
	n.t.Helper()
	over := n.rings(alert.Resolved)
	if over.Code != told.Code || over.Subject != told.Subject || over.ResolvedAt.IsZero() {
		n.t.Errorf("%+v is over, and %+v was told", over, told)
	}
	done := strings.Count(worker.said.all(), "status=SUCCEEDED")
	if !worker.said.hears("status=SUCCEEDED", done+2, worker.ended) {
		n.t.Fatalf("ended:\n%s", worker.said.all())
	}
	select {
	case m := <-n.phone.rings:
		n.t.Errorf("told too much:\n%s", alert.Text(m))
	default:
	}
	if _, out, _ := n.patra("coverage", "gaps", n.source); !strings.Contains(out, "no gaps") {
		n.t.Logf("%s", out) // of the newest seconds there may be one that is being read
	}
}

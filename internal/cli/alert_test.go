package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
)

// pager is a receiver of alerts that writes down what it gets.
type pager struct {
	*httptest.Server
	mu     sync.Mutex
	got    []alert.Message
	answer int
}

func newPager(t *testing.T) *pager {
	p := &pager{answer: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var m alert.Message
		if err := json.Unmarshal(body, &m); err != nil || r.Header.Get("webhook-id") != m.ID || r.Header.Get("webhook-signature") == "" {
			t.Errorf("%v: %s with %v", err, body, r.Header)
		}
		if w.WriteHeader(p.answer); p.answer == http.StatusOK {
			p.got = append(p.got, m)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// answers changes how it answers from now on.
func (p *pager) answers(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = code
}

// heard takes what came since the last call, a line a message.
func (p *pager) heard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, m := range p.got {
		line := string(m.Kind)
		for _, a := range m.Alerts {
			line += fmt.Sprintf(" %s of %s", a.Code, a.About)
		}
		lines = append(lines, line)
	}
	p.got = nil
	return strings.Join(lines, "\n")
}

const alertCanary = "canary-Qw7zP4x9Lm2Vn8Rt5Yb3Kd6Hs1Jf0Gc"

// watched is a desk whose patra.yaml tells a pager at once.
func watched(t *testing.T) (*desk, *pager) {
	d, p := harvested(t), newPager(t)
	t.Setenv("ALERT_SECRET", alertCanary)
	d.installs(fmt.Sprintf(`
alerts:
  resolveAfter: PT0S
  receivers:
    ops: {webhook: {url: "%s/patra", secret: ["env:ALERT_SECRET"], allowPrivate: true}}
  rules:
    pauses: {codes: [PAUSED, ALERT_UNDELIVERED], for: PT0S}
`, p.URL))
	return d, p
}

// A finding is told once, listed, and its end is told once.
func TestAlertsWithoutAProcessThatServes(t *testing.T) {
	d, p := watched(t)
	d.expect(term.ExitOK, "alert", "send")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "key was revoked")
	d.holds(d.expect(term.ExitOK, "alert", "send").out, "messages sent")
	if got := p.heard(); got != "FIRING PAUSED of crossref" {
		t.Fatal(got)
	}
	d.expect(term.ExitOK, "alert", "send")
	if got := p.heard(); got != "" {
		t.Errorf("told twice: %s", got)
	}
	d.holds(d.expect(term.ExitOK, "alert", "list").out, "OPEN", "PAUSED", "crossref", "pauses")
	var page view.List[alert.Kept]
	listed := d.expect(term.ExitOK, "alert", "list", "--status", "open", "--source", "crossref", "-o", "json").out
	if err := json.Unmarshal([]byte(listed), &page); err != nil || len(page.Items) != 1 || page.More {
		t.Fatalf("%v: %s", err, listed)
	}
	d.holds(d.expect(term.ExitOK, "alert", "show", fmt.Sprint(page.Items[0].ID)).out, "key was revoked", "patra source resume crossref", "messages about it", "SENT")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "new key")
	d.expect(term.ExitOK, "alert", "send")
	d.expect(term.ExitOK, "alert", "send")
	if got := p.heard(); got != "RESOLVED PAUSED of crossref" {
		t.Errorf("at the end: %s", got)
	}
	d.holds(d.expect(term.ExitOK, "alert", "list").out, "RESOLVED")
	for _, args := range [][]string{{"alert", "list", "-o", "json"}, {"alert", "messages", "-o", "json"}, {"audit", "list", "-o", "json"}} {
		if r := d.expect(term.ExitOK, args...); strings.Contains(r.out+r.err, alertCanary) {
			t.Errorf("%v shows the secret", args)
		}
	}
	if strings.Contains(d.read(d.file), alertCanary) {
		t.Error("the secret is in the database")
	}
}

func TestSilencesOfAlerts(t *testing.T) {
	d, p := watched(t)
	d.holds(d.expect(term.ExitUsage, "alert", "silence", "--source", "crossref", "--for", "2h").err, "--reason is needed")
	d.holds(d.expect(term.ExitUsage, "alert", "silence", "--for", "2h", "--reason", "x").err, "name a code, a source or a campaign")
	d.holds(d.expect(term.ExitUsage, "alert", "silence", "--code", "PAUSE", "--for", "2h", "--reason", "x").err, "did you mean PAUSED?")
	d.holds(d.expect(term.ExitNotFound, "alert", "silence", "--source", "crosref", "--for", "2h", "--reason", "x").err, "did you mean crossref?")
	d.holds(d.expect(term.ExitUsage, "alert", "silence", "--source", "crossref", "--reason", "x").err, "--for 2h")
	d.expect(term.ExitOK, "alert", "silence", "--source", "crossref", "--for", "2h", "--reason", "x", "--dry-run")
	d.holds(d.expect(term.ExitOK, "alert", "silence", "--source", "crossref", "--for", "2h", "--reason", "maintenance").err, "patra alert unsilence 1")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "maintenance")
	d.expect(term.ExitOK, "alert", "send")
	d.holds(d.expect(term.ExitOK, "alert", "list").out, "PENDING")
	d.holds(d.expect(term.ExitOK, "alert", "silences").out, "crossref", "maintenance")
	d.expect(term.ExitOK, "alert", "unsilence", "1", "--reason", "done")
	d.expect(term.ExitOK, "alert", "send")
	if got := p.heard(); got != "FIRING PAUSED of crossref" {
		t.Errorf("after the silence: %s", got)
	}
	d.holds(d.expect(term.ExitOK, "audit", "list").out, "alert.silence", "alert.unsilence")
	d.expect(term.ExitNotFound, "alert", "unsilence", "9")
}

// A receiver that refuses is a finding with the command that mends it.
func TestARefusedMessageIsAFindingUntilItsReceiverAnswers(t *testing.T) {
	d, p := watched(t)
	d.expect(term.ExitOK, "alert", "test")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "key was revoked")
	p.answers(http.StatusUnauthorized)
	p.heard()
	d.expect(term.ExitPartial, "alert", "send")
	d.holds(d.expect(term.ExitOK, "alert", "messages", "--status", "given_up").out, "GIVEN_UP", "ops")
	d.holds(d.expect(term.ExitOK, "alert", "list").err, "patra alert test ops")
	d.holds(d.expect(term.ExitFindings, "status").out, "alerts: 1 message did not reach the receiver ops")
	d.holds(d.expect(term.ExitPartial, "alert", "test", "ops").out, "no")
	p.answers(http.StatusOK)
	d.holds(d.expect(term.ExitOK, "alert", "test", "ops").err, "patra alert send")
	p.heard()
	d.expect(term.ExitOK, "alert", "send")
	if got := p.heard(); !strings.Contains(got, "FIRING PAUSED of crossref") {
		t.Errorf("the message was lost: %q", got)
	}
	if strings.Contains(d.run("status").out, "did not reach") {
		t.Error("the finding did not end")
	}
	d.holds(d.expect(term.ExitNotFound, "alert", "test", "opps").err, "did you mean ops?")
}

// Names of receivers and codes, and ids of silences, are offered.
func TestAlertsAreCompleted(t *testing.T) {
	d, _ := watched(t)
	d.expect(term.ExitOK, "alert", "silence", "--source", "crossref", "--for", "2h", "--reason", "maintenance")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"alert", "test", ""}, "ops"},
		{[]string{"alert", "unsilence", ""}, "1\tuntil "},
		{[]string{"alert", "silence", "--code", ""}, "QUARANTINED\tWARNING"},
		{[]string{"alert", "silence", "--source", ""}, "crossref"},
	} {
		if got := d.complete(c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%v offers\n%s", c.args, got)
		}
	}
}

func TestAlertsNeedAReceiver(t *testing.T) {
	d := harvested(t)
	for _, args := range [][]string{{"alert", "send"}, {"alert", "test"}, {"serve", "--roles", "alert"}} {
		d.holds(d.expect(term.ExitUsage, args...).err, "alerts.receivers")
	}
	d.holds(d.expect(term.ExitOK, "alert", "list", "-o", "json").out, `"items": []`)
}

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/status"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// Events that nobody publishes are shown, and are no finding; once a relay has
// worked, old ones, dead ones and receivers that are away are.
func TestStatusOfEvents(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE fails > 0")
	old := time.Now().Add(-3 * time.Hour).UnixMicro()
	d.many(fmt.Sprintf("UPDATE ing_outbox_message SET created_at = %d", old))
	d.holds(unfolded(d.expect(term.ExitOK, "status").out), "events of crossref/works: 36 events wait, the oldest for 3h; no relay publishes them", "no findings")

	h := &hook{}
	server := httptest.NewServer(h)
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	declaration := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+server.URL+", secret: 'env:HOOK_SECRET', allowPrivate: true}\nroutes:\n  - to: hook\n")
	d.expect(term.ExitOK, "events", "trust", "--events", declaration, "--yes")
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	if text := d.expect(term.ExitOK, "status").out; strings.Contains(text, "events of") {
		t.Error(text)
	}

	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	d.expect(term.ExitOK, "events", "replay", "--from", "30", "--reason", "lost a disk")
	d.expect(term.ExitPartial, "events", "publish", "--events", declaration)
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: receiver hook is unreachable, last tried", "503", "7 events wait, the oldest for")

	d.many("UPDATE ing_outbox_message SET status_code = 'FAILED' WHERE status_code = 'PENDING'") // refused before it went away
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: receiver hook is unreachable, last tried", "no event waits, 7 failed and tried again")
	server.Config.Handler = h
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	d.expect(term.ExitOK, "status")

	d.exec("UPDATE ing_outbox_message SET status_code = 'PENDING', created_at = ?, next_retry_at = NULL WHERE id = 7", old)
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "1 event waits, the oldest for 3h, longer than 1h, and no process relays: `patra events publish`")
	d.expect(term.ExitOK, "status", "--events-age", "4h")
	d.expect(term.ExitOK, "status", "--events-age", "0")
	d.expect(term.ExitUsage, "status", "--events-age", "-1s")
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('x', 'relay', 'h', 1, 0, 0, ?)", time.Now().Add(time.Hour).UnixMicro())
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "longer than 1h: the relay does not keep up")

	d.exec("UPDATE ing_outbox_message SET status_code = 'DEAD' WHERE id = 7")
	var report status.Report
	d.decode(d.expect(term.ExitFindings, "status", "-o", "json").out, &report)
	if len(report.Events) != 1 || report.Events[0].Dead != 1 || report.Relays != 1 || len(report.Findings) != 1 || !strings.Contains(report.Findings[0].Text, "1 event dead") {
		t.Errorf("%+v", report)
	}
	d.fits(d.run("status").out)
	d.expect(term.ExitOK, "outbox", "discard", "7", "--reason", "has it by hand")
	d.expect(term.ExitOK, "status")
}

// unfolded takes the line breaks of long findings out.
func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

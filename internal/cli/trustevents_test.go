package cli

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// Without a publisher, events that wait are no finding: neither where nobody ever
// published, nor where whoever did stopped doing so. Dead ones are for a person.
func TestTrust15WithoutAPublisherEventsMayWait(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE fails > 0")
	old := time.Now().Add(-10 * 24 * time.Hour).UnixMicro()
	d.many(fmt.Sprintf("UPDATE ing_outbox_message SET created_at = %d", old))
	d.holds(unfolded(d.expect(term.ExitOK, "status").out), "36 events wait", "no relay publishes them", "no findings")

	server := httptest.NewServer(&hook{})
	defer server.Close()
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	declaration := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+server.URL+", secret: 'env:HOOK_SECRET', allowPrivate: true}\nroutes:\n  - to: hook\n")
	d.expect(term.ExitOK, "events", "trust", "--events", declaration, "--yes")
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	d.exec("UPDATE ing_outbox_message SET status_code = 'PENDING', created_at = ?, next_retry_at = NULL WHERE id = 7", old)
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "no process relays") // one that published yesterday is missed

	d.many(fmt.Sprintf("UPDATE ing_outbox_relay_log SET completed_at = %d", time.Now().Add(-8*24*time.Hour).UnixMicro()))
	d.holds(unfolded(d.expect(term.ExitOK, "status").out), "1 event waits", "no relay publishes them, last tried", "no findings")
	d.exec("UPDATE ing_outbox_message SET status_code = 'DEAD' WHERE id = 7")
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "1 event dead")
}

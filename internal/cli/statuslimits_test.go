package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// From when on something is a finding is decided by patra.yaml, and shown by explain.
func TestThresholdsOfFindingsAreConfigured(t *testing.T) {
	d := harvested(t)
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('x', 'executor', 'attic', 1, 0, ?, 1)", time.Now().Add(-time.Hour).UnixMicro())
	file := filepath.Join(t.TempDir(), "patra.yaml")
	if err := os.WriteFile(file, []byte("findings:\n  processGone: PT30M\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitFindings, "status").out, "process 1 on attic")
	if r := d.expect(term.ExitFindings, "status", "--config", file); strings.Contains(r.out, "attic") {
		t.Errorf("half an hour is over:\n%s", r.out)
	}
	said := d.expect(term.ExitOK, "source", "explain", "crossref", "findings", "--config", file).out
	d.holds(strings.Join(strings.Fields(said), " "), "findings.processGone PT30M installation ("+file, "findings.planIdle PT30M platform")
}

// A source declares limits of its own: explain shows them beside those of the installation, and
// what can mean nothing is refused.
func TestASourceDeclaresLimitsOfFindings(t *testing.T) {
	d := harvested(t)
	file := filepath.Join(t.TempDir(), "patra.yaml")
	if err := os.WriteFile(file, []byte("findings:\n  thinShare: 0.4\n  errorShare: 0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.rows(d.crossrefFile("own.yaml", "endpoints:\n", "alerts: {errorShare: 0.3, quarantineGrowth: 7}\n\nendpoints:\n"))
	said := unfolded(d.expect(term.ExitOK, "source", "explain", "crossref", "alerts", "--config", file).out)
	d.holds(strings.Join(strings.Fields(said), " "), "alerts.errorShare 0.3 ", "alerts.quarantineGrowth 7 ", "alerts.thinShare 0.4 installation ("+file, "alerts.stallAfter PT30M platform")
	if strings.Contains(said, "alerts.errorShare  0.1") || strings.Contains(said, "alerts.planIdle") {
		t.Errorf("what does not hold, or is not of a source:\n%s", said)
	}
	bad := d.crossrefFile("bad.yaml", "endpoints:\n", "alerts: {errorShare: 1.5}\n\nendpoints:\n")
	refused := d.expect(term.ExitUsage, "source", "validate", bad)
	d.holds(refused.out+refused.err, "errorShare", "not a share")
}

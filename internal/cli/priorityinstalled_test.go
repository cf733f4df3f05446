package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// What goes first is decided for the installation, unless the source or the run says so.
func TestPrioritiesOfAnInstallation(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.expect(term.ExitOK, "source", "apply", file)
	explain := []string{"source", "explain", "crossref", "-o", "json"}
	if text := d.expect(term.ExitOK, explain...).out; strings.Contains(text, "patra.yaml") {
		t.Errorf("without a file: %s", text)
	}
	d.installs("work: {priority: {HARVEST: 23, BACKFILL: 91}}\n")
	d.holds(d.expect(term.ExitOK, explain...).out, "patra.yaml", "23")
	d.expect(term.ExitOK, "plan", "crossref", "--from", "2025-03-01", "--to", aMarchDay)
	d.holds(d.expect(term.ExitOK, "task", "show", "1", "-o", "json").out, `"priority": 23`)
	d.expect(term.ExitOK, "plan", "crossref", "--from", "2025-03-02", "--to", "2025-03-03", "--priority", "7")
	d.holds(d.expect(term.ExitOK, "task", "show", "2", "-o", "json").out, `"priority": 7`)
	d.installs("work: {priority: {HARVEST: 101}}\n")
	d.holds(d.expect(term.ExitUsage, explain...).err, "work.priority.HARVEST", "1 to 100")
}

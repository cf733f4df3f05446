package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// The filters of the page find something in the log of a harvest.
func TestLogsPageFilters(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		need.Missing(t, "jq is not installed")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "logs.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	file, _ := d.simulated("missing-id@page:1")
	d.rows(file)
	d.run("harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--log-file", filepath.Join(d.dir, "serve.log"), "--log-format", "json")
	filters := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "jq ") {
			continue
		}
		filters++
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir = d.dir
		if out, err := c.CombinedOutput(); err != nil || len(strings.TrimSpace(string(out))) < 10 {
			t.Errorf("%s%v\n%s", line, err, out)
		}
	}
	if filters < 5 {
		t.Errorf("only %d filters", filters)
	}
	d.holds(d.expect(term.ExitOK, "run", "show", "1").out, "1")
}

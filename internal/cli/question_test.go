package cli

import (
	"github.com/patra-ingest/patra/internal/core/wording"
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A question that a run with other settings tried first, and that the source asks
// by itself later: what the source had reached with its own question until then is
// a gap of the new one, although the new one has the older cursor.
func TestATriedQuestionBecomesTheSourcesOwn(t *testing.T) {
	d := newDesk(t)
	text, err := os.ReadFile("../../catalog/crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(from string, set ...string) {
		t.Helper()
		d.expect(term.ExitOK, append([]string{"plan", "crossref", "--offline", "--from", from, "--to", "2025-03-07"}, set...)...)
	}
	plan("2025-03-05", "--set", "request.query.select=DOI")
	plan("2025-03-03", "--set", "rate.concurrency=1") // the source's own question, asked more slowly
	plan("2025-02-01", "--set", "request.query.select=DOI,type")
	d.expect(term.ExitOK, "source", "apply", d.write("own.yaml", strings.Replace(string(text), "        sort: indexed\n", "        sort: indexed\n        select: DOI\n", 1)), "--reason", "tried")
	gaps := d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "-o", "json")
	var found []wording.ToldGap
	d.decode(gaps.out, &found)
	if len(found) == 0 || found[0].Window != (window.Window{From: march(3), To: march(5)}) || found[0].State != "NOT_ASKED" || !strings.Contains(found[0].Reason, "cursor 2") {
		t.Errorf("%+v\n%s", found, gaps.err)
	}
	d.holds(d.expect(term.ExitFindings, "status", "crossref").out, "crossref")
}

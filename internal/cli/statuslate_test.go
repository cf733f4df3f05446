package cli

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A source that is far behind is a finding where it says how far it may be, by itself or by
// its schedule, and explain shows the threshold.
func TestStatusTellsThatASourceIsBehind(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
	d.rows(d.crossrefFile("declared.yaml", "endpoints:\n", "alerts: {maxLag: P5D}\n\nendpoints:\n"))
	text := unfolded(d.expect(term.ExitFindings, "status").out)
	d.holds(text, "! crossref/works: the watermark stands at 2025-03-05 00:00Z", "more than 5d", "(alerts.maxLag); next: `patra harvest crossref --endpoint works`")
	d.holds(unfolded(d.expect(term.ExitOK, "source", "explain", "crossref", "alerts.maxLag").out), "P5D")

	d.rows(d.crossrefFile("scheduled.yaml", "endpoints:\n", "schedule: {every: PT1H}\n\nendpoints:\n"))
	d.holds(unfolded(d.expect(term.ExitFindings, "status", "crossref").out), "the watermark stands at 2025-03-05 00:00Z")
	d.rows(d.crossrefFile("off.yaml", "endpoints:\n", "schedule: {every: PT1H}\nalerts: {maxLag: PT0S}\n\nendpoints:\n"))
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

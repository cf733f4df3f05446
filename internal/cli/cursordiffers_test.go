package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/status"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A watermark that was changed behind the program's back is a finding until the command it
// names has repaired it.
func TestStatusTellsOfAWatermarkThatDiffersFromItsEvents(t *testing.T) {
	d := harvested(t)
	found := func() (out []view.FindingCode) {
		var report status.Report
		d.decode(d.expect(term.ExitFindings, "status", "-o", "json").out, &report)
		for _, f := range report.Findings {
			if f.Code == view.FoundCursor {
				out = append(out, f.Code)
				if f.Next != "patra cursor verify 1" || f.Severity != view.Critical {
					t.Errorf("%+v", f)
				}
			}
		}
		return out
	}
	if got := found(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
	d.exec("UPDATE ing_cursor SET cursor_value = '2025-03-09T00:00:00Z', normalized_instant = normalized_instant + 1000000 WHERE id = 1")
	if got := found(); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	d.expect(term.ExitFindings, "cursor", "verify", "1")
	d.expect(term.ExitOK, "cursor", "verify", "1", "--repair", "--reason", "restored", "--yes")
	if got := found(); len(got) > 0 {
		t.Errorf("repaired: %v", got)
	}
}

// Events of a time can be held against their ledger alone.
func TestCursorVerifyBetween(t *testing.T) {
	d := harvested(t)
	d.expect(term.ExitOK, "cursor", "verify", "1", "--from", "2020-01-01", "--to", "2100-01-01")
	d.exec("UPDATE ing_cursor_event SET new_value = '2025-03-08T00:00:00Z' WHERE id = (SELECT m.id FROM (SELECT MIN(id) AS id FROM ing_cursor_event WHERE new_value IS NOT NULL) m)")
	if r := d.expect(term.ExitFindings, "cursor", "verify", "1", "--from", "2020-01-01"); !strings.Contains(r.err, "moved the cursor to") {
		t.Error(r.err)
	}
	d.expect(term.ExitOK, "cursor", "verify", "1", "--from", "2100-01-01", "--to", "2101-01-01")
	d.expect(term.ExitUsage, "cursor", "verify", "1", "--from", "2025-03-02", "--to", "2025-03-01")
	d.expect(term.ExitUsage, "cursor", "verify", "1", "--from", "2025-03-02", "--repair", "--reason", "x")
}

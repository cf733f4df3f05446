package cli

import (
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
)

// A harvest that only finishes an earlier plan still says what it read, and a
// source that cannot do something says so every time.
func TestHarvestOfAStoredPlan(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	const planned = "[2025-03-01T00:00:00Z, 2025-03-03T00:00:00Z)"
	poor := []string{"--set", "window.namespace=GLOBAL"}
	args := append([]string{"crossref", "--from", "2025-03-01", "--to", "2025-03-03"}, poor...)
	d.expect(term.ExitOK, append([]string{"plan"}, args...)...)
	var s work.Summary
	r := d.expect(term.ExitOK, append([]string{"harvest", "-o", "json"}, args...)...)
	d.decode(r.out, &s)
	if s.Window != planned || !s.Joined || s.Empty || len(s.Warnings) != 1 || s.Warnings[0].Code != "W-GLOBAL-WATERMARK" {
		t.Errorf("%+v", s)
	}
	d.holds(r.err, "warning: W-GLOBAL-WATERMARK: ")
}

func TestHarvestOfAStoredPlanForPeople(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	d.expect(term.ExitOK, "plan", "crossref", "--from", "2025-03-01", "--to", "2025-03-03")
	d.holds(d.expect(term.ExitOK, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03").out, "window     [2025-03-01T00:00:00Z, 2025-03-03T00:00:00Z)")
}

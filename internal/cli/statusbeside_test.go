package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// What an update or a backfill gave up is a finding, and so are rejects of a
// source that nobody harvests: a glance must not say that all is well.
func TestStatusLooksBesideTheHarvest(t *testing.T) {
	for _, op := range []string{"UPDATE", "BACKFILL"} {
		d := harvested(t)
		d.exec("UPDATE ing_cursor SET operation_code = ? WHERE id = 1", op)
		failed := d.expect(term.ExitFindings, "status", "crossref")
		d.holds(failed.out, "! crossref/works "+op+": 1 range failed and still owed by cursor 1, such as", "[2025-03-03, 2025-03-04)")
		d.exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE fails > 0")
		d.holds(d.expect(term.ExitOK, "status").out, "no findings")
		d.exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, raw_hash, codec, status_code, created_at, updated_at)
  VALUES (1, ?, 'crossref', 'works', 1, 1, 1, 1, 1, 0, 'NO_ID', ?, 'none', 'OPEN', 0, 0)`, strings.Repeat("a", 64), strings.Repeat("b", 64))
		d.holds(d.expect(term.ExitFindings, "status").out, "! crossref/works: 1 item in quarantine")
	}
}

// A source whose file is lost cannot be judged, and that is said.
func TestStatusOfALostSource(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_cursor SET provenance_code = 'lost' WHERE id = 1")
	d.holds(d.expect(term.ExitFindings, "status").out, "lost/works", "! lost: cannot be read, so its gaps are unknown")
}

// A campaign that was begun and that nobody works on would stand still for ever.
func TestStatusOfAnIdleCampaign(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE fails > 0")
	d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-01", "--to", "2025-02-03", "--name", "early", "--detach")
	d.holds(d.expect(term.ExitFindings, "status").out, "! campaign early: is not complete, and no patra process is running")
	d.expect(term.ExitOK, "backfill", "cancel", "early", "--reason", "not needed")
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestPlanShow(t *testing.T) {
	d := planned(t)
	done := d.expect(term.ExitOK, "plan", "show", "1")
	d.holds(done.out, "crossref works HARVEST", "COMPLETED", "[2025-03-01, 2025-03-05)", "4 = 3 succeeded + 1 failed", "36 seen = 36 new", "MANUAL by CLI",
		`"operation":"HARVEST"`, "TIME {", "how the window came about", "now minus safetyLag", "firstUnsettled", "sliceCount: 4",
		"average window of a slice: 1d", "expected: 48 items (COUNT)", "budget: about 12 requests at 1000 per second")
	var p view.PlanDetail
	d.decode(d.expect(term.ExitOK, "plan", "show", "1", "-o", "json").out, &p)
	if p.ID != 1 || p.Slices["FAILED"] != 1 || p.Stats.Inserted != 36 || p.Stats.Requests < 10 || len(p.ExprProtoHash) != 64 || p.Trigger.Scheduler != "CLI" ||
		!strings.Contains(string(p.Remarks), `"explain"`) {
		t.Errorf("%+v", p)
	}
}

func TestPlanShowRemarks(t *testing.T) {
	d := planned(t)
	d.exec(`UPDATE ing_plan SET record_remarks = '{"explain":[{"step":"nowSafe","value":"v","why":"w"}],"reason":"all is read",
  "skipped":[{"from":"2025-03-01T00:00:00Z","to":"2025-03-02T00:00:00Z"}],"waiting":[{"from":"2025-03-03T00:00:00Z","to":"2025-03-04T00:00:00Z"}],
  "degradation":[{"code":"W-X","message":"cannot"}],"estimate":{"requests":7}}' WHERE id = 1`)
	d.holds(d.expect(term.ExitOK, "plan", "show", "1").out, "nothing to do: all is read", "[2025-03-01, 2025-03-02)  skipped: settled",
		"[2025-03-03, 2025-03-04)  skipped: failed, waited", "warning: W-X: cannot", `estimate: {"requests":7}`)
	d.exec(`UPDATE ing_plan SET record_remarks = '["other"]' WHERE id = 1`)
	d.holds(d.expect(term.ExitOK, "plan", "show", "1").out, "\nremarks\n", `"other"`)
	d.exec(`UPDATE ing_plan SET record_remarks = NULL, window_from = NULL, window_to = NULL WHERE id = 1`)
	bare := d.expect(term.ExitOK, "plan", "show", "1")
	d.holds(bare.out, "none: there was nothing to do")
	if strings.Contains(bare.out, "remarks") {
		t.Errorf("remarks without any:\n%s", bare.out)
	}
}

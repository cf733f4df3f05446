package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestSliceList(t *testing.T) {
	d := planned(t)
	d.exec("UPDATE ing_plan_slice SET parent_slice_id = 5 WHERE id = 7")
	lines := strings.Split(d.expect(term.ExitOK, "slice", "list", "--plan", "2").out, "\n")
	for i, want := range [][]string{{"PARTITION"}, {" 7 ", "READY", "[2025-03-07, 2025-03-08)", " 5 "}, {" 6 ", " -  "}} {
		d.holds(lines[i], want...)
	}
}

func TestSliceShow(t *testing.T) {
	d := planned(t)
	failed := d.expect(term.ExitOK, "slice", "show", "3")
	d.holds(failed.out, "1 (slice 3)", "FAILED", "[2025-03-03, 2025-03-04)", `range(indexed, "DATETIME"`, "3 FAILED, tried 1 times", "SERVER_ERROR (HTTP 500)",
		`"maxRequests"`, "\nruns\n")
	var s view.SliceReport
	d.decode(d.expect(term.ExitOK, "slice", "show", "3", "-o", "json").out, &s)
	if s.ID != 3 || s.PlanID != 1 || len(s.Signature) != 64 || s.Task == nil || s.Task.ID != 3 || len(s.Runs) != 1 || !strings.HasPrefix(s.Text, "range(") ||
		!strings.Contains(string(s.Spec), `"strategy"`) {
		t.Errorf("%+v", s)
	}
	d.holds(d.expect(term.ExitOK, "slice", "show", "5").out, "no runs yet", "5 QUEUED, tried 0 times")
}

func TestSliceShowWhatIsOptional(t *testing.T) {
	d := planned(t)
	d.exec(`UPDATE ing_plan_slice SET parent_slice_id = 5, slice_spec = '{"telemetry":{"estimate":120,"by":"COUNT"}}', record_remarks = '{"why":"over the cap"}' WHERE id = 6`)
	shown := d.expect(term.ExitOK, "slice", "show", "6")
	d.holds(shown.out, "cut from slice   5", `{"estimate":120,"by":"COUNT"}`, "over the cap")
	d.exec("UPDATE ing_plan_slice SET window_from = NULL, window_to = NULL, expr_snapshot = NULL, slice_spec = '{}' WHERE id = 6")
	d.exec("DELETE FROM ing_task WHERE id = 6")
	d.holds(d.expect(term.ExitOK, "slice", "show", "6").out, "no range of time", "expected         -", "task             -", "no runs yet")
	d.holds(d.expect(term.ExitOK, "slice", "show", "6", "-o", "json").out, `"task": null`, `"runs": []`)
	d.holds(d.expect(term.ExitOK, "slice", "list", "--plan", "2").out, " -  ")
}

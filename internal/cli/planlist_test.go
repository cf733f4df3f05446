package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/ledger"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// planned is a desk with the harvested plan 1, which has ended, and plan 2 of
// three days in the queue.
func planned(t *testing.T) *desk {
	t.Helper()
	d := harvested(t)
	d.expect(term.ExitOK, "plan", "crossref", "--offline", "--from", "2025-03-05", "--to", "2025-03-08")
	return d
}

func storedCommands() [][]string {
	return [][]string{{"plan", "list"}, {"plan", "show", "1"}, {"plan", "show", "2"}, {"slice", "list"}, {"slice", "show", "1"}, {"slice", "show", "5"}}
}

func TestReadingPlansWritesNothing(t *testing.T) {
	d := planned(t)
	for _, args := range append(storedCommands(), []string{"plan", "cancel", "2", "--dry-run"}) {
		r := d.writesNothing(args...)
		d.fits(r.out)
		if r.code != term.ExitOK || r.out == "" {
			t.Errorf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		if r = d.writesNothing(append(args, "-o", "json")...); r.code != term.ExitOK || !json.Valid([]byte(r.out)) {
			t.Errorf("%v as JSON: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}

func TestPlansOfAMissingDatabase(t *testing.T) {
	for _, args := range append(storedCommands(), []string{"plan", "cancel", "1"}) {
		d := emptyDesk(t)
		r := d.expect(term.ExitNotFound, args...)
		d.holds(r.err, d.file, "patra harvest")
		d.noFile()
	}
}

func TestPlanAndSliceIDs(t *testing.T) {
	d := planned(t)
	for _, args := range [][]string{{"plan", "show"}, {"plan", "cancel"}, {"slice", "show"}} {
		for id, code := range map[string]int{"0": term.ExitUsage, "x": term.ExitUsage, "4711": term.ExitNotFound} {
			r := d.expect(code, append(args, id)...)
			d.holds(r.err, args[0], id)
			if r.out != "" {
				t.Errorf("%v %s: output %q", args, id, r.out)
			}
		}
		d.expect(term.ExitUsage, args...)
		d.expect(term.ExitUsage, append(args, "1", "2")...)
	}
}

func TestPlanAndSliceFilters(t *testing.T) {
	d := planned(t)
	for args, want := range map[string][]int64{
		"plan":                                      {2, 1},
		"plan --status completed":                   {1},
		"plan --status READY --source crossref":     {2},
		"plan --op harvest --before 2":              {1},
		"plan --op UPDATE":                          nil,
		"plan --limit 1":                            {2},
		"slice --plan 1":                            {4, 3, 2, 1},
		"slice --status FAILED":                     {3},
		"slice --source crossref --before 6":        {5, 4, 3, 2, 1},
		"slice --plan 2 --limit 1":                  {7},
		"slice --plan 2 --status SUCCEEDED":         nil,
		"slice --plan 2 --status ready --before 99": {7, 6, 5},
	} {
		words := strings.Fields(args)
		var rows []struct{ ID int64 }
		d.decode(d.expect(term.ExitOK, append([]string{words[0], "list", "-o", "json"}, words[1:]...)...).out, &rows)
		var got []int64
		for _, row := range rows {
			got = append(got, row.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
	for _, bad := range []string{
		"plan --status QUEUED", "plan --op METRICS", "plan --limit 0", "plan --before 0", "plan extra", "slice --status DONE", "slice --plan 0", "slice --limit 10001",
	} {
		words := strings.Fields(bad)
		d.holds(d.expect(term.ExitUsage, append([]string{words[0], "list"}, words[1:]...)...).err, strings.TrimPrefix(words[1], "--"))
	}
	d.holds(d.expect(term.ExitOK, "plan", "list", "--limit", "1").err, "--before 2")
	d.holds(d.expect(term.ExitOK, "slice", "list", "--plan", "9").err, "no slices")
}

func TestPlanList(t *testing.T) {
	d := planned(t)
	d.holds(d.expect(term.ExitOK, "plan", "list").out, "crossref/works", "COMPLETED", "[2025-03-01, 2025-03-05)", "3 succeeded", "1 failed", "3 ready")
	var rows []view.PlanRow
	d.decode(d.expect(term.ExitOK, "plan", "list", "-o", "json").out, &rows)
	if got := rows[1].Slices; got["SUCCEEDED"] != 3 || got["FAILED"] != 1 || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// A plan still gets made by the command its verbs hang on.
func TestPlanVerbsStandBesideSources(t *testing.T) {
	d := planned(t)
	d.holds(d.expect(term.ExitOK, "plan", "crossref", "--offline", "--dry-run", "-v").out, "nowSafe")
	d.holds(d.expect(term.ExitNotFound, "plan", "lst", "--dry-run").err, `source "lst"`)
	d.expect(term.ExitUsage, "plan")
}

func TestPlanCancel(t *testing.T) {
	d := planned(t)
	d.exec("UPDATE ing_task SET status_code = 'EXECUTING', lease_owner = 'w', leased_until = 1, lease_epoch = 1 WHERE id = 5")
	dry := d.writesNothing("plan", "cancel", "2", "--dry-run", "-o", "json")
	var expected, did, again ledger.Cancelled
	d.decode(dry.out, &expected)
	d.decode(d.expect(term.ExitOK, "plan", "cancel", "2", "--reason", "too much", "--actor", "me", "-o", "json").out, &did)
	want := ledger.Cancelled{PlanCancel: view.PlanCancel{PlanID: 2, Status: "READY", Cancelled: 2, Stopping: 1}, DryRun: true}
	if expected != want {
		t.Errorf("expected %+v, want %+v", expected, want)
	}
	want.Status, want.DryRun = "CANCELLED", false
	if did != want {
		t.Errorf("did %+v, want %+v", did, want)
	}
	db := d.db()
	defer db.Close()
	if got := d.column(db, "SELECT actor || ' ' || action || ' ' || object || ' ' || reason FROM ing_audit_log"); !slices.Equal(got, []string{"me plan.cancel plan/2 too much"}) {
		t.Errorf("audit log %q", got)
	}
	if got := d.column(db, "SELECT id FROM ing_task WHERE cancel_requested = 1"); !slices.Equal(got, []string{"5"}) {
		t.Errorf("told to stop: %v", got)
	}
	r := d.writesNothing("plan", "cancel", "2", "-o", "json")
	d.decode(r.out, &again)
	if r.code != term.ExitOK || again != want {
		t.Errorf("exit code %d, %+v, want %+v", r.code, again, want)
	}
	d.holds(r.err, "was cancelled already")
}

func TestPlanCancelForPeople(t *testing.T) {
	d := planned(t)
	d.holds(d.expect(term.ExitOK, "plan", "cancel", "2", "--dry-run").err, "nothing was written")
	r := d.expect(term.ExitOK, "plan", "cancel", "2")
	d.holds(r.out, "CANCELLED", "3 slices without a worker")
	d.holds(r.err, "stays owed")
	d.holds(d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--from", "2025-03-05", "--to", "2025-03-08").out, "2025-03-05")
	d.expect(term.ExitOK, "cursor", "verify")
}

func TestPlanThatEndedIsNotCancelled(t *testing.T) {
	d := planned(t)
	for _, more := range [][]string{nil, {"--dry-run"}} {
		r := d.writesNothing(append([]string{"plan", "cancel", "1"}, more...)...)
		if r.code != term.ExitConflict || r.out != "" {
			t.Errorf("exit code %d, output %q", r.code, r.out)
		}
		d.holds(r.err, "plan 1 is COMPLETED: nothing is left to cancel")
	}
}

// A harvest after a cancellation takes up what was cancelled, not the plan.
func TestHarvestAfterACancelledPlan(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	args := []string{"crossref", "--from", "2025-03-01", "--to", "2025-03-03"}
	d.expect(term.ExitOK, append([]string{"plan"}, args...)...)
	d.expect(term.ExitOK, "plan", "cancel", "1")
	db := d.db()
	if _, err := db.Exec("UPDATE ing_coverage SET retry_after = 1"); err != nil { // the wait is over
		t.Fatal(err)
	}
	db.Close()
	var s work.Summary
	d.decode(d.expect(term.ExitOK, append([]string{"harvest", "-o", "json"}, args...)...).out, &s)
	if len(s.Continued) != 0 || s.Empty || s.Stats.Inserted != 24 {
		t.Errorf("%+v", s)
	}
	if p, err := localstore.Beside(t, "sqlite:"+d.file).Progress(t.Context(), 1); err != nil || p.Status != "CANCELLED" || p.Slices["CANCELLED"] != 2 {
		t.Errorf("%+v %v", p, err)
	}
}

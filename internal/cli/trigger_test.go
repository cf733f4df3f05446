package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// An outside scheduler that repeats its call gets the plan it has, and its ids are
// found again.
func TestSameRequestIsOnePlan(t *testing.T) {
	d := harvested(t)
	plan := []string{"plan", "crossref", "--from", "-300d", "--to", "-290d", "--offline", "--request-id", "nightly-7"}
	first := d.expect(term.ExitOK, append(plan, "--job-id", "job-3", "--log-id", "log-44", "--set", "paging.size=50", "--retry")...)
	d.holds(first.err, "stored as plan 2")

	again := d.expect(term.ExitOK, append(plan, "--set", "paging.size=50", "--retry")...)
	d.holds(again.out, "request nightly-7 was planned before, as plan 2 (READY): nothing was planned again")
	var out struct {
		PlanID   int64
		Repeated bool
		Status   string
	}
	d.decode(d.expect(term.ExitOK, append(plan, "--set", "paging.size=50", "--retry", "-o", "json")...).out, &out)
	if out.PlanID != 2 || !out.Repeated || out.Status != "READY" {
		t.Errorf("%+v", out)
	}
	// The same id for something else is a mistake of the caller.
	r := d.expect(term.ExitConflict, append(plan, "--set", "paging.size=40", "--retry")...)
	d.holds(r.err, "nightly-7", "plan 2", "another --request-id")
	// Of another operation it is another request: a job may have one id for all it does.
	d.holds(d.expect(term.ExitOK, append(plan, "--op", "BACKFILL")...).err, "stored as plan 3")

	show := d.expect(term.ExitOK, "plan", "show", "2")
	d.holds(show.out, "job job-3, log log-44", `"overrides":["paging.size=50"]`, `"policy":{"offline":true,"retry":true}`, `"requestId":"nightly-7"`)
	list := d.expect(term.ExitOK, "plan", "triggers")
	d.holds(list.out, "job-3", "log-44", "plan 2")
}

// Whoever looks later finds that somebody asked and why there is no plan.
func TestRefusedTriggerLeavesARow(t *testing.T) {
	d := harvested(t)
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "maintenance")
	d.expect(term.ExitConflict, "plan", "crossref", "--from", "2025-03-04", "--to", "2025-03-05", "--offline", "--job-id", "job-9")
	d.expect(term.ExitConflict, "harvest", "crossref", "--from", "2025-03-04", "--to", "2025-03-05", "--log-id", "log-9")
	d.expect(term.ExitConflict, "plan", "crossref", "--from", "2025-03-04", "--to", "2025-03-05", "--offline", "--set", "contact.email=ann@example.org")
	var rows []view.TriggerRow
	r := d.expect(term.ExitOK, "plan", "triggers", "--status", "REFUSED", "-o", "json")
	d.decode(r.out, &rows)
	if len(rows) != 3 {
		t.Fatalf("%d refused triggers\n%s", len(rows), r.out)
	}
	if rows[1].LogID != "log-9" || rows[2].JobID != "job-9" || !strings.Contains(rows[2].Refused, "maintenance") || rows[2].PlanID != 0 {
		t.Errorf("%+v", rows)
	}
	// Neither bad flags nor a rehearsal are triggers, and nobody can ask for an unknown source.
	d.expect(term.ExitUsage, "plan", "crossref", "--from", "soon")
	d.expect(term.ExitUsage, "plan", "crossref", "--job-id", strings.Repeat("x", 65))
	d.expect(term.ExitOK, "plan", "crossref", "--from", "2025-03-04", "--to", "2025-03-05", "--offline", "--dry-run")
	d.expect(term.ExitNotFound, "plan", "nope")
	d.decode(d.expect(term.ExitOK, "plan", "triggers", "--status", "REFUSED", "-o", "json").out, &rows)
	if len(rows) != 3 {
		t.Errorf("%+v", rows)
	}
}

// A trigger may say how urgent it is: its tasks stand in the queue and at the gate by that,
// and whoever looks later sees it.
func TestTriggerSaysHowUrgentItIs(t *testing.T) {
	d := harvested(t)
	bounds := []string{"crossref", "--from", "-300d", "--to", "-298d"}
	d.holds(d.expect(term.ExitOK, slices.Concat([]string{"plan"}, bounds, []string{"--offline", "--priority", "3"})...).err, "stored as plan 2")
	d.holds(d.expect(term.ExitOK, "plan", "crossref", "--from", "-290d", "--to", "-288d", "--offline").err, "stored as plan 3")
	for plan, want := range map[string]int{"2": 3, "3": 10} {
		var tasks []view.Task
		d.decode(d.expect(term.ExitOK, "task", "list", "--plan", plan, "-o", "json").out, &tasks)
		if len(tasks) == 0 || slices.ContainsFunc(tasks, func(t view.Task) bool { return t.Priority != want }) {
			t.Errorf("plan %s: %+v, want priority %d", plan, tasks, want)
		}
	}
	d.holds(d.expect(term.ExitOK, "plan", "show", "2").out, `"overrides":["slicing.priority=3"]`)
	d.holds(d.expect(term.ExitOK, "plan", "triggers").out, "slicing.priority=3")
	// A campaign keeps it for all its parts, whoever plans them.
	campaign := d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-20", "--to", "2025-02-22", "--name", "soon", "--detach", "--priority", "7", "-o", "json")
	d.holds(campaign.out, "slicing.priority=7")
	for _, bad := range []string{"0", "101", "-1", "soon"} {
		d.expect(term.ExitUsage, slices.Concat([]string{"plan"}, bounds, []string{"--dry-run", "--priority", bad})...)
	}
	r := d.expect(term.ExitUsage, slices.Concat([]string{"plan"}, bounds, []string{"--dry-run", "--set", "slicing.priority=101"})...)
	d.holds(r.err, "slicing: priority", "1 to 100")
}

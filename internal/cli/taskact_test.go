package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

func (d *desk) statuses() string {
	d.Helper()
	db := d.db()
	defer db.Close()
	return strings.Join(d.column(db, "SELECT status_code FROM ing_task ORDER BY id"), " ")
}

func (d *desk) did(args ...string) (done view.TasksDone) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, append(args, "-o", "json")...).out, &done)
	return done
}

// The desk has plan 1, COMPLETED, whose third task failed, and plan 2 with three
// tasks that wait.
func TestTaskCancel(t *testing.T) {
	d := planned(t)
	d.exec("UPDATE ing_task SET status_code = 'EXECUTING', lease_owner = 'w', leased_until = 1, lease_epoch = 1 WHERE id = 5")
	var dry view.TasksDone
	d.decode(d.writesNothing("task", "cancel", "5", "6", "--dry-run", "-o", "json").out, &dry)
	want := view.TasksDone{TasksDone: ingest.TasksDone{Cancelled: 1, Stopping: 1}, DryRun: true}
	if dry != want {
		t.Errorf("%+v, want %+v", dry, want)
	}
	want.DryRun = false
	if done := d.did("task", "cancel", "5", "6", "--reason", "wrong", "--actor", "me"); done != want {
		t.Errorf("%+v, want %+v", done, want)
	}
	if got := d.statuses(); got != "SUCCEEDED SUCCEEDED FAILED SUCCEEDED EXECUTING CANCELLED QUEUED" {
		t.Errorf("tasks %s", got)
	}
	d.holds(d.expect(term.ExitOK, "task", "show", "5").out, "it is being stopped")
	d.holds(unfolded(d.expect(term.ExitOK, "task", "show", "6").out), "now: patra harvest crossref --retry", "patra task retry 6")
	again := d.writesNothing("task", "cancel", "5", "6")
	if again.code != term.ExitOK {
		t.Errorf("exit code %d: %s", again.code, again.err)
	}
	d.holds(again.out, "cancelled before  2 tasks")
	db := d.db()
	defer db.Close()
	if got := d.column(db, "SELECT actor || ' ' || action || ' ' || object || ' ' || reason FROM ing_audit_log ORDER BY id"); !slices.Equal(got, []string{"me task.cancel task/5 wrong", "me task.cancel task/6 wrong"}) {
		t.Errorf("audit log %q", got)
	}
	d.expect(term.ExitOK, "cursor", "verify")
}

func TestTaskRetry(t *testing.T) {
	d := planned(t)
	if done := d.did("task", "retry", "3", "6"); done.TasksDone != (ingest.TasksDone{Queued: 1, Unchanged: 1}) {
		t.Errorf("%+v", done)
	}
	if got := d.statuses(); got != "SUCCEEDED SUCCEEDED QUEUED SUCCEEDED QUEUED QUEUED QUEUED" {
		t.Errorf("tasks %s", got)
	}
	var rows []view.PlanRow
	d.decode(d.expect(term.ExitOK, "plan", "list", "-o", "json").out, &rows)
	if rows[1].Status != "READY" || rows[1].Slices["READY"] != 1 {
		t.Errorf("%+v", rows[1])
	}
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "it waits for a free worker", "SERVER_ERROR")
	d.holds(d.expect(term.ExitOK, "run", "show", "3").out, "task 3: it waits for a free worker")
}

func TestTasksByFilter(t *testing.T) {
	d := planned(t)
	for _, args := range [][]string{{"task", "cancel", "--plan", "2"}, {"task", "cancel", "--source", "crossref"}, {"task", "cancel", "--source", "crossref/works", "--op", "harvest"}} {
		r := d.writesNothing(args...)
		if r.code != term.ExitUsage {
			t.Errorf("%v: exit code %d", args, r.code)
		}
		d.holds(r.out, "3 tasks without a worker")
		d.holds(r.err, "3 tasks would be changed: add --yes")
		if r := d.writesNothing(append(args, "--dry-run")...); r.code != term.ExitOK {
			t.Errorf("%v --dry-run: exit code %d", args, r.code)
		}
	}
	r := d.expect(term.ExitOK, "task", "cancel", "--plan", "2", "--yes")
	d.holds(r.err, "stays owed", "patra task retry --plan 2 --status CANCELLED --yes")
	if got := d.statuses(); got != "SUCCEEDED SUCCEEDED FAILED SUCCEEDED CANCELLED CANCELLED CANCELLED" {
		t.Errorf("tasks %s", got)
	}
	d.holds(d.writesNothing("task", "cancel", "--plan", "2", "--yes").err, "no tasks match")
	if done := d.did("task", "retry", "--source", "crossref", "--yes"); done.Queued != 1 {
		t.Errorf("failed ones: %+v", done)
	}
	if done := d.did("task", "retry", "--plan", "2", "--status", "cancelled", "--yes"); done.Queued != 3 {
		t.Errorf("cancelled ones: %+v", done)
	}
	if got := d.statuses(); got != "SUCCEEDED SUCCEEDED QUEUED SUCCEEDED QUEUED QUEUED QUEUED" {
		t.Errorf("tasks %s", got)
	}
}

func TestTaskActsAreRefused(t *testing.T) {
	d := planned(t)
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{term.ExitUsage, "cancel", "name tasks"},
		{term.ExitUsage, "retry", "name tasks"},
		{term.ExitUsage, "cancel 5 --plan 2", "name tasks"},
		{term.ExitUsage, "cancel --plan 2 --source crossref", "name tasks"},
		{term.ExitUsage, "cancel x", "whole number"},
		{term.ExitUsage, "cancel --plan -2", "--plan"},
		{term.ExitUsage, "cancel 5 --op HARVEST", "--op"},
		{term.ExitUsage, "retry --plan 1 --status SUCCEEDED", "--status"},
		{term.ExitNotFound, "cancel 5 4711", "there is no task 4711"},
		{term.ExitNotFound, "retry 3 4711", "there is no task 4711"},
		{term.ExitNotFound, "cancel --plan 4711 --yes", "there is no plan 4711"},
		{term.ExitNotFound, "cancel --plan 4711 --dry-run", "there is no plan 4711"},
		{term.ExitNotFound, "retry --source nobody --yes", "nobody"},
		{term.ExitConflict, "cancel 5 1", "task 1 is SUCCEEDED: nothing is left to cancel"},
		{term.ExitConflict, "cancel 3", "task 3 is FAILED: nothing is left to cancel"},
		{term.ExitConflict, "retry 3 1", "task 1 SUCCEEDED: there is nothing to try again"},
	} {
		r := d.writesNothing(append([]string{"task"}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", c.args, r.code, r.out)
		}
		d.holds(r.err, c.says)
	}
	d.expect(term.ExitOK, "plan", "cancel", "2")
	r := d.writesNothing("task", "retry", "5")
	if r.code != term.ExitConflict {
		t.Errorf("exit code %d", r.code)
	}
	d.holds(r.err, "plan 2, which was cancelled")
}

// A task that is tried again is done by the next harvest, and closes the hole.
func TestHarvestAfterARetry(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	args := []string{"crossref", "--from", "2025-03-01", "--to", "2025-03-04"}
	d.expect(term.ExitOK, append([]string{"plan"}, args...)...)
	d.expect(term.ExitOK, "task", "cancel", "2")
	d.expect(term.ExitPartial, append([]string{"harvest"}, args...)...)
	d.expect(term.ExitOK, "task", "retry", "2")
	var s work.Summary
	d.decode(d.expect(term.ExitOK, append([]string{"harvest", "-o", "json"}, args...)...).out, &s)
	if !slices.Equal(s.Continued, []int64{1}) || s.Slices["SUCCEEDED"] != 1 || s.Slices["CANCELLED"] != 0 { // the others were read by the harvest before
		t.Errorf("%+v", s)
	}
	d.expect(term.ExitOK, "cursor", "verify")
}

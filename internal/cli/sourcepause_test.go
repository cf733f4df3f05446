package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestPauseAndResume(t *testing.T) {
	d := planned(t)
	pause := []string{"source", "pause", "crossref", "--reason", "they asked", "--actor", "me", "-o", "json"}
	var dry, done, again view.PauseDone
	d.decode(d.writesNothing(append(pause, "--dry-run")...).out, &dry)
	d.decode(d.expect(term.ExitOK, pause...).out, &done)
	if !dry.DryRun || !dry.Changed || dry.Waiting != 3 || done.DryRun || !done.Changed || done.Waiting != 3 || done.Running != 0 || done.Actor != "me" || done.Reason != "they asked" {
		t.Errorf("dry %+v, done %+v", dry, done)
	}
	r := d.writesNothing("source", "pause", "crossref", "--reason", "also", "-o", "json")
	d.decode(r.out, &again)
	if again.Changed || again.Reason != "they asked" || again.Since != done.Since {
		t.Errorf("%+v, want %+v", again, done)
	}
	d.holds(r.err, "was paused already", "patra source resume crossref --reason")
	d.holds(d.expect(term.ExitOK, "task", "show", "5").out, "crossref is paused since", "they asked", "patra source resume crossref")

	d.holds(d.expect(term.ExitOK, "source", "show", "crossref").err, "crossref is paused since", "patra source resume crossref")

	resume := []string{"source", "resume", "crossref", "--reason", "they are back", "--actor", "me", "-o", "json"}
	var ended view.ResumeDone
	d.decode(d.writesNothing(append(resume, "--dry-run")...).out, &ended)
	if !ended.DryRun || !ended.Changed {
		t.Errorf("%+v", ended)
	}
	d.decode(d.expect(term.ExitOK, resume...).out, &ended)
	if ended.DryRun || !ended.Changed || ended.Was == nil || ended.Was.Reason != "they asked" || ended.Waiting != 3 {
		t.Errorf("%+v", ended)
	}
	d.decode(d.writesNothing(resume...).out, &ended)
	if ended.Changed {
		t.Errorf("%+v", ended)
	}
	db := d.db()
	defer db.Close()
	want := []string{"me source.pause source/crossref they asked", "me source.resume source/crossref they are back"}
	if got := d.column(db, "SELECT actor || ' ' || action || ' ' || object || ' ' || reason FROM ing_audit_log ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("audit log %q", got)
	}
}

func TestPauseOfAPart(t *testing.T) {
	d := planned(t)
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "all")
	r := d.writesNothing("source", "resume", "crossref/works", "--reason", "why")
	if r.code != term.ExitConflict {
		t.Errorf("exit code %d", r.code)
	}
	d.holds(r.err, "crossref is paused since", "patra source resume crossref --reason")
	d.expect(term.ExitOK, "source", "pause", "crossref/works", "--op", "backfill", "--reason", "part")
	r = d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "why")
	d.holds(r.out, "resumed", "was paused", "3 tasks")
	d.holds(r.err, "crossref/works --op BACKFILL is paused", "patra source resume crossref/works --op BACKFILL --reason")
	d.holds(d.expect(term.ExitOK, "source", "resume", "crossref/works", "--reason", "why").out, "not paused")
}

func TestPauseIsRefused(t *testing.T) {
	d := planned(t)
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{term.ExitUsage, "pause crossref", "--reason"},
		{term.ExitUsage, "resume crossref", "--reason"},
		{term.ExitUsage, "pause crossref --reason x --op METRICS", "METRICS"},
		{term.ExitUsage, "pause --reason x", "arg"},
		{term.ExitNotFound, "pause nobody --reason x", "nobody"},
		{term.ExitNotFound, "pause crossref/papers --reason x", "works"},
		{term.ExitNotFound, "resume crossref/ --reason x", "works"},
	} {
		r := d.writesNothing(append([]string{"source"}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", c.args, r.code, r.out)
		}
		d.holds(r.err, c.says)
	}
	none := emptyDesk(t)
	none.expect(term.ExitNotFound, "source", "pause", "crossref", "--reason", "x")
	none.noFile()
}

// What is paused is neither planned nor harvested; a rehearsal still works.
func TestPausedSourceIsNotHarvested(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	window := []string{"crossref", "--from", "2025-03-01", "--to", "2025-03-03"}
	d.expect(term.ExitOK, append([]string{"plan"}, window...)...)
	d.expect(term.ExitOK, "source", "pause", "crossref", "--op", "HARVEST", "--reason", "quota")
	plans := d.expect(term.ExitOK, "plan", "list", "-o", "json").out
	for _, verb := range []string{"harvest", "plan"} {
		r := d.run(append([]string{verb}, window...)...) // it leaves a trigger
		if after := d.expect(term.ExitOK, "plan", "list", "-o", "json").out; after != plans {
			t.Errorf("%s: plans were %s and are %s", verb, plans, after)
		}
		if r.code != term.ExitConflict || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", verb, r.code, r.out)
		}
		d.holds(r.err, "crossref --op HARVEST is paused since", "quota", "patra source resume crossref --op HARVEST")
	}
	d.expect(term.ExitOK, append([]string{"plan", "--dry-run"}, window...)...)
	d.expect(term.ExitOK, "source", "resume", "crossref", "--op", "HARVEST", "--reason", "enough")
	var s work.Summary
	d.decode(d.expect(term.ExitOK, append([]string{"harvest", "-o", "json"}, window...)...).out, &s)
	if !s.Joined || s.PlanID != 1 || s.Stats.Inserted != 24 {
		t.Errorf("%+v", s)
	}
}

// A pause may have an end, which everything that tells of the pause tells too.
func TestPauseUntil(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitOK, "source", "pause", "crossref", "--until", "2999-01-02T03:00:00Z", "--reason", "maintenance")
	d.holds(r.out, "until", "2999-01-02T03:00:00Z")
	d.holds(d.expect(term.ExitOK, "source", "show", "crossref").err, "until 2999-01-02T03:00:00Z")
	d.holds(d.run("status").out, "until 2999-01-02T03:00:00Z")
	d.holds(d.expect(term.ExitConflict, "plan", "crossref", "--offline").err, "until 2999-01-02T03:00:00Z")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "done")
	for _, wrong := range []string{"2020-01-01", "soon", "-7d"} {
		if r := d.expect(term.ExitUsage, "source", "pause", "crossref", "--until", wrong, "--reason", "x"); !strings.Contains(r.err, "--until") {
			t.Errorf("%s: %s", wrong, r.err)
		}
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Whoever waits for a quota of our own is told how to end that, in the bar too.
func TestTrust11ABarNamesTheWayOutOfAQuota(t *testing.T) {
	d := planned(t)
	app, err := daemon.Open(d.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	for _, id := range []int{5, 6, 7} {
		d.exec("UPDATE ing_task SET status_code = 'SCHEDULED', scheduled_at = 4102444800000000, wait_code = 'QUOTA' WHERE id = ?", id)
	}
	d.holds(reason.StandstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}), "QUOTA until 2100-01-01T00:00:00Z", "patra rate release crossref --reason")
}

// A paused source promises no retries, and says how it goes on.
func TestTrust13APausedSourceSaysHowItGoesOn(t *testing.T) {
	d := harvested(t)
	d.holds(d.expect(term.ExitFindings, "status").out, "retry from")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "they asked.", "--actor", "me")
	r := d.expect(term.ExitFindings, "status")
	said := strings.Join(strings.Fields(r.out), " ")
	d.holds(said, "by me: they asked. To go on: `patra source resume crossref --reason …`", "nothing is tried while the source is paused")
	if strings.Contains(said, "retry from") {
		t.Errorf("a retry is promised:\n%s", r.out)
	}
	d.fits(r.out)
}

// Where schedules start the first harvest, status says when, and who follows them.
func TestTrust19StatusTellsOfSchedules(t *testing.T) {
	d := newDesk(t)
	d.empty()
	d.holds(d.expect(term.ExitOK, "status").err, "nothing was planned yet: `patra harvest SRC` starts")
	d.rows(d.crossrefFile("scheduled.yaml", "endpoints:\n", "schedule: {every: PT1H}\n\nendpoints:\n"))
	d.holds(d.expect(term.ExitOK, "status").err, "1 schedule is declared, and no process follows schedules: `patra serve` does")
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('x', 'executor,planner', 'elsewhere', 1, 1, 1, 4102444800000000)")
	d.holds(d.expect(term.ExitOK, "status").err, "1 schedule is followed, the first is due at 2")
}

// A source that was misspelt is guessed, bundled or applied, with and without a database.
func TestTrust19MisspeltSourcesAreGuessed(t *testing.T) {
	d := newDesk(t)
	d.holds(d.expect(term.ExitNotFound, "source", "show", "crosref").err, "did you mean crossref?")
	d.rows(d.write("library.yaml", d.changed(source.Skeleton, "source: example", "source: ourlibrary")))
	d.holds(d.expect(term.ExitNotFound, "harvest", "crosref").err, "did you mean crossref?")
	d.holds(d.expect(term.ExitNotFound, "harvest", "ourlibary").err, "did you mean ourlibrary?")
	if said := d.expect(term.ExitNotFound, "harvest", "nothing-like-it").err; strings.Contains(said, "did you mean") {
		t.Error(said)
	}
}

// The keys that an address may need stand where they are written.
func TestTrust19SkeletonShowsWhereAddressesAreAllowed(t *testing.T) {
	d := newDesk(t)
	file := d.write("mine.yaml", d.changed(source.Skeleton, "baseUrl: https://api.example.org/v1", "baseUrl: http://127.0.0.1:1/v1", "# allowHttp: true", "allowHttp: true", "# allowPrivate: true", "allowPrivate: true"))
	d.expect(term.ExitOK, "source", "validate", file)
}

// Programs get the next step as a field of its own, wherever a message has one.
func TestTrust19ErrorsHaveTheNextStep(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_TEST_CANARY", "kanari-4711-0815")
	up := newUpstream(t)
	file := d.shared(up.URL, strings.Replace(keyFrom, "%q", "env:PATRA_TEST_CANARY", 1), "allowHttp: true")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "they asked")
	for _, c := range []struct {
		code int
		hint string
		args []string
	}{
		{term.ExitConflict, "patra source resume crossref --reason …", []string{"harvest", "crossref"}},
		{term.ExitAuth, "patra source trust " + file, []string{"source", "test", file, "--window", firstOfMarch}},
		{term.ExitFindings, "patra harvest crossref", []string{"coverage", "gaps", "crossref"}},
		{term.ExitNotFound, "patra source list", []string{"harvest", "nowhere"}},
		{term.ExitUsage, "See `patra task show --help`", []string{"task", "show"}},
		{term.ExitNotFound, "", []string{"task", "show", "4711"}},
	} {
		r := d.expect(c.code, append(c.args, "-o", "json")...)
		lines := strings.Split(strings.TrimSpace(r.err), "\n")
		var got struct{ Error failed }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
			t.Fatalf("%v: %v\n%s", c.args, err, r.err)
		}
		if !strings.Contains(got.Error.Hint, c.hint) || c.hint == "" && got.Error.Hint != "" {
			t.Errorf("%v: hint %q, want %q; message %q", c.args, got.Error.Hint, c.hint, got.Error.Message)
		}
	}
}

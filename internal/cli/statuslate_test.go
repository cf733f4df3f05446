package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A source that is far behind is a finding where it says how far it may be, by itself or by
// its schedule, and explain shows the threshold.
func TestStatusTellsThatASourceIsBehind(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
	d.rows(d.crossrefFile("declared.yaml", "endpoints:\n", "alerts: {maxLag: P5D}\n\nendpoints:\n"))
	text := unfolded(d.expect(term.ExitFindings, "status").out)
	d.holds(text, "! crossref/works: the watermark stands at 2025-03-05 00:00Z", "more than 5d", "(alerts.maxLag); next: `patra harvest crossref --endpoint works`")
	d.holds(unfolded(d.expect(term.ExitOK, "source", "explain", "crossref", "alerts.maxLag").out), "P5D")

	d.rows(d.crossrefFile("scheduled.yaml", "endpoints:\n", "schedule: {every: PT1H}\n\nendpoints:\n"))
	d.holds(unfolded(d.expect(term.ExitFindings, "status", "crossref").out), "the watermark stands at 2025-03-05 00:00Z")
	d.rows(d.crossrefFile("off.yaml", "endpoints:\n", "schedule: {every: PT1H}\nalerts: {maxLag: PT0S}\n\nendpoints:\n"))
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

// A schedule that nobody follows, and one that is refused, are findings until they fire.
func TestStatusTellsOfSchedulesThatDoNotFire(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	d.rows(d.crossrefFile("scheduled.yaml", "endpoints:\n", "schedule: {every: PT1H}\nalerts: {maxLag: PT0S}\n\nendpoints:\n"))
	d.holds(d.expect(term.ExitOK, "status").out, "no findings") // it was applied just now
	now := time.Now()
	hour := now.Truncate(time.Hour)
	d.exec("INSERT INTO ing_schedule_state (schedule_name, last_tick, missed, schedule_instance_id, followed_since, updated_at) VALUES ('crossref/works/HARVEST', ?, 0, NULL, 1, ?)",
		hour.Add(-4*time.Hour).UnixMicro(), now.UnixMicro())
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: the schedule of HARVEST does not fire: a tick was due at", "`patra serve` does")
	d.exec(`INSERT INTO ing_schedule_instance (id, trigger_key, scheduler_code, trigger_type_code, triggered_at, provenance_code, record_remarks, created_at)
  VALUES (77, 'k', 'INTERNAL', 'SCHEDULE', 1, 'crossref', '{"refused":"E-CLOCK: no"}', 1)`)
	d.exec("UPDATE ing_schedule_state SET last_tick = ?, schedule_instance_id = 77", hour.UnixMicro())
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: the schedule of HARVEST led to no plan at its newest tick", "E-CLOCK: no", "patra plan crossref --endpoint works --op HARVEST --dry-run")
	d.exec("UPDATE ing_schedule_instance SET record_remarks = NULL WHERE id = 77")
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

// A clock was ahead while a source was harvested. Status, a dry run and a harvest tell the same command,
// and typed as it is shown it ends the finding.
func TestTheCommandAfterAClockThatWasAheadWorksAsItIsTyped(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	const command = "patra cursor set 1 --to 2025-03-01 --reason clock-was-ahead --yes"
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: the watermark of cursor 1 stands at 2025-03-05 00:00Z", " ahead of the database's clock", "`"+command+"`")
	for _, args := range [][]string{{"harvest", "crossref", "--dry-run"}, {"harvest", "crossref"}} {
		d.holds(unfolded(d.expect(term.ExitUsage, args...).err), "the clock is wrong now, or it was ahead", "`"+command+"`")
	}
	d.expect(term.ExitOK, strings.Fields(command)[1:]...)
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/status"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A process that was killed is told with what waits for it, once, and no more when another
// one does its work or it said farewell.
func TestStatusTellsOfAProcessThatWasKilled(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_task SET status_code = 'QUEUED' WHERE id = 3")
	beat := func(id, roles string, heard time.Time, lives time.Duration) {
		d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES (?, ?, 'attic', 7, ?, ?, ?)",
			id, roles, heard.Add(-time.Hour).UnixMicro(), heard.UnixMicro(), heard.Add(lives).UnixMicro())
	}
	beat("killed", "executor,planner", time.Now().Add(-10*time.Minute), time.Minute)
	r := d.expect(term.ExitFindings, "status")
	said := strings.Join(strings.Fields(r.out), " ")
	d.holds(said, "! process 7 on attic: ended without shutting down", "no process is executor or planner now, and 1 task waiting", "work has stopped for crossref", "next: `patra serve`")
	if strings.Contains(said, "no patra process is running") {
		t.Errorf("one cause is told twice:\n%s", r.out)
	}
	var report status.Report
	d.decode(d.expect(term.ExitFindings, "status", "-o", "json").out, &report)
	if n := len(report.Findings); n != 1 || report.Findings[0].Code != view.FoundGone || report.Findings[0].Severity != view.Warning {
		t.Errorf("%+v", report.Findings)
	}
	beat("other", "executor,planner", time.Now().Add(-time.Second), time.Hour)
	r = d.expect(term.ExitOK, "status")
	d.holds(strings.Join(strings.Fields(r.out), " "), "~ process 7 on attic: ended without shutting down", "other processes do its work", "1 process is at work", "process 7 on attic: executor,planner, since")
	d.exec("DELETE FROM ing_executor WHERE executor_id = 'killed'")
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

// The status tells what starts next.
func TestStatusTellsNextTicks(t *testing.T) {
	d := newDesk(t)
	d.empty()
	d.expect(term.ExitOK, "source", "apply", d.crossrefFile("mine.yaml", "rate:", "schedule: {every: PT6H}\nrate:"), "--reason", "test")
	d.holds(d.expect(term.ExitOK, "status").out, "next ticks: crossref 2")
	var report status.Report
	d.decode(d.expect(term.ExitOK, "status", "-o", "json").out, &report)
	if len(report.Ticks) != 1 || report.Ticks[0].At.Before(time.Now()) || report.Ticks[0].Schedule != "every PT6H" || len(report.AtWork) != 0 {
		t.Errorf("%+v", report)
	}
}

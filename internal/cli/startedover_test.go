package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// Whoever harvests is told why a slice starts over, without -v.
func TestBelieve09ReasonIsTold(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("expire-cursor@page:2:times=1;expire-cursor@page:3:times=1;expire-cursor@page:2:times=1")
	d.rows(file)
	args := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-02", "--set", "paging.size=3",
		"--set", "retry.initialDelay=PT0.001S", "--set", "retry.maxDelay=PT0.002S"}
	r := d.expect(term.ExitOK, args...)
	d.holds(r.err, "the slice [2025-03-01, 2025-03-02) started over", "HTTP 404", "patra task show 1")
	d.holds(d.expect(term.ExitOK, "run", "show", "1").out, "started over", "3 passes started over")
	if r := d.expect(term.ExitOK, "status"); strings.Contains(r.out, "started over") {
		t.Errorf("it was read in the end:\n%s", r.out)
	}
}

// A slice that started over more than twice and is not read is a finding.
func TestBelieve09StartingOverIsAFinding(t *testing.T) {
	d := harvested(t)
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('x', 'executor', 'h', 1, 0, 0, ?)", time.Now().Add(time.Hour).UnixMicro())
	d.exec("UPDATE ing_task SET status_code = 'QUEUED' WHERE id = 3")
	d.exec("UPDATE ing_plan SET status_code = 'READY' WHERE id = (SELECT plan_id FROM ing_task WHERE id = 3)") // as a retry opens it again
	stats := func(n string) {
		d.exec(`UPDATE ing_task_run SET stats = '{"restarts": ` + n + `, "restartedBy": "SHORT_COUNT: the upstream delivered 836 items"}' WHERE task_id = 3`)
	}
	stats("2")
	d.expect(term.ExitOK, "status")
	stats("13")
	r := d.expect(term.ExitFindings, "status")
	flat := strings.Join(strings.Fields(r.out), " ")
	d.holds(flat, "! crossref/works: the slice [2025-03-03, 2025-03-04) started over 13 times: SHORT_COUNT: the upstream delivered 836 items", "`patra task show 3`")
	d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 3")
	if r := d.run("status"); strings.Contains(r.out, "started over") {
		t.Errorf("it is healed:\n%s", r.out)
	}
}

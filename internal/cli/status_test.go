package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/status"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestStatusTellsTheHole(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitFindings, "status")
	d.holds(r.out, "crossref/works", "2025-03-03 00:00Z", "no process is at work", "! crossref/works: gap [2025-03-03, 2025-03-04): failed once, retry from", "last failure: task 3,")
	for line := range strings.Lines(r.out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	var report status.Report
	d.decode(d.expect(term.ExitFindings, "status", "crossref", "-o", "json").out, &report)
	if len(report.Sources) != 1 || len(report.Findings) == 0 {
		t.Fatalf("%+v", report)
	}
	if s := report.Sources[0]; s.CursorID != 1 || !s.FreshTo.Equal(march(3)) || s.Failed != 1 || len(s.Gaps) != 1 || s.Gaps[0].State != "FAILED" || s.LagSec < 1000 || s.LastFailure.ID != 3 {
		t.Errorf("%+v", s)
	}
	d.expect(term.ExitNotFound, "status", "nobody")
}

func TestStatusWithoutFindings(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
}

// What answers tell about themselves is a finding, in the words of the rule.
func TestBelieve01StatusTellsOfAFilterThatDoesNotFit(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
	d.exec(`INSERT INTO ing_answer_check (provenance_code, endpoint_name, operation_code, day_no, spec_fingerprint, dated_items, apart, measured_at)
  VALUES ('crossref', 'works', 'HARVEST', ?, ?, 200, '{"95":63}', ?)`, time.Now().Unix()/86400, strings.Repeat("f", 64), time.Now().Add(24*time.Hour).UnixMicro())
	r := d.expect(term.ExitFindings, "status")
	d.holds(strings.Join(strings.Fields(r.out), " "), "! crossref/works: the filter and the stamps disagree by about 1 h: 63 of 200 items")
}

// What waits and is not worked on is a finding; what is worked on is none.
func TestStatusOfWork(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_task SET status_code = 'QUEUED' WHERE id = 3")
	idle := d.expect(term.ExitFindings, "status")
	d.holds(idle.out, "waiting: 1 task, but no patra process is running")
	if strings.Contains(idle.out, "! crossref/works: gap") {
		t.Errorf("what is on its way is a finding:\n%s", idle.out)
	}
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('x', 'executor', 'h', 1, 0, 0, ?)", time.Now().Add(time.Hour).UnixMicro())
	d.holds(d.expect(term.ExitOK, "status").out, "1 process is at work", "0 (+1)")
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "their maintenance", "--actor", "ann")
	d.holds(d.expect(term.ExitFindings, "status").out, "by ann: their maintenance")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "over")
	d.exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, raw_hash, codec, status_code, created_at, updated_at)
  VALUES (1, ?, 'crossref', 'works', 1, 1, 1, 1, 1, 0, 'NO_ID', ?, 'none', 'OPEN', 0, 0)`, strings.Repeat("a", 64), strings.Repeat("b", 64))
	d.holds(d.expect(term.ExitFindings, "status").out, "1 item in quarantine")
	d.holds(d.expect(term.ExitOK, "coverage", "show", "crossref", "--to", "2025-03-05").out, "quarantined: 1 item in 1 window")
}

func TestStatusOfNothing(t *testing.T) {
	d := emptyDesk(t)
	d.expect(term.ExitNotFound, "status")
	d.noFile()
	d.empty()
	d.holds(d.expect(term.ExitOK, "status").err, "patra harvest SRC")
	if r := d.expect(term.ExitOK, "status", "-o", "json"); !strings.Contains(r.out, `"sources": []`) || !strings.Contains(r.out, `"findings": []`) {
		t.Error(r.out)
	}
}

func TestStatusWatch(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitOK, "status", "--watch", "--every", "100ms", "--times", "3")
	if n := strings.Count(r.out, "crossref/works  "); n != 3 {
		t.Errorf("%d looks:\n%s", n, r.out)
	}
	d.expect(term.ExitUsage, "status", "--watch", "--every", "1ms")
	ctx, stop := context.WithCancel(t.Context())
	first := &once{done: stop}
	if code := Main(ctx, []string{"status", "--watch", "--every", "1h", "--db", "sqlite:" + d.file}, first, &bytes.Buffer{}); code != term.ExitOK {
		t.Errorf("Ctrl-C ends the watch with %d", code)
	}
}

// once calls done when something was written.
type once struct{ done func() }

func (o *once) Write(p []byte) (int, error) {
	o.done()
	return len(p), nil
}

// What ends without a person is shown and calls none; when it lasts, it does.
func TestStatusMarksWhatHeals(t *testing.T) {
	d := harvested(t)
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(20*time.Minute)); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d.exec(`INSERT INTO ing_health (owner, provenance_code, endpoint_name, operation_code, condition_code, level_no, since, valid_until, detail)
  VALUES ('x', 'crossref', 'works', 'HARVEST', 'SLOW', 1, ?, ?, '')`, now.Add(-time.Minute).UnixMicro(), now.Add(time.Hour).UnixMicro())
	text := unfolded(d.expect(term.ExitOK, "status").out)
	d.holds(text, "~ crossref/works: SLOW: pages take long", "next: `patra run list --source crossref` (heals automatically)")
	d.exec("UPDATE ing_health SET since = ?", now.Add(-2*time.Hour).UnixMicro())
	var report status.Report
	d.decode(d.expect(term.ExitFindings, "status", "-o", "json").out, &report)
	if f := report.Findings[0]; len(report.Findings) != 1 || f.Code != view.FoundCondition || f.Severity != view.Warning || f.Heals || f.Next != "patra run list --source crossref" || f.Subject.Endpoint != "works" {
		t.Errorf("%+v", report.Findings)
	}
}

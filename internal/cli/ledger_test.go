package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestTables(t *testing.T) {
	d := harvested(t)
	for name, args := range map[string][]string{
		"task_list":        {"task", "list"},
		"run_list":         {"run", "list"},
		"batch_list":       {"batch", "list"},
		"cursor_list":      {"cursor", "list", "crossref"},
		"cursor_history":   {"cursor", "history", "1"},
		"cursor_verify":    {"cursor", "verify"},
		"coverage_show":    {"coverage", "show", "crossref", "--to", "2025-03-07"},
		"coverage_gaps":    {"coverage", "gaps", "crossref", "--from", "2025-02-01", "--to", "2025-03-10"},
		"batch_list_empty": {"batch", "list", "--run", "9"},
	} {
		r := d.run(args...)
		d.golden(name, "$ patra "+strings.Join(args, " ")+"\n"+r.out+"--- stderr\n"+r.err)
	}
}

func TestTaskShow(t *testing.T) {
	d := harvested(t)
	failed := d.expect(term.ExitOK, "task", "show", "3")
	d.holds(failed.out, "FAILED", "[2025-03-03, 2025-03-04)", "none (epoch 1)", "SERVER_ERROR (HTTP 500)", "\nruns\n")
	var task view.TaskDetail
	d.decode(d.expect(term.ExitOK, "task", "show", "3", "-o", "json").out, &task)
	if task.ID != 3 || task.ErrorCode != "SERVER_ERROR" || len(task.Runs) != 1 || task.Runs[0].ID != 3 || len(task.Spec) != 64 {
		t.Errorf("%+v", task)
	}
	d.exec("UPDATE ing_task SET status_code = 'EXECUTING', lease_owner = 'worker-7', leased_until = ? WHERE id = 3", march(9).UnixMicro())
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "worker-7 until 2025-03-09T00:00:00Z (epoch 1)")
}

func TestTaskWithoutRuns(t *testing.T) {
	d := harvested(t)
	d.exec("DELETE FROM ing_task_run WHERE task_id = 3")
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "no runs yet")
	d.holds(d.expect(term.ExitOK, "task", "show", "3", "-o", "json").out, `"runs": []`)
}

func TestRunShow(t *testing.T) {
	d := harvested(t)
	good := d.expect(term.ExitOK, "run", "show", "1")
	d.holds(good.out, "SUCCEEDED", "12 seen = 12 new", "3 for 3 pages", "\nbatch 1\n")
	if strings.Index(good.out, "\nbatch 1\n") > strings.Index(good.out, "\nbatch 2\n") {
		t.Errorf("batches are not in reading order:\n%s", good.out)
	}
	d.holds(good.out, "1 of pass 1: SUCCEEDED", "GET http://127.0.0.1:", "/works?cursor=%2A", "rows=5", "HTTP 200, application/json", " bytes in ", "5 seen = 5 new",
		"next page  at ", "because of: next token", "next page  none: this was the last one, because of: ", "nothing: its window is read")
	d.holds(d.expect(term.ExitOK, "run", "show", "3").out, "SERVER_ERROR (HTTP 500)", "0 seen", "1 of pass 1: FAILED", "HTTP 500", "L1: it is temporary, worth another try",
		"task 3: it failed and is not tried again", "patra task retry 3")
	var run view.RunDetail
	d.decode(d.expect(term.ExitOK, "run", "show", "2", "-o", "json").out, &run)
	if run.ID != 2 || run.Stats.Seen != 12 || run.Next == "" || run.Class != "" || len(run.Batches) != 3 || len(run.Batches[0].Request) == 0 || len(run.Batches[0].Response) == 0 || run.Batches[0].No != 1 || run.Batches[2].No != 3 {
		t.Errorf("%+v", run)
	}
	sum := ingest.BatchStats{}
	for _, b := range run.Batches {
		sum = sum.Add(b.Stats)
	}
	if sum != run.Stats.BatchStats {
		t.Errorf("batches say %+v, the run %+v", sum, run.Stats.BatchStats)
	}
	d.expect(term.ExitUsage, "run", "show", "1", "--limit", "0")
}

func TestBatchShow(t *testing.T) {
	d := harvested(t)
	page := d.expect(term.ExitOK, "batch", "show", "2")
	d.holds(page.out, "SUCCEEDED", "1 (batch 2, pass 1, page 2)", "5 seen = 5 new", "\nrequest\n", "\nresponse\n", `"method": "GET"`, "&filter=from-index-date%3A2025-03-01", `"status": 200`)
	facts, _, _ := strings.Cut(page.out, "\nrequest\n")
	d.fits(facts) // real tokens have a thousand characters
	d.holds(d.expect(term.ExitOK, "batch", "show", "7").out, "FAILED", "SERVER_ERROR", `"status": 500`)
	var b view.Batch
	d.decode(d.expect(term.ExitOK, "batch", "show", "2", "-o", "json").out, &b)
	if b.ID != 2 || len(b.AfterToken) < 500 || len(b.Request) == 0 || len(b.Response) == 0 {
		t.Errorf("%+v", b)
	}
	d.exec("DELETE FROM ing_batch_evidence WHERE batch_id = 2")
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, "request\n  nothing was kept", "response\n  nothing was kept")
}

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// A bar that stands still says why, each reason once; one that moves says nothing.
func TestABarThatStandsStillSaysWhy(t *testing.T) {
	reason, at := "the upstream is away", march(1)
	var said []string
	s := newStall(func() string { return reason }, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	pass := func(d time.Duration, mark string) {
		at = at.Add(d)
		s.look(at, mark)
	}
	for i := range 20 {
		pass(stallAfter-time.Second, fmt.Sprint(i))
	}
	if len(said) != 0 {
		t.Fatalf("it moved: %q", said)
	}
	pass(stallAfter-time.Second, "19")
	if len(said) != 0 {
		t.Fatalf("too early: %q", said)
	}
	for range 5 {
		pass(stallAfter, "19")
	}
	reason = "waits for\x1b minutes"
	pass(stallAfter, "19")
	reason = ""
	pass(stallAfter, "19")
	if want := []string{"the upstream is away", "waits for\uFFFD minutes"}; fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// What stands between a harvest and its end is told in words that lead on. The desk
// has plan 1 whose third task failed, and plan 2 with three tasks that wait.
func TestWhyAHarvestStandsStill(t *testing.T) {
	d := planned(t)
	app, err := daemon.Open(d.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 5")
	d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 6")
	for _, c := range []struct{ change, want string }{
		{"UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 7", "no page for 10s: the upstream answers slowly, or requests wait for the rate limit or are being retried; `patra source test crossref` sends one request and shows the answer"},
		{`UPDATE ing_plan SET status_code = 'PARTIAL', record_remarks = '{"suspended":{"reason":"enough tasks wait"}}' WHERE id = 2`,
			"nothing is planned: OVERSTOCKED, enough tasks wait; it continues automatically; Ctrl-C is safe: patra status crossref"},
		{"UPDATE ing_plan SET status_code = 'READY', record_remarks = NULL WHERE id = 2", "no page for 10s: the upstream answers slowly, or requests wait for the rate limit or are being retried; `patra source test crossref` sends one request and shows the answer"},
		{"UPDATE ing_task_run SET error_code = 'NETWORK', error = 'no such host' WHERE id = 4", "run 4 ended with NETWORK: no such host; it is tried again; Ctrl-C is safe"},
		{`INSERT INTO ing_health (provenance_code, endpoint_name, operation_code, condition_code, owner, level_no, since, valid_until)
VALUES ('crossref', 'works', 'HARVEST', 'DEAD_TASKS', 'me', 1, 0, 4102444800000000)`,
			"run 4 ended with NETWORK: no such host; nothing is planned: DEAD_TASKS, most tasks are given up; it continues automatically; Ctrl-C is safe: patra status crossref"},
		{"UPDATE ing_task SET status_code = 'SCHEDULED', scheduled_at = 1741000000000000, attempts = 1 WHERE id = 6", "run 4 ended with NETWORK: no such host; task 6 is tried again from 2025-03-03T11:06:40Z on; Ctrl-C is safe"},
		{"UPDATE ing_task SET wait_code = 'COOLDOWN' WHERE id = 6",
			"run 4 ended with NETWORK: no such host; no task is taken: COOLDOWN until 2025-03-03T11:06:40Z; it continues automatically; Ctrl-C is safe"},
	} {
		d.exec(c.change)
		if got := standstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}); got != c.want {
			t.Errorf("after %s:\n%s\nwant\n%s", c.change, got, c.want)
		}
	}
	if got := standstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Backfill}); !strings.HasPrefix(got, "no page") {
		t.Errorf("the trouble of a harvest is told of a backfill: %s", got)
	}
}

// Tasks of a backfill become due step by step. That the last of them is far off is not
// why it stands still, and none of them is tried again.
func TestTasksThatAreNotDueYetAreNotTriedAgain(t *testing.T) {
	d := planned(t)
	app, err := daemon.Open(d.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	d.exec("UPDATE ing_task SET status_code = 'EXECUTING' WHERE id = 5")
	d.exec("UPDATE ing_task SET status_code = 'SCHEDULED', scheduled_at = 1741000000000000 WHERE id = 6")
	d.exec("UPDATE ing_task SET status_code = 'SCHEDULED', scheduled_at = 1751000000000000 WHERE id = 7")
	if got := standstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}); !strings.HasPrefix(got, "no page for 10s: ") {
		t.Error(got)
	}
	d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 5")
	if got, want := standstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}), "no task is due before 2025-03-03T11:06:40Z; it continues automatically; Ctrl-C is safe"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// After Ctrl-C nobody knows the last state. What is said next has its own line.
func TestAnInterruptedBarEndsItsLine(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&env{err: &out}, "s")
	b.live = true
	b.update(view.Progress{PlanID: 1, Total: 2})
	b.stop(view.Progress{})
	if got := out.String(); !strings.HasPrefix(got, "\rs [") || !strings.HasSuffix(got, "\n") {
		t.Errorf("%q", got)
	}
	out.Reset()
	if newBar(&env{err: &out}, "s").stop(view.Progress{}); out.Len() > 0 {
		t.Errorf("nothing was drawn: %q", out.String())
	}
}

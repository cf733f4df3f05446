package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

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
		if got := reason.StandstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}); got != c.want {
			t.Errorf("after %s:\n%s\nwant\n%s", c.change, got, c.want)
		}
	}
	if got := reason.StandstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Backfill}); !strings.HasPrefix(got, "no page") {
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
	if got := reason.StandstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}); !strings.HasPrefix(got, "no page for 10s: ") {
		t.Error(got)
	}
	d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 5")
	if got, want := reason.StandstillOf(d.Context(), app, ingest.Partition{Dataset: ingest.Dataset{Source: "crossref"}, Operation: ingest.Harvest}), "no task is due before 2025-03-03T11:06:40Z; it continues automatically; Ctrl-C is safe"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

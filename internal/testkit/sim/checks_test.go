package sim

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// Each check is shown a database that breaks its rule, and must say so: a check
// that finds nothing might look at nothing.
func TestChecksFindWhatTheyLookFor(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	w := run(t, 11, size{processes: 4, sources: 2, span: 5 * time.Minute}, storage{database: "sqlite:" + whole, folder: whole + ".files"})
	image, err := os.ReadFile(whole) // closing it emptied its log
	w.must(err)
	// Of every record, one that counts as settled: it excuses nobody.
	const settledRejects = "INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, provider_id, reason_code, raw_hash, codec, status_code, judged_batch_id, created_at, updated_at) " +
		"SELECT dataset_id, lower(hex(randomblob(32))), 'x', 'x', 1, 1, 1, 1, 1, 0, provider_id, 'x', lower(hex(randomblob(32))), 'plain', 'RESOLVED', 1, 1, 1 FROM ing_record; "
	// Of a plan that was not given up: only such a plan has to cover what it wanted.
	const oneSlice = "(SELECT MIN(e.slice_id) FROM ing_cursor_event e JOIN ing_plan_slice s ON s.id = e.slice_id JOIN ing_plan p ON p.id = s.plan_id " +
		"WHERE e.kind_code = 'SUCCEEDED' AND p.status_code IN ('READY','COMPLETED'))"
	for _, c := range []struct{ rule, harm string }{
		{"I1: plan", "UPDATE ing_plan_slice SET window_to = window_to - 1000000 WHERE id = " + oneSlice},
		{"I1: plan", "UPDATE ing_plan_slice SET window_to = window_to + 1000000 WHERE id = " + oneSlice},
		{"I2: ", "DELETE FROM ing_record"},
		{"I2: ", "UPDATE ing_record SET updated_at = updated_at - 1000000"},
		{"I2: ", "UPDATE ing_record SET provider_id = 'nobody'"},
		{"I2: ", settledRejects + "DELETE FROM ing_record"},
		{"I3: versions are not 1…n", "UPDATE ing_record SET version = version + 1 WHERE id_hash = (SELECT MIN(id_hash) FROM ing_record)"},
		{"I3: a body is older", "UPDATE ing_record_body SET updated_at = 1 WHERE body_id = (SELECT MIN(body_id) FROM ing_record_body WHERE prev_body_id IS NOT NULL)"},
		{"I3: a body follows another", "UPDATE ing_record_body SET prev_body_id = (SELECT MIN(body_id) FROM ing_record_body) WHERE body_id = (SELECT MAX(body_id) FROM ing_record_body)"},
		{"I4: batch", "UPDATE ing_task_run_batch SET stats = json_set(stats, '$.seen', 99) WHERE id = (SELECT MIN(id) FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED')"},
		{"I4: run", "UPDATE ing_task_run SET stats = '{}' WHERE id = (SELECT MIN(run_id) FROM ing_task_run_batch WHERE record_count > 0)"},
		{"I4: batches count", "DELETE FROM ing_record_body WHERE body_id = (SELECT MIN(body_id) FROM ing_record_body)"},
		{"I5: cursor", "UPDATE ing_cursor SET normalized_instant = normalized_instant + 1000000"},
		{"I5: cursor", "UPDATE ing_coverage SET have_at = have_at + 1"},
		{"I5: cursor", "DELETE FROM ing_cursor_event WHERE id = (SELECT MIN(id) FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED' AND new_instant > prev_instant)"},
		{"I5: the cursor went back", "UPDATE ing_cursor_event SET new_instant = prev_instant - 1 WHERE id = (SELECT MAX(id) FROM ing_cursor_event)"},
		{"I5: a slice counts as read that no run read", "UPDATE ing_task_run SET status_code = 'FAILED' WHERE id = (SELECT MIN(run_id) FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED')"},
		{"I5: a whole slice", "UPDATE ing_plan_slice SET status_code = 'FAILED' WHERE id = " + oneSlice},
		{"I6: ", "UPDATE ing_cursor_event SET operation_code = 'UPDATE' WHERE slice_id = " + oneSlice},
		{"I7: a batch of an older epoch", "UPDATE ing_task_run_batch SET lease_epoch = 1000 - id WHERE run_id = (SELECT run_id FROM ing_task_run_batch WHERE batch_no = 2 LIMIT 1)"},
		{"I7: a batch was committed after", "UPDATE ing_task_run SET lease_epoch = 1000, started_at = 1, attempt_no = 1000, task_id = (SELECT MIN(task_id) FROM ing_task_run_batch) WHERE id = (SELECT MAX(id) FROM ing_task_run)"},
		{"I7: a run ended itself after", "UPDATE ing_task_run SET lease_epoch = 1000, started_at = 1, attempt_no = 1000, task_id = (SELECT task_id FROM ing_task_run WHERE id = 1) WHERE id = (SELECT MAX(id) FROM ing_task_run)"},
		{"I7: a batch of another lease", "UPDATE ing_task_run_batch SET lease_epoch = lease_epoch + 1 WHERE id = (SELECT MAX(id) FROM ing_task_run_batch)"},
		{"I8: a slice counts as read twice", "UPDATE ing_cursor_event SET slice_id = 1 WHERE kind_code = 'SUCCEEDED'"},
		{"I8: a plan is wanted twice", "UPDATE ing_cursor_event SET plan_id = 1 WHERE kind_code = 'PLANNED'"},
		{"I9: a body without its event", "DELETE FROM ing_outbox_message WHERE id = (SELECT MIN(id) FROM ing_outbox_message)"},
		{"I9: a body with two events", "INSERT INTO ing_outbox_message (aggregate_type, aggregate_id, channel, op_type, partition_key, dedup_key, body_id, record_version, status_code, created_at) SELECT aggregate_type, aggregate_id, 'copy', op_type, partition_key, randomblob(32), body_id, record_version, status_code, created_at FROM ing_outbox_message WHERE id = 1"},
		{"I9: two events of one version", "UPDATE ing_outbox_message SET dedup_key = (SELECT dedup_key FROM ing_outbox_message WHERE id = 1)"},
		{"I9: an event without its body", "UPDATE ing_outbox_message SET body_id = 1 WHERE id = 1"},
		{"I9: events of a record are out of order", "UPDATE ing_outbox_message SET record_version = 1"},
		{"I10: ", "UPDATE ing_task SET spec_fingerprint = 'x' WHERE id = 1"},
		{"an ended task holds a lease", "UPDATE ing_task SET lease_owner = 'x' WHERE id = 1"},
		{"a leased task has no lease", "UPDATE ing_task SET status_code = 'EXECUTING' WHERE id = 1"},
		{"batch numbers have gaps", "UPDATE ing_task_run_batch SET batch_no = batch_no + 1000"},
		{"batch without evidence", "DELETE FROM ing_batch_evidence WHERE batch_id = 1"},
		{"a covered slice whose task", "UPDATE ing_task SET status_code = 'FAILED' WHERE slice_id = " + oneSlice},
		{"more than one task per slice", "UPDATE ing_task SET slice_id = 1"},
		{"a head without its body", "UPDATE ing_record SET body_id = 1"},
	} {
		file := filepath.Join(t.TempDir(), "harmed.db")
		w.must(os.WriteFile(file, image, 0o600))
		found := harmed(w, file, c.harm)
		if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, c.rule) }) {
			t.Errorf("no %q after %s, but %q", c.rule, c.harm, found)
		}
	}
}

// harmed breaks something in a database and lists what the checks find.
func harmed(w *world, file, harm string) []string {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	w.must(err)
	defer db.Close()
	if _, err := db.ExecContext(w.Context(), harm); err != nil {
		w.Fatalf("%s: %v", harm, err)
	}
	found, err := check.All(w.Context(), db)
	w.must(err)
	for _, u := range w.upstreams {
		lost, err := check.Lost(w.Context(), db, u.code, simulated.Endpoint, u.items(), u.aside(), u.knew)
		w.must(err)
		found = append(found, lost...)
	}
	return found
}

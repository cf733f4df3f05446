package mysql

import (
	"strings"
	"testing"
)

// A claim that sorts reads and locks every queued task of its partition: with
// 100,000 of them it took a third of a second, and other claimers waited.
func TestClaimTakesItsOrderFromTheIndex(t *testing.T) {
	db := migrated(t)
	_, err := db.ExecContext(t.Context(), `INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code,
  spec_fingerprint, idempotent_key, expr_hash, priority, status_code, scheduled_at, created_at, updated_at)
SELECT 1, 1, seq, 1 + seq % 2, 'source', 'works', 'HARVEST', REPEAT('0', 64), LPAD(seq, 64, '0'), REPEAT('0', 64), 50, 'QUEUED', seq, 0, 0 FROM seq_1_to_20000`)
	if err != nil {
		t.Fatal(err)
	}
	var id, kind, table, access, possible, key, length, ref, rows, extra any
	err = db.QueryRowContext(t.Context(), "EXPLAIN "+dialect().ClaimSQL, "token", "owner", 1, 1, 1, 1, 1).
		Scan(&id, &kind, &table, &access, &possible, &key, &length, &ref, &rows, &extra)
	if err != nil {
		t.Fatal(err)
	}
	if got := valueText(key); got != "idx_task_queue" {
		t.Errorf("a claim uses index %q", got)
	}
	if got := valueText(extra); strings.Contains(got, "filesort") {
		t.Errorf("a claim sorts the queue: %s", got)
	}
}

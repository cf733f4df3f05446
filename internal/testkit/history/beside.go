package history

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
)

// addSums adds what the runs of every hour came to, and of the slots of the last two days.
func (f *filler) addSums() error {
	hours := int(f.h.End.Sub(f.h.Begin) / time.Hour)
	for _, rows := range []struct {
		statement string
		n         int
	}{
		{fmt.Sprintf(workSums, 3600), hours}, {fmt.Sprintf(workSums, 300), 576}, {fmt.Sprintf(errorSums, "L1", "SERVER_ERROR"), hours}, {fmt.Sprintf(errorSums, "L3", "BAD_ITEM"), hours},
	} {
		if err := f.add(rows.statement, rows.n); err != nil {
			return err
		}
	}
	return nil
}

const (
	// The sources that are still read take part in every slot.
	everySource = "{numbers} x JOIN ing_dataset d ON d.id <= {turns}"

	workSums = `INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial, runs_cancelled,
  batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside, items_quarantined,
  items_late, requests, retries, throttled, answers, took_ms, slowest_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4)
SELECT %[1]d, {end} - x.n * %[1]d000000, d.provenance_code, d.endpoint_name, 'HARVEST', 100, 1, 0, 2, 1000, 1, 100000, 60000, 10000, 29000, 0, 0, 0, 0, 1000, 5, 1010, 9, 1, 1000,
  500000, 900, 1000, 231847000, 9, 1, 10, 0 FROM ` + everySource + ` ORDER BY x.n DESC`

	errorSums = `INSERT INTO ing_error_sum (slot_start, provenance_code, endpoint_name, operation_code, level_code, error_code, times, last_at, run_id, batch_no)
SELECT {end} - x.n * 3600000000, d.provenance_code, d.endpoint_name, 'HARVEST', '%[1]s', '%[2]s', 9, {end} - x.n * 3600000000 + 1000000, {sources} + x.n, 1 FROM ` + everySource + ` ORDER BY x.n DESC`
)

// addBeside adds what lies beside the work: items in quarantine, heads of records, and their
// events, of which the newest wait.
func (f *filler) addBeside() error {
	item := []byte("{}")
	raw, codec := bodies.Compress(item)
	if err := f.add(fmt.Sprintf(rejects, fingerprint.Bytes(item), raw, codec), f.h.Rejects); err != nil {
		return err
	}
	if err := f.add(records, f.h.Records); err != nil {
		return err
	}
	return f.add(fmt.Sprintf(messages, f.h.Records-100), f.h.Records)
}

const (
	ofDataset = "{numbers} x JOIN ing_dataset d ON d.id = 1 + x.n %% {turns}"

	rejects = `INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, provider_id, reason_code,
  path, detail, raw_hash, raw, codec, status_code, created_at, updated_at, fetch_at, last_seen_at)
SELECT d.id, {hash}, d.provenance_code, d.endpoint_name, {sources} + 1, {sources} + 1 + x.n %% 100, {sources} + 1 + x.n %% 100, {sources} + 1 + x.n %% 100, x.n, 7, CONCAT('10.5555/', x.n),
  CASE x.n %% 3 WHEN 0 THEN 'BAD_DATE' ELSE 'BAD_ITEM' END, CONCAT('$.message.items[*].field', x.n %% 5), 'a date that nobody can read', '%[1]s', X'%[2]X', '%[3]s',
  CASE x.n %% 10 WHEN 0 THEN 'OPEN' ELSE 'RESOLVED' END, {end} - ({runs} - x.n) * 1000, {end} - ({runs} - x.n) * 1000, {end}, {end} - ({runs} - x.n) * 1000
FROM ` + ofDataset + ` ORDER BY x.n`

	records = `INSERT INTO ing_record (dataset_id, id_hash, provider_id, updated_at, source_version, content_hash, fetch_at, version, body_id, state_code, expr_id, mapping_id)
SELECT 1 + x.n % {turns}, {bytes16}, CONCAT('10.5555/', x.n), {end}, 0, {bytes32}, {end}, 1, x.n, CASE x.n % 100 WHEN 0 THEN 'GONE' ELSE 'ACTIVE' END, 1, 1 FROM {numbers} x ORDER BY 1`

	messages = `INSERT INTO ing_outbox_message (aggregate_type, aggregate_id, channel, op_type, partition_key, dedup_key, body_id, record_version, status_code, published_at, created_at)
SELECT 'RECORD', d.id, 'records', 'INSERTED', CONCAT('10.5555/', x.n), {bytes32}, x.n, 1, CASE WHEN x.n > %[1]d THEN 'PENDING' ELSE 'PUBLISHED' END, {end}, {end}
FROM ` + ofDataset + ` ORDER BY x.n`
)

package history

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// addWork adds plans with their slices, tasks, runs and batches, and the events of their
// cursors. One run in a hundred failed, and one task in five of those with it. Every source
// that is still read has a plan more, whose tasks wait.
func (f *filler) addWork() error {
	stats, err := newStats()
	if err != nil {
		return err
	}
	open, runs := f.h.plans()+f.h.Sources-1, f.h.runs()
	for _, rows := range []struct {
		statement string
		n         int
	}{
		{plans, open}, {slices, open * RunsPerPlan}, {tasks, open * RunsPerPlan},
		{fmt.Sprintf(firstRuns, text(stats.failedRun), text(stats.run)), runs}, {fmt.Sprintf(secondRuns, text(stats.run)), runs},
		{fmt.Sprintf(batches, text(stats.failedBatch), text(stats.batch)), f.h.Batches},
		{fmt.Sprintf(events, fmt.Sprintf(f.words.instant, "{slice from}"), fmt.Sprintf(f.words.instant, "{slice to}"), fmt.Sprintf(f.words.instant, "{slice to}")), runs},
	} {
		if err := f.add(rows.statement, rows.n); err != nil {
			return err
		}
	}
	return f.exec(f.fillIn("UPDATE ing_task SET status_code = 'SUCCEEDED', lease_owner = NULL, leased_until = NULL, claim_token = NULL WHERE id <= {sources}"))
}

const (
	ofPlan  = "(SELECT n, n AS p FROM {numbers} z) x"
	ofRun   = "(SELECT n, 1 + FLOOR((n - 1) / 100) AS p FROM {numbers} z) x"
	ofBatch = "(SELECT n, 1 + FLOOR((n - 1) / 10) AS r, 1 + FLOOR((n - 1) / 1000) AS p FROM {numbers} z) x"

	runStatus = "CASE WHEN x.n %% 100 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END"

	plans = `INSERT INTO ing_plan (id, schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code, expr_proto_hash, expr_proto_snapshot,
  expr_id, mapping_id, spec_fingerprint, provenance_config_hash, window_from, window_to, as_of, slice_strategy_code, status_code, created_at, updated_at)
SELECT {sources} + x.n, b.schedule_instance_id, {hash}, b.partition_id, b.cursor_id, b.provenance_code, b.endpoint_name, b.operation_code, b.expr_proto_hash, b.expr_proto_snapshot,
  b.expr_id, b.mapping_id, b.spec_fingerprint, b.provenance_config_hash, {plan from}, {plan to}, {plan to}, b.slice_strategy_code,
  CASE WHEN x.n > {plans} THEN 'READY' ELSE 'COMPLETED' END, {plan to}, {plan to}
FROM ` + ofPlan + ` JOIN ing_plan b ON b.id = {source of plan} ORDER BY x.n`

	slices = `INSERT INTO ing_plan_slice (id, plan_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to, expr_hash, expr_snapshot, status_code,
  created_at, updated_at, begins)
SELECT {sources} + x.n, {sources} + x.p, b.provenance_code, 1 + (x.n - 1) % 100, {hash}, b.slice_spec, {slice from}, {slice to}, b.expr_hash, b.expr_snapshot,
  CASE WHEN x.n > {runs} THEN 'READY' WHEN x.n % 500 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, {plan to}, {run at}, {slice from}
FROM ` + ofRun + ` JOIN ing_plan_slice b ON b.id = {source of plan} ORDER BY x.n`

	tasks = `INSERT INTO ing_task (id, schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, params,
  idempotent_key, expr_hash, priority, status_code, scheduled_at, lease_epoch, lease_count, attempts, last_error_code, last_error_msg, started_at, finished_at, created_at, updated_at)
SELECT {sources} + x.n, b.schedule_instance_id, {sources} + x.p, {sources} + x.n, b.partition_id, b.provenance_code, b.endpoint_name, b.operation_code, b.spec_fingerprint, b.params,
  {hash}, b.expr_hash, b.priority, CASE WHEN x.n > {runs} THEN 'QUEUED' WHEN x.n % 500 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, {plan to},
  CASE WHEN x.n > {runs} THEN 0 ELSE 1 END, CASE WHEN x.n > {runs} THEN 0 ELSE 1 END, CASE WHEN x.n > {runs} THEN 0 ELSE 1 END,
  CASE WHEN x.n <= {runs} AND x.n % 500 = 0 THEN 'SERVER_ERROR' END, CASE WHEN x.n <= {runs} AND x.n % 500 = 0 THEN 'the upstream answered 503 Service Unavailable' END,
  CASE WHEN x.n <= {runs} THEN {run at} END, CASE WHEN x.n <= {runs} THEN {run at} END, {plan to}, {run at}
FROM ` + ofRun + ` JOIN ing_task b ON b.id = {source of plan} ORDER BY x.n`

	firstRuns = `INSERT INTO ing_task_run (id, task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, stats, error_code, error, window_from, window_to,
  worker, started_at, finished_at, created_at)
SELECT {sources} + x.n, {sources} + x.n, 1, 1, {sources} + x.p, b.provenance_code, b.operation_code, ` + runStatus + `, CASE WHEN x.n %% 100 = 0 THEN %[1]s ELSE %[2]s END,
  CASE WHEN x.n %% 100 = 0 THEN 'SERVER_ERROR' END, CASE WHEN x.n %% 100 = 0 THEN 'the upstream answered 503 Service Unavailable' END, {slice from}, {slice to}, b.worker, {run at},
  {run at} + 5000000, {run at}
FROM ` + ofRun + ` JOIN ing_task_run b ON b.id = {source of plan} ORDER BY x.n`

	secondRuns = `INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, stats, window_from, window_to,
  worker, started_at, finished_at, created_at)
SELECT {sources} + x.n, 2, 2, {sources} + x.p, b.provenance_code, b.operation_code, 'SUCCEEDED', %[1]s, {slice from}, {slice to}, b.worker, {run at} + 60000000, {run at} + 65000000, {run at} + 60000000
FROM ` + ofRun + ` JOIN ing_task_run b ON b.id = {source of plan} WHERE x.n %% 100 = 0 AND x.n %% 500 <> 0 ORDER BY x.n`

	batches = `INSERT INTO ing_task_run_batch (id, run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code, operation_code, page_no,
  page_size, before_token, before_token_hash, after_token, record_count, status_code, stats, error, committed_at, created_at)
SELECT x.n, {sources} + x.r, {sources} + x.r, {sources} + x.r, {sources} + x.p, 1, 1 + (x.n - 1) %% 10, 1, {hash}, b.provenance_code, b.operation_code, 1 + (x.n - 1) %% 10, 100,
  CONCAT('DnF1ZXJ5VGhlbkZldGNoBQAAAAA', x.n), {bytes16}, CONCAT('DnF1ZXJ5VGhlbkZldGNoBQAAAAA', x.n + 1), CASE WHEN x.n %% 1000 = 0 THEN 0 ELSE 100 END,
  CASE WHEN x.n %% 1000 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, CASE WHEN x.n %% 1000 = 0 THEN %[1]s ELSE %[2]s END,
  CASE WHEN x.n %% 1000 = 0 THEN 'the upstream answered 503 Service Unavailable' END, CASE WHEN x.n %% 1000 <> 0 THEN {batch at} END, {batch at}
FROM ` + ofBatch + ` JOIN ing_task_run b ON b.id = {source of plan} ORDER BY x.n`

	events = `INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code,
  prev_value, new_value, observed_max_value, prev_instant, new_instant, window_from, window_to, as_of, event_at, lookback_us, direction_code, idempotent_key,
  schedule_instance_id, plan_id, slice_id, task_id, run_id, batch_id, lease_epoch, expr_hash, created_at)
SELECT b.cursor_id, CASE WHEN x.n %% 500 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, b.provenance_code, b.operation_code, b.cursor_key, b.namespace_scope_code, b.namespace_key,
  b.cursor_type_code, %[1]s, %[2]s, %[3]s, {slice from}, {slice to}, {slice from}, {slice to}, {plan to}, {run at}, b.lookback_us, 'FORWARD', {hash},
  b.schedule_instance_id, {sources} + x.p, {sources} + x.n, {sources} + x.n, {sources} + x.n, x.n * 10, 1, b.expr_hash, {run at}
FROM ` + ofRun + ` JOIN ing_cursor_event b ON b.id = {source of plan} ORDER BY x.n`
)

// stats are the accounts that rows keep, as the program writes them.
type stats struct{ run, failedRun, batch, failedBatch string }

func newStats() (s stats, err error) {
	account := ingest.BatchStats{Seen: 100, Inserted: 60, Updated: 10, Unchanged: 29, Quarantined: 1}
	had := ingest.Exchange{
		Requests: 1, Permits: 1, Rate: 3, Status: 200, Bytes: 231_847, Took: 431 * time.Millisecond, TookAll: 431 * time.Millisecond, HasNext: true,
		Waits: gate.Waits{Rate: 212 * time.Millisecond},
	}
	good, err := ingest.EncodeBatch(account, had)
	if err != nil {
		return s, err
	}
	had.Status, had.Requests, had.Retries, had.Permits, had.Bytes = 503, 6, 5, 6, 120
	bad, err := ingest.EncodeBatch(ingest.BatchStats{}, had)
	if err != nil {
		return s, err
	}
	ran := ingest.RunStats{Requests: 10, Pages: 10, BytesIn: 2_318_470, WaitMS: 2120, TookMS: 4310, SlowestMS: 1202, Answers: 10}
	for range 10 {
		ran.BatchStats = ran.BatchStats.Add(account)
	}
	run, err := json.Marshal(ran)
	if err != nil {
		return s, err
	}
	ran.Requests, ran.Retries, ran.Errors = 15, 5, ingest.FaultTally{{Level: fault.Transient, Code: "SERVER_ERROR", Times: 6, Batch: 10}}
	failed, err := json.Marshal(ran)
	return stats{string(run), string(failed), string(good), string(bad)}, err
}

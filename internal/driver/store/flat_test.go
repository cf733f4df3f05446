package store_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// digits gives the numbers 0 to 9; five of them joined count to 99,999 on every database.
const digits = "(SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"

// numbers are n, from 0 to 10^places - 1.
func numbers(places int) string {
	sum, from := "0", ""
	for i := range places {
		sum += fmt.Sprintf(" + %s * d%d.n", "1"+strings.Repeat("0", i), i)
		from += fmt.Sprintf("%s%s d%d", []string{"", " CROSS JOIN "}[min(i, 1)], digits, i)
	}
	return "(SELECT " + sum + " AS n FROM " + from + ") numbers"
}

// fill makes a queue of two partitions, most of it still to come, a history of
// ten thousand windows of two lengths, and as many plans, events and deliveries.
func fill(t *testing.T, db *sql.DB, analyze string) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code,
  spec_fingerprint, idempotent_key, expr_hash, priority, status_code, scheduled_at, created_at, updated_at)
SELECT 1, 1, n, 1 + n % 2, 'source', 'works', 'HARVEST', 'x', CAST(n AS CHAR), 'x', 50,
  CASE n % 10 WHEN 0 THEN 'QUEUED' WHEN 1 THEN 'SUCCEEDED' ELSE 'SCHEDULED' END, n, 0, 0 FROM ` + numbers(4),
		`INSERT INTO ing_window_history (dataset_id, expr_id, span_log2, window_from, window_to, actual, requests, bytes, as_of, run_id)
SELECT 1, 1 + n % 2, 7, n * 100, n * 100 + 100, 5, 1, 1, 1, 1 FROM ` + numbers(4),
		`INSERT INTO ing_window_history (dataset_id, expr_id, span_log2, window_from, window_to, actual, requests, bytes, as_of, run_id)
SELECT 1, 1, 20, n * 1000000, n * 1000000 + 1000000, 5, 1, 1, 1, 1 FROM ` + numbers(2),
		`INSERT INTO ing_plan_lag (plan_id, cursor_id, declared_lag_us, safety_lag_us, late_items, changed_items, measured_at)
SELECT n, 1 + n % 2, 1, 1, 1, 1, n FROM ` + numbers(4),
		`INSERT INTO ing_outbox_message (aggregate_type, aggregate_id, channel, op_type, partition_key, dedup_key, body_id, status_code, created_at)
SELECT 'RECORD', 1 + n % 2, 'records', 'INSERTED', 'k', X'3031323334353637383930313233343536373839303132333435363738393031', n, CASE n % 10 WHEN 0 THEN 'PUBLISHED' ELSE 'PENDING' END, 0 FROM ` + numbers(4),
		`INSERT INTO ing_outbox_relay_log (dataset_id, lease_epoch, attempt_no, lease_owner, destination, status_code, first_message_id, last_message_id, events, delivered, started_at, completed_at)
SELECT 1 + n % 2, 1, n, 'x', 'hook', 'PUBLISHED', 1, 1, 1, 1, 0, 0 FROM ` + numbers(4),
		`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, path,
  raw_hash, raw, codec, status_code, created_at, updated_at)
SELECT 1 + n % 2, CAST(n AS CHAR), 'source', 'works', 1, 1, 1, 1, n, 1, 'BAD_ITEM', '$.x', 'x', X'78', '', CASE n % 20 WHEN 0 THEN 'REQUEUED' WHEN 1 THEN 'OPEN' ELSE 'RESOLVED' END, 0, 0 FROM ` + numbers(4),
		`INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, created_at)
SELECT n, 1, 1, 1, CASE n % 10 WHEN 0 THEN 'source' ELSE 'other' END, 'HARVEST', 'SUCCEEDED', 0 FROM ` + numbers(4),
		`INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code, operation_code, status_code, created_at)
SELECT n, n, n, 1, 1, 1, 1, CAST(n AS CHAR), CASE n % 10 WHEN 0 THEN 'source' ELSE 'other' END, 'HARVEST', 'SUCCEEDED', 0 FROM ` + numbers(4),
		analyze,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// flatQueries with arguments, and how each database says that it reads a range of
// the right key and nothing else.
func flatQueries(byIndex string) []flatQuery {
	return []flatQuery{
		{
			"stock", store.StockSQL, []any{"SCHEDULED", 1, 100},
			"SEARCH ing_task USING COVERING INDEX idx_task_queue (status_code=? AND partition_id=?)", "ing_task idx_task_queue",
		},
		{
			"length classes of a history", store.SpanSQL, []any{1, 1, 64},
			"SEARCH ing_window_history USING PRIMARY KEY (dataset_id=? AND expr_id=? AND span_log2<?)", "optimized away",
		},
		{
			"history", store.HistorySQL, []any{1, 1, 7, 500_000, 500_500, 500_100, 100},
			"SEARCH ing_window_history USING PRIMARY KEY (dataset_id=? AND expr_id=? AND span_log2=? AND window_from>? AND window_from<?)",
			"ing_window_history PRIMARY",
		},
		{
			"late items of a week", store.LateSQL, []any{1, 9900},
			"SEARCH ing_plan_lag USING INDEX idx_plan_lag_measured (cursor_id=? AND measured_at>?)", "ing_plan_lag idx_plan_lag_measured",
		},
		{
			"lag of the newest plan", store.LagSQL, []any{1},
			"SEARCH ing_plan_lag USING INDEX uk_plan_lag_cursor (cursor_id=?)", "ing_plan_lag uk_plan_lag_cursor",
		},
		{
			"events that wait", store.CountedSQL, []any{"PENDING", 1, 100},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=?)", "ing_outbox_message idx_outbox_lane",
		},
		{
			"the oldest of them", store.OldestSQL, []any{1},
			"SEARCH ing_outbox_message USING INDEX idx_outbox_lane (status_code=? AND aggregate_id=?)", "ing_outbox_message idx_outbox_lane",
		},
		{
			"events of a source after one", store.LaterSQL, []any{"PENDING", 1, 5000, 100},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=? AND rowid>?)", "ing_outbox_message idx_outbox_lane",
		},
		{
			"the newest events of a source", store.NewerSQL, []any{"PENDING", 1, 1 << 40, 11},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=? AND rowid<?)", "ing_outbox_message idx_outbox_lane",
		},
		{
			"what receivers said last", store.LastSaidSQL, []any{1, 20},
			"SEARCH ing_outbox_relay_log USING INDEX uk_relay_log (dataset_id=?)", "ing_outbox_relay_log uk_relay_log",
		},
		{
			"items that were put back", store.RequeuedSQL, []any{1, 4000, 5000, 200},
			"SEARCH q USING INDEX idx_quarantine_order (dataset_id=? AND status_code=? AND id>? AND id<?)", "q idx_quarantine_order",
		},
		fitting(byIndex, "rejects of a source", ingest.RejectPick{}),
		fitting(byIndex, "rejects of a source with a reason", ingest.RejectPick{Reason: "BAD_ITEM"}),
		fitting(byIndex, "rejects of a source at a place", ingest.RejectPick{Path: "$.x"}),
		{
			"rejects of a page that are stored", store.RejectsByKeySQL, append([]any{1}, listed(func(i int) any { return strconv.Itoa(i) })...),
			"SEARCH ing_quarantine USING INDEX uk_quarantine_reject (dataset_id=? AND reject_key=?)", "ing_quarantine uk_quarantine_reject",
		},
		{
			"rows that were put back", store.RejectsByIDSQL, listed(func(i int) any { return i }),
			"SEARCH ing_quarantine USING INTEGER PRIMARY KEY (rowid=?)", "ing_quarantine PRIMARY",
		},
		{
			"rows of records that were put back", store.RejectsByProviderSQL, append([]any{1}, listed(func(i int) any { return strconv.Itoa(i) })...),
			"SEARCH ing_quarantine USING INDEX idx_quarantine_record (dataset_id=? AND provider_id=?)", "ing_quarantine idx_quarantine_record",
		},
		list("batches of a source", "ing_task_run_batch", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_batch_source (provenance_code=?)", "x idx_batch_source"),
		list("runs of a source", "ing_task_run", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_run_source (provenance_code=?)", "x idx_run_source"),
		list("tasks of a source", "ing_task", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_task_source (provenance_code=?)", "x idx_task_source"),
		list("the next page", "ing_task_run_batch", view.Filter{Source: "source", Before: 5000},
			"SEARCH x USING COVERING INDEX idx_batch_source (provenance_code=? AND rowid<?)", "x idx_batch_source"),
		// The newest that went well are found by walking back from the newest.
		list("batches that went well", "ing_task_run_batch", view.Filter{Status: "SUCCEEDED"}, "SCAN x", "x PRIMARY"),
		list("tasks that went well", "ing_task", view.Filter{Status: "SUCCEEDED"}, "SCAN x", "x PRIMARY"),
		list("tasks of a source that went well", "ing_task", view.Filter{Source: "source", Status: "SUCCEEDED"},
			"SEARCH x USING INDEX idx_task_source (provenance_code=?)", "x idx_task_source"),
	}
}

// fitting is the next chunk of what an operator discards, after many.
func fitting(byIndex, name string, pick ingest.RejectPick) flatQuery {
	pick.After = 4000
	query, args := store.FittingRejects(byIndex, pick, 1, ingest.RejectRequeued)
	return flatQuery{name, query, args, "INDEX idx_quarantine_order (dataset_id=? AND status_code=? AND id>?)", "ing_quarantine idx_quarantine_order"}
}

// listed are as many values as the shortest list of a look has.
func listed(value func(i int) any) (args []any) {
	for i := range 25 {
		args = append(args, value(4000+i))
	}
	return args
}

func list(name, table string, f view.Filter, sqlite, server string) flatQuery {
	query, args := store.PageOf(table, "x", f, nil)
	return flatQuery{name, query, args, sqlite, server}
}

type flatQuery struct {
	name, query    string
	args           []any
	sqlite, server string
}

func TestFlatQueriesOfSQLite(t *testing.T) {
	s := open(t, sqlite.Config{}, store.Options{})
	db, _ := s.Pools()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, db, "ANALYZE")
	for _, q := range flatQueries(s.ByIndex()) {
		plan := strings.Join(explain(t, db, "EXPLAIN QUERY PLAN ", q.query, q.args), "\n")
		if !strings.Contains(plan, q.sqlite) || strings.Contains(plan, "SCAN ing_") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", q.name, plan)
		}
	}
}

func TestFlatQueriesOfMariaDB(t *testing.T) {
	s, err := mysql.Open(t.Context(), mariadb.DSN(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, _ := s.Pools()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, db, "ANALYZE TABLE ing_task, ing_window_history, ing_plan_lag, ing_outbox_message, ing_outbox_relay_log, ing_quarantine, ing_task_run, ing_task_run_batch")
	for _, q := range flatQueries(s.ByIndex()) {
		plan := strings.Join(explain(t, db, "EXPLAIN ", q.query, q.args), "\n")
		if !strings.Contains(plan, q.server) || strings.Contains(plan, "filesort") || strings.Contains(plan, "ALL ing_") {
			t.Errorf("%s:\n%s", q.name, plan)
		}
	}
}

// explain gives the columns of a plan that tell how tables are read.
func explain(t *testing.T, db *sql.DB, how, query string, args []any) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), how+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for i, name := range columns {
			if name == "table" || name == "key" || name == "Extra" || name == "detail" {
				line = append(line, values[i].String)
			}
			if name == "type" && values[i].String == "ALL" {
				line = append(line, "ALL")
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

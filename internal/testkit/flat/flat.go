// Package flat holds questions whose cost must not grow with the tables to the plans
// that databases make for them: each reads a range of one key and nothing else. The
// rooms of the store call it with their own statements.
//
// It must never measure time: a plan is the same on every machine.
package flat

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// Query is a statement with arguments, and how each database says that it reads a
// range of the right key and nothing else.
type Query struct {
	Name, SQL      string
	Args           []any
	SQLite, Server string
	// Sorts says that what was read is put in order or in groups afterwards: a range that
	// does not grow with the table may be.
	Sorts bool
}

// AndSorts returns the query as one that sorts the range it reads.
func (q Query) AndSorts() Query {
	q.Sorts = true
	return q
}

// NewQuery is a query with what its plans have to say.
func NewQuery(name, sql string, args []any, sqlite, server string) Query {
	return Query{Name: name, SQL: sql, Args: args, SQLite: sqlite, Server: server}
}

// OnSQLite explains queries on a file with many rows; they are told how the database
// is told to read by an index.
func OnSQLite(t *testing.T, queries func(byIndex string) []Query) {
	s := localstore.Migrated(t, sqlite.Config{})
	fill(t, s.Write, "ANALYZE")
	for _, q := range queries(s.ByIndex) {
		plan := strings.Join(explain(t, s.Write, "EXPLAIN QUERY PLAN ", q.SQL, q.Args), "\n")
		if !strings.Contains(plan, q.SQLite) || strings.Contains(plan, "SCAN ing_") || !q.Sorts && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", q.Name, plan)
		}
	}
}

// OnMariaDB explains queries on a server with many rows.
func OnMariaDB(t *testing.T, queries func(byIndex string) []Query) {
	d, db, err := mysql.Connect(t.Context(), mariadb.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := store.New(d, db, db, store.Options{}).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, db, "ANALYZE TABLE ing_task, ing_plan, ing_window_history, ing_plan_lag, ing_outbox_message, ing_outbox_relay_log, ing_quarantine, ing_task_run, ing_task_run_batch, ing_work_sum, ing_error_sum, ing_cursor, ing_cursor_event")
	for _, q := range queries(d.ByIndex) {
		plan := strings.Join(explain(t, db, "EXPLAIN ", q.SQL, q.Args), "\n")
		if !strings.Contains(plan, q.Server) || !q.Sorts && strings.Contains(plan, "filesort") || strings.Contains(plan, "ALL ing_") {
			t.Errorf("%s:\n%s", q.Name, plan)
		}
	}
}

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
// ten thousand windows of two lengths, and as many plans, few of them open, events and
// deliveries, and as many sums and events of ten cursors.
func fill(t *testing.T, db *sql.DB, analyze string) {
	t.Helper()
	for _, statement := range []string{
		"INSERT INTO ing_dataset (id, provenance_code, endpoint_name, created_at) VALUES (1, 'source', 'works', 0), (2, 'source', 'authors', 0)",
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
		`INSERT INTO ing_plan (schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code, expr_proto_hash, expr_id, mapping_id,
  spec_fingerprint, provenance_config_hash, as_of, slice_strategy_code, status_code, created_at, updated_at)
SELECT 1, CAST(n AS CHAR), 1, 1, 'source', 'works', 'HARVEST', 'x', 1, 1, 'x', 'x', 0, 'TIME', CASE n % 1000 WHEN 0 THEN 'READY' ELSE 'COMPLETED' END, 0, 0 FROM ` + numbers(4),
		`INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial, runs_cancelled,
  batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside, items_quarantined,
  items_late, requests, retries, throttled, answers, took_ms, slowest_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4)
SELECT 3600, n, 'source', 'works', 'HARVEST', 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0 FROM ` + numbers(4),
		`INSERT INTO ing_error_sum (slot_start, provenance_code, endpoint_name, operation_code, level_code, error_code, times, last_at, run_id, batch_no)
SELECT n, 'source', 'works', 'HARVEST', 'L1', 'SERVER_ERROR', 1, n, n, 1 FROM ` + numbers(4),
		`INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, endpoint_name, cursor_type_code, created_at, updated_at)
SELECT 'source', 'HARVEST', 'indexed', 'EXPR', CAST(n AS CHAR), 'works', 'TIME', 0, 0 FROM ` + numbers(1),
		`INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code, event_at,
  direction_code, idempotent_key, created_at)
SELECT 1 + n % 10, 'SUCCEEDED', 'source', 'HARVEST', 'indexed', 'EXPR', CAST(n % 10 AS CHAR), 'TIME', n, 'FORWARD', CAST(n AS CHAR), n FROM ` + numbers(4),
		analyze,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
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

package ledger_test

import (
	"strconv"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/ledger"
	"github.com/patra-ingest/patra/internal/testkit/flat"
)

// flatQueries are questions of this room whose cost must not grow with the tables.
func flatQueries(byIndex string) []flat.Query {
	return []flat.Query{
		flat.NewQuery(
			"stock", ledger.StockSQL, []any{"SCHEDULED", 1, 100},
			"SEARCH ing_task USING COVERING INDEX idx_task_queue (status_code=? AND partition_id=?)", "ing_task idx_task_queue",
		),
		flat.NewQuery(
			"length classes of a history", ledger.SpanSQL, []any{1, 1, 64},
			"SEARCH ing_window_history USING PRIMARY KEY (dataset_id=? AND expr_id=? AND span_log2<?)", "optimized away",
		),
		flat.NewQuery(
			"history", ledger.HistorySQL, []any{1, 1, 7, 500_000, 500_500, 500_100, 100},
			"SEARCH ing_window_history USING PRIMARY KEY (dataset_id=? AND expr_id=? AND span_log2=? AND window_from>? AND window_from<?)",
			"ing_window_history PRIMARY",
		),
		flat.NewQuery(
			"late items of a week", ledger.LateSQL, []any{1, 9900},
			"SEARCH ing_plan_lag USING INDEX idx_plan_lag_measured (cursor_id=? AND measured_at>?)", "ing_plan_lag idx_plan_lag_measured",
		),
		flat.NewQuery(
			"lag of the newest plan", ledger.LagSQL, []any{1},
			"SEARCH ing_plan_lag USING INDEX uk_plan_lag_cursor (cursor_id=?)", "ing_plan_lag uk_plan_lag_cursor",
		),
		flat.NewQuery(
			"items that were put back", ledger.RequeuedSQL, []any{1, 4000, 5000, 200},
			"SEARCH q USING INDEX idx_quarantine_order (dataset_id=? AND status_code=? AND id>? AND id<?)", "q idx_quarantine_order",
		),
		fitting(byIndex, "rejects of a source", ingest.RejectPick{}),
		fitting(byIndex, "rejects of a source with a reason", ingest.RejectPick{Reason: "BAD_ITEM"}),
		fitting(byIndex, "rejects of a source at a place", ingest.RejectPick{Path: "$.x"}),
		flat.NewQuery(
			"rejects of a page that are stored", ledger.RejectsByKeySQL, append([]any{1}, listed(func(i int) any { return strconv.Itoa(i) })...),
			"SEARCH ing_quarantine USING INDEX uk_quarantine_reject (dataset_id=? AND reject_key=?)", "ing_quarantine uk_quarantine_reject",
		),
		flat.NewQuery(
			"rows that were put back", ledger.RejectsByIDSQL, listed(func(i int) any { return i }),
			"SEARCH ing_quarantine USING INTEGER PRIMARY KEY (rowid=?)", "ing_quarantine PRIMARY",
		),
		flat.NewQuery(
			"rows of records that were put back", ledger.RejectsByProviderSQL, append([]any{1}, listed(func(i int) any { return strconv.Itoa(i) })...),
			"SEARCH ing_quarantine USING INDEX idx_quarantine_record (dataset_id=? AND provider_id=?)", "ing_quarantine idx_quarantine_record",
		),
	}
}

// fitting is the next chunk of what an operator discards, after many.
func fitting(byIndex, name string, pick ingest.RejectPick) flat.Query {
	pick.After = 4000
	query, args := ledger.FittingRejects(byIndex, pick, 1, ingest.RejectRequeued)
	return flat.NewQuery(name, query, args, "INDEX idx_quarantine_order (dataset_id=? AND status_code=? AND id>?)", "ing_quarantine idx_quarantine_order")
}

// listed are as many values as the shortest list of a look has.
func listed(value func(i int) any) (args []any) {
	for i := range 25 {
		args = append(args, value(4000+i))
	}
	return args
}

func TestFlatQueriesOfSQLite(t *testing.T) { flat.OnSQLite(t, flatQueries) }

func TestFlatQueriesOfMariaDB(t *testing.T) { flat.OnMariaDB(t, flatQueries) }

package look_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/look"
	"github.com/patra-ingest/patra/internal/testkit/flat"
)

// flatQueries are questions of this room whose cost must not grow with the tables.
func flatQueries(byIndex string) []flat.Query {
	return []flat.Query{
		flat.NewQuery(
			"events that wait", look.CountedSQL, []any{0, "PENDING", 1, 100, "FAILED", 1, 100, "DEAD", 1, 100, 1},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=?)", "ing_outbox_message idx_outbox_lane",
		),
		flat.NewQuery(
			"what receivers said last", look.LastSaidSQL, []any{1, 20},
			"SEARCH ing_outbox_relay_log USING INDEX uk_relay_log (dataset_id=?)", "ing_outbox_relay_log uk_relay_log",
		),
		flat.NewQuery(
			"plans that nobody takes", look.IdlePlansSQL, []any{5, "", ""},
			"SEARCH p USING INDEX idx_plan_status (status_code=?)", "p idx_plan_status",
		),
		flat.NewQuery(
			"items that came into quarantine", look.NewRejectsSQL, []any{"source", "works", 99},
			"SEARCH q USING INDEX idx_quarantine_order (dataset_id=? AND status_code=?)", "q idx_quarantine_order",
		),
		flat.NewQuery(
			"undecided groups of items in quarantine", look.GroupRejects(byIndex), []any{1, "OPEN"},
			"SEARCH q USING COVERING INDEX idx_quarantine_path (dataset_id=? AND status_code=?)", "q idx_quarantine_path",
		),
		flat.NewQuery(
			"when harvests were planned", look.HarvestStartsSQL, []any{"source", "works", 100},
			"SEARCH p USING INDEX idx_plan_src_op_time (provenance_code=? AND operation_code=?)", "p idx_plan_src_op_time",
		),
		flat.NewQuery(
			"what was done in some hours", look.WorkSumSQL+" WHERE slot_seconds = ? AND slot_start >= ? AND slot_start < ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", []any{0, 1, 3600, 10, 20},
			"SEARCH ing_work_sum USING PRIMARY KEY (slot_seconds=? AND slot_start>? AND slot_start<?)", "ing_work_sum PRIMARY",
		).AndSorts(),
		flat.NewQuery(
			"errors of some hours", look.ErrorSumSQL+" WHERE slot_start >= ? AND slot_start < ? AND last_at >= ?", []any{10, 20, 10},
			"SEARCH ing_error_sum USING PRIMARY KEY (slot_start>? AND slot_start<?)", "ing_error_sum PRIMARY",
		),
		flat.NewQuery(
			"events of a watermark between two instants, newest first", look.EventsSQL+look.NewestSQL, []any{"source", "HARVEST", "EXPR", "3", 10, 500, 500, 0, 4, 50},
			"SEARCH ing_cursor_event USING INDEX idx_cur_evt_timeline (provenance_code=? AND operation_code=? AND namespace_scope_code=? AND namespace_key=? AND created_at>? AND created_at<?)",
			"ing_cursor_event idx_cur_evt_timeline",
		),
		flat.NewQuery(
			"events of a watermark between two instants", look.EventsSQL+look.TimelineSQL, []any{"source", "HARVEST", "EXPR", "3", 10, 500, 0, 0, 4, 50},
			"SEARCH ing_cursor_event USING INDEX idx_cur_evt_timeline (provenance_code=? AND operation_code=? AND namespace_scope_code=? AND namespace_key=? AND created_at>? AND created_at<?)",
			"ing_cursor_event idx_cur_evt_timeline",
		),
		flat.NewQuery(
			"watermarks that differ from their events", look.DifferingCursorsSQL, []any{"", ""},
			"SEARCH n USING COVERING INDEX idx_cur_evt_cursor (cursor_id=?)", "n idx_cur_evt_cursor",
		),
		flat.NewQuery(
			"slices of open plans that start over", look.RestartedIn(byIndex, 2), []any{7, 8},
			"SEARCH r USING INDEX idx_run_plan_status (plan_id=? AND status_code=?)", "r idx_run_plan_status",
		),
		flat.NewQuery("plans that are open", look.PlansWithTasksSQL, []any{"", ""}, "SEARCH ing_plan USING INDEX idx_plan_status (status_code=?)", "ing_plan idx_plan_status"),
		flat.NewQuery("slices of a plan that started over", look.RestartedOf(byIndex), []any{7}, "SEARCH r USING INDEX idx_run_plan (plan_id=?)", "r idx_run_plan"),
		listQuery("batches of a source", "ing_task_run_batch", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_batch_source (provenance_code=?)", "x idx_batch_source"),
		listQuery("runs of a source", "ing_task_run", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_run_source (provenance_code=?)", "x idx_run_source"),
		listQuery("tasks of a source", "ing_task", view.Filter{Source: "source"}, "SEARCH x USING COVERING INDEX idx_task_source (provenance_code=?)", "x idx_task_source"),
		listQuery("the next page", "ing_task_run_batch", view.Filter{Source: "source", Before: 5000},
			"SEARCH x USING COVERING INDEX idx_batch_source (provenance_code=? AND rowid<?)", "x idx_batch_source"),
		// The newest that went well are found by walking back from the newest.
		listQuery("batches that went well", "ing_task_run_batch", view.Filter{Status: "SUCCEEDED"}, "SCAN x", "x PRIMARY"),
		listQuery("tasks that went well", "ing_task", view.Filter{Status: "SUCCEEDED"}, "SCAN x", "x PRIMARY"),
		listQuery("tasks of a source that went well", "ing_task", view.Filter{Source: "source", Status: "SUCCEEDED"},
			"SEARCH x USING INDEX idx_task_source (provenance_code=?)", "x idx_task_source"),
	}
}

// listQuery is a page of a list.
func listQuery(name, table string, f view.Filter, sqlite, server string) flat.Query {
	query, args := look.PageOf(table, "x", f, nil)
	return flat.NewQuery(name, query, args, sqlite, server)
}

func TestFlatQueriesOfSQLite(t *testing.T) { flat.OnSQLite(t, flatQueries) }

func TestFlatQueriesOfMariaDB(t *testing.T) { flat.OnMariaDB(t, flatQueries) }

package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// EventRows reads the events of an archive in order, after an id.
func (s *Archive) EventRows(ctx context.Context, a retention.Archive, after int64, limit int) ([]retention.Row, error) {
	return s.dumpTable(ctx, retention.EventTable, "SELECT * FROM ing_cursor_event WHERE cursor_id = ? AND id >= ? AND id <= ? AND id > ? ORDER BY id LIMIT ?",
		a.CursorID, a.From, a.To, after, limit)
}

// rowsOfPlan reads a table of a plan by key: each is a range of an index.
var rowsOfPlan = map[retention.Table]string{
	retention.PlanTable:  "SELECT * FROM ing_plan WHERE id = ? AND id > ? ORDER BY id LIMIT ?",
	retention.SliceTable: "SELECT * FROM ing_plan_slice WHERE plan_id = ? AND id > ? ORDER BY id LIMIT ?",
	retention.ResliceTable: `SELECT r.*, s.plan_id FROM ing_reslice_request r JOIN ing_plan_slice s ON s.id = r.slice_id
  WHERE s.plan_id = ? AND r.id > ? ORDER BY r.id LIMIT ?`,
	retention.TaskTable:  "SELECT * FROM ing_task WHERE plan_id = ? AND id > ? ORDER BY id LIMIT ?",
	retention.RunTable:   "SELECT * FROM ing_task_run WHERE plan_id = ? AND id > ? ORDER BY id LIMIT ?",
	retention.BatchTable: "SELECT * FROM ing_task_run_batch WHERE plan_id = ? AND id > ? ORDER BY id LIMIT ?",
	retention.EvidenceTable: `SELECT e.*, b.plan_id, b.run_id FROM ing_task_run_batch b JOIN ing_batch_evidence e ON e.batch_id = b.id
  WHERE b.plan_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`,
}

// PlanTree reads rows of one table that belong to a plan, in order, after an id.
func (s *Archive) PlanTree(ctx context.Context, planID int64, from retention.Table, after int64, limit int) ([]retention.Row, error) {
	query, known := rowsOfPlan[from]
	if !known {
		return nil, fmt.Errorf("read rows to archive: %s is no table of a plan", from)
	}
	return s.dumpTable(ctx, from, query, planID, after, limit)
}

// dumpTable reads whole rows, whatever columns they have: a column that is added
// later must not be forgotten here.
func (s *Archive) dumpTable(ctx context.Context, from retention.Table, query string, args ...any) (out []retention.Row, err error) {
	rows, err := s.db.Query(ctx, query, args...)
	if err != nil {
		return nil, kernel.Wrap("read rows to archive", s.db.Translate(err))
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		rows.Close()
		return nil, kernel.Wrap("read rows to archive", err)
	}
	values, targets := make([]any, len(types)), make([]any, len(types))
	for i := range values {
		targets[i] = &values[i]
	}
	return out, kernel.Wrap("read rows to archive", kernel.Each(rows, func() error {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		row := retention.Row{Table: from}
		var object strings.Builder
		for i, t := range types {
			placeRow(&row, t.Name(), values[i])
			cell, err := json.Marshal(cellOf(t, values[i]))
			if err != nil {
				return fmt.Errorf("column %s: %w", t.Name(), err)
			}
			fmt.Fprintf(&object, ",%q:%s", t.Name(), cell)
		}
		row.Columns = []byte("{" + object.String()[1:] + "}")
		out = append(out, row)
		return nil
	}))
}

// cellOf returns a value as a file keeps it. Text is text; what is no text, a hash
// or a foreign token, is base64 in an object of its own.
func cellOf(t *sql.ColumnType, value any) any {
	var raw []byte
	switch v := value.(type) {
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	default:
		return v
	}
	kind := t.DatabaseTypeName()
	if kind == "BLOB" || kind == "LONGBLOB" || kind == "BINARY" || !utf8.Valid(raw) {
		return map[string][]byte{"base64": raw}
	}
	return string(raw)
}

// placeRow notes what a column says about the place of its row in the chain of work.
func placeRow(row *retention.Row, column string, value any) {
	id, ok := value.(int64)
	if !ok {
		return
	}
	switch column {
	case "id":
		row.ID = id
		ownPlace(row)
	case "cursor_id":
		row.CursorID = id
	case "schedule_instance_id":
		row.ScheduleID = id
	case "plan_id":
		row.PlanID = id
	case "slice_id":
		row.SliceID = id
	case "task_id":
		row.TaskID = id
	case "run_id":
		row.RunID = id
	case "batch_id":
		row.BatchID = id
		if row.Table == retention.EvidenceTable {
			row.ID = id
		}
	}
}

// ownPlace notes the level that a table's own id belongs to.
func ownPlace(row *retention.Row) {
	switch row.Table {
	case retention.PlanTable:
		row.PlanID = row.ID
	case retention.SliceTable:
		row.SliceID = row.ID
	case retention.TaskTable:
		row.TaskID = row.ID
	case retention.RunTable:
		row.RunID = row.ID
	case retention.BatchTable:
		row.BatchID = row.ID
	}
}

package exportfile

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// VerifyTables holds the tables of an export against what its books say of them, and the file
// against what SQLite knows of it. It writes nothing.
func VerifyTables(ctx context.Context, path string) (tables []export.TableState, problems []string, err error) {
	if !IsTable(path) {
		return nil, nil, fmt.Errorf("%w: %s is no file of SQLite", fault.ErrInvalid, path)
	}
	db, err := openExport(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	if problems, err = sqlite.CheckIntegrity(ctx, db); err != nil {
		return nil, nil, fmt.Errorf("export: check %s: %w", path, err)
	}
	tables, err = readStates(ctx, db)
	if err == nil {
		var more []string
		more, err = checkTables(ctx, db, tables)
		problems = append(problems, more...)
	}
	switch {
	case ctx.Err() != nil:
		return tables, problems, ctx.Err()
	case err != nil: // without them no table can be checked
		problems = append(problems, fmt.Sprintf("table patra_export cannot be read: %v", err))
	}
	return tables, problems, nil
}

// checkTables holds every table against what the file says of it, and the two tables that
// say it against each other: a table that none of them names was not checked.
func checkTables(ctx context.Context, db *sql.DB, tables []export.TableState) (problems []string, err error) {
	if len(tables) == 0 {
		problems = append(problems, "table patra_export is empty: which tables were exported, and with how many records, is not known")
	}
	for _, t := range tables {
		e, _, err := readEntry(ctx, db, t.Source, t.Endpoint)
		if err != nil {
			return problems, err
		}
		_, found, err := checkEntry(ctx, db, e)
		if err != nil {
			found = append(found, fmt.Sprintf("table %s cannot be read: %v", t.Table, err))
		}
		problems = append(problems, found...)
	}
	unnamed, err := listTexts(ctx, db, "SELECT DISTINCT table_name FROM patra_column WHERE table_name NOT IN (SELECT table_name FROM patra_export) ORDER BY 1")
	if err != nil {
		return append(problems, fmt.Sprintf("table patra_column cannot be read: %v", err)), nil
	}
	for _, name := range unnamed {
		problems = append(problems, fmt.Sprintf("table patra_export does not name table %s, which was exported: its records cannot be checked", name))
	}
	return problems, nil
}

// checkEntry holds a table against what the file says of it: its columns, and the number of
// its rows.
func checkEntry(ctx context.Context, q asker, e entry) (rows int64, problems []string, err error) {
	there, err := listTexts(ctx, q, "SELECT name FROM pragma_table_info(?)", e.table)
	if err != nil {
		return 0, nil, err
	}
	if len(there) == 0 {
		return 0, []string{fmt.Sprintf("table %s is not there: it was removed or renamed", e.table)}, nil
	}
	named, err := listTexts(ctx, q, "SELECT column_name FROM patra_column WHERE table_name = ? ORDER BY rowid", e.table)
	if err != nil {
		return 0, nil, err
	}
	wanted := slices.Concat(export.TableColumns, named)
	if e.payload {
		wanted = append(wanted, "payload")
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(there, func(n string) bool { return strings.EqualFold(n, name) }) {
			problems = append(problems, fmt.Sprintf("table %s has no column %s: it was removed or renamed", e.table, name))
		}
	}
	if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quoted(e.table)).Scan(&rows); err != nil {
		return 0, problems, err
	}
	if rows != e.records {
		problems = append(problems, fmt.Sprintf("table %s has %d rows, and %d were exported", e.table, rows, e.records))
	}
	return rows, problems, nil
}

// listTexts reads texts, one of each row.
func listTexts(ctx context.Context, q asker, query string, args ...any) (out []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// readStates reads what the books say of all tables.
func readStates(ctx context.Context, db *sql.DB) (out []export.TableState, err error) {
	rows, err := db.QueryContext(ctx, "SELECT table_name, source, endpoint, records, written_at, cursor FROM patra_export ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t export.TableState
		if err := rows.Scan(&t.Table, &t.Source, &t.Endpoint, &t.Records, &t.WrittenAt, &t.Cursor); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

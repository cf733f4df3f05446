package exportfile

import (
	"context"
	"database/sql"
	"fmt"

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
	if tables, err = readStates(ctx, db); err != nil {
		return nil, problems, fmt.Errorf("export: read %s: %w", path, err)
	}
	for _, t := range tables {
		var rows int64
		switch err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quoted(t.Table)).Scan(&rows); {
		case ctx.Err() != nil:
			return tables, problems, ctx.Err()
		case err != nil:
			problems = append(problems, fmt.Sprintf("table %s cannot be read: %v", t.Table, err))
		case rows != t.Records:
			problems = append(problems, fmt.Sprintf("table %s has %d rows, and %d were exported", t.Table, rows, t.Records))
		}
	}
	return tables, problems, nil
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

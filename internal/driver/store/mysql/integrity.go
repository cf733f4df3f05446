package mysql

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// checkTables asks the server to check every table.
func checkTables(ctx context.Context, q kernel.Querier) (found []string, err error) {
	tables, err := ownTables(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, name := range tables {
		rows, err := q.QueryContext(ctx, "CHECK TABLE `"+name+"`")
		if err != nil {
			return found, err
		}
		for rows.Next() {
			var table, op, kind, text string
			if err := rows.Scan(&table, &op, &kind, &text); err != nil {
				_ = rows.Close()
				return found, err
			}
			if text != "OK" && kind != "note" {
				found = append(found, fmt.Sprintf("table %s: %s: %s", name, kind, text))
			}
		}
		if err := rows.Err(); err != nil {
			return found, err
		}
		_ = rows.Close()
	}
	return found, nil
}

func ownTables(ctx context.Context, q kernel.Querier) (names []string, err error) {
	rows, err := q.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

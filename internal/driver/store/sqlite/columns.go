package sqlite

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

var classes = map[string]kernel.Class{"INTEGER": kernel.IntClass, "REAL": kernel.RealClass, "TEXT": kernel.TextClass, "BLOB": kernel.BytesClass}

// readColumns lists the columns of all tables.
func readColumns(ctx context.Context, q kernel.Querier) (map[string][]kernel.Column, error) {
	rows, err := q.QueryContext(ctx, "SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY m.name, c.name")
	if err != nil {
		return nil, err
	}
	out := map[string][]kernel.Column{}
	return out, kernel.Each(rows, func() error {
		var table, name, kind string
		err := rows.Scan(&table, &name, &kind)
		out[table] = append(out[table], kernel.Column{Name: name, Class: classes[kind]})
		return err
	})
}

// readNextIDs reads the largest ids ever given out: those of rows that were removed are
// not given out again.
func readNextIDs(ctx context.Context, q kernel.Querier) (map[string]int64, error) {
	rows, err := q.QueryContext(ctx, "SELECT name, seq FROM sqlite_sequence")
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	return out, kernel.Each(rows, func() error {
		var table string
		var last int64
		err := rows.Scan(&table, &last)
		out[table] = last + 1
		return err
	})
}

func setNextIDs(ctx context.Context, q kernel.Querier, next map[string]int64) error {
	for table, id := range next {
		if _, err := q.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", table); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, id-1); err != nil {
			return err
		}
	}
	return nil
}

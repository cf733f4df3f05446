package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

var classes = map[string]kernel.Class{
	"bigint": kernel.IntClass, "int": kernel.IntClass, "tinyint": kernel.IntClass, "double": kernel.RealClass,
	"varchar": kernel.TextClass, "longtext": kernel.TextClass, "text": kernel.TextClass, "char": kernel.TextClass,
	"varbinary": kernel.BytesClass, "binary": kernel.BytesClass, "longblob": kernel.BytesClass,
}

// readColumns lists the columns of all tables.
func readColumns(ctx context.Context, q kernel.Querier) (map[string][]kernel.Column, error) {
	rows, err := q.QueryContext(ctx, "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c WHERE c.table_schema = DATABASE() ORDER BY c.table_name, c.column_name")
	if err != nil {
		return nil, err
	}
	out := map[string][]kernel.Column{}
	return out, kernel.Each(rows, func() error {
		var table, name, kind string
		if err := rows.Scan(&table, &name, &kind); err != nil {
			return err
		}
		class, known := classes[kind]
		if !known {
			return fmt.Errorf("column %s of %s is of the type %s, which is not known", name, table, kind)
		}
		out[table] = append(out[table], kernel.Column{Name: name, Class: class})
		return nil
	})
}

var nextID = regexp.MustCompile(`AUTO_INCREMENT=(\d+)`)

// readNextIDs reads which ids come next. The catalogue may tell an older state; the
// definition of a table does not.
func readNextIDs(ctx context.Context, q kernel.Querier) (map[string]int64, error) {
	tables, err := readColumns(ctx, q)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for table := range tables {
		var name, definition string
		if err := q.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &definition); err != nil && err != sql.ErrNoRows {
			return nil, err
		}
		if found := nextID.FindStringSubmatch(definition); found != nil {
			if out[table], err = strconv.ParseInt(found[1], 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func setNextIDs(ctx context.Context, q kernel.Querier, next map[string]int64) error {
	for table, id := range next {
		if _, err := q.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", table, id)); err != nil {
			return err
		}
	}
	return nil
}

package kernel

import (
	"context"
	"strings"
)

// IDs returns the ids that a query of a transaction gives.
func (t *Tx) IDs(query string, args ...any) (out []int64, err error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	return out, Each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
}

// ExecIn runs a statement that ends with IN for a list of ids, some at a time.
func (t *Tx) ExecIn(query string, ids []int64, args ...any) error {
	query += "(?" + strings.Repeat(",?", IDsPerStatement-1) + ")"
	for len(ids) > 0 {
		list := append([]any{}, args...)
		for i := range IDsPerStatement {
			list = append(list, ids[min(i, len(ids)-1)])
		}
		if _, err := t.Exec(query, list...); err != nil {
			return err
		}
		ids = ids[min(IDsPerStatement, len(ids)):]
	}
	return nil
}

// IDs returns the ids that a query gives.
func (db *DB) IDs(ctx context.Context, query string, args ...any) (out []int64, err error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return out, Each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
}

// Exists reports whether a query gives a row.
func (db *DB) Exists(ctx context.Context, query string, args ...any) (bool, error) {
	var one int
	return Found(db.QueryRow(ctx, query, args...).Scan(&one))
}

// Marks returns the places of n values in a statement.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// OperateAtOnce is how many tasks one transaction changes for an operator
// (D§5.20: writes are short).
const OperateAtOnce = 500

// IDsPerStatement is how many rows ExecIn names at once. The last list is filled
// up with its last id, so that one statement is prepared and no more.
const IDsPerStatement = 100

// ListSizes are how many values a list in a statement may have: a few sizes, so
// that the texts stay prepared.
var ListSizes = []int{25, 50, 100, 200}

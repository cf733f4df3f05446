package store

import (
	"context"
	"strings"
)

func (t *tx) ids(query string, args ...any) (out []int64, err error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	return out, each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
}

func (t *tx) execIn(query string, ids []int64, args ...any) error {
	query += "(?" + strings.Repeat(",?", idsPerStatement-1) + ")"
	for len(ids) > 0 {
		list := append([]any{}, args...)
		for i := range idsPerStatement {
			list = append(list, ids[min(i, len(ids)-1)])
		}
		if _, err := t.exec(query, list...); err != nil {
			return err
		}
		ids = ids[min(idsPerStatement, len(ids)):]
	}
	return nil
}

func (s *Store) idList(ctx context.Context, query string, args ...any) (out []int64, err error) {
	rows, err := s.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return out, each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
}

func (s *Store) exists(ctx context.Context, query string, args ...any) (bool, error) {
	var one int
	return found(s.queryRow(ctx, query, args...).Scan(&one))
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// operateAtOnce is how many tasks one transaction changes for an operator
// (D§5.20: writes are short).
const operateAtOnce = 500

// idsPerStatement is how many rows execIn names at once. The last list is filled
// up with its last id, so that one statement is prepared and no more.
const idsPerStatement = 100

// listSizes are how many values a list in a statement may have: a few sizes, so
// that the texts stay prepared.
var listSizes = []int{25, 50, 100, 200}

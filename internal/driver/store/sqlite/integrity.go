package sqlite

import (
	"context"
	"errors"

	"modernc.org/sqlite"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CheckIntegrity asks SQLite to look at every page of the file. A file that is damaged
// badly makes the question itself fail: that is an answer, too.
func CheckIntegrity(ctx context.Context, q kernel.Querier) (found []string, err error) {
	rows, err := q.QueryContext(ctx, "PRAGMA integrity_check(100)")
	if err != nil {
		return asFinding(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return found, err
		}
		if text != "ok" {
			found = append(found, text)
		}
	}
	more, err := asFinding(rows.Err())
	return append(found, more...), err
}

// asFinding takes an error about a damaged file for a finding.
func asFinding(err error) ([]string, error) {
	var e *sqlite.Error
	if errors.As(err, &e) && isDamage(err) {
		return []string{e.Error()}, nil
	}
	return nil, err
}

// Package check decides the invariants of the ledger by reading the database:
// the same checks serve tests of every size, on every dialect. All runs them:
//
//	I1  Tiling: leaf slices tile what their plan wants
//	I3  versions are 1…n, and no body is older than the one before it
//	I4  accounting: batches add up, runs are their sums, bodies are the changes
//	I5  Cursors: a cursor moves only over what is read, never back, and is what
//	    its events make it; a slice counts as read only if a run read it
//	I6  events of another operation never name a HARVEST cursor
//	I7  no batch and no end of a run after a newer lease began its own
//	I8  one effect per key: no slice counts twice, no event stands twice
//	I9  one event per body, one body per event, in order
//
// Two need to know more than the database does: Lost (I2) is told what the
// upstream has, and Digest (I8) is taken before and after something is repeated.
//
// It must share no code with what it checks beyond the schema and the pure
// fold of coverage; it reads with plain SQL and never writes.
package check

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"
)

// Open opens a database for reading, given in the form of --db.
func Open(database string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=query_only(ON)")
	}
	u, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	user := u.User.Username()
	if password, given := u.User.Password(); given {
		user += ":" + password
	}
	return sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", user, u.Host, u.Path))
}

// All runs every check and lists what is wrong.
func All(ctx context.Context, db *sql.DB) (problems []string, err error) {
	for _, c := range counts {
		var n int
		if err := db.QueryRowContext(ctx, c.query).Scan(&n); err != nil {
			return problems, fmt.Errorf("%s: %w", c.rule, err)
		}
		if n != 0 {
			problems = append(problems, fmt.Sprintf("%s: %d rows", c.rule, n))
		}
	}
	for _, f := range []func(context.Context, *sql.DB) ([]string, error){checkVersions, checkAccounting, checkOutbox, Tiling, Cursors} {
		found, err := f(ctx, db)
		if err != nil {
			return problems, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

func eachRow(ctx context.Context, db *sql.DB, query string, row func(scan func(...any) error) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

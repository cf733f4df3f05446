package bench

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// plain is the bare reference of all writes: one table of payloads, no ledger.
// Without a key it is a log, the cheapest a database can do; with one it is the
// least from which a record can be had by its id.
type plain struct {
	db   *sql.DB
	many *sql.Stmt
	one  *sql.Stmt
	rows int
}

type plainRow struct {
	id      string
	payload []byte
}

func newPlain(tb testing.TB, k kind, db *sql.DB, keyed bool) *plain {
	tb.Helper()
	key := ""
	if keyed {
		key = ", PRIMARY KEY (id)"
	}
	exec(tb, db, "CREATE TABLE plain (id VARCHAR(255) NOT NULL, payload "+map[string]string{"SQLite": "BLOB", "MariaDB": "LONGBLOB"}[k.name]+key+")")
	p := &plain{db: db, rows: k.rowsPerInsert}
	p.many, p.one = p.prepare(tb, k.rowsPerInsert), p.prepare(tb, 1)
	return p
}

func (p *plain) prepare(tb testing.TB, rows int) *sql.Stmt {
	tb.Helper()
	stmt, err := p.db.PrepareContext(tb.Context(), "INSERT INTO plain (id, payload) VALUES (?,?)"+strings.Repeat(",(?,?)", rows-1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = stmt.Close() })
	return stmt
}

// insert writes rows in one transaction, with statements of the size the store uses.
func (p *plain) insert(ctx context.Context, rows []plainRow) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	many, one := tx.StmtContext(ctx, p.many), tx.StmtContext(ctx, p.one)
	for len(rows) > 0 {
		n, stmt := p.rows, many
		if len(rows) < n {
			n, stmt = 1, one
		}
		args := make([]any, 0, 2*n)
		for _, r := range rows[:n] {
			args = append(args, r.id, r.payload)
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return tx.Commit()
}

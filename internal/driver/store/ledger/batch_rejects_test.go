package ledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// tally is a way to a database on which the statements that run are counted.
type tally struct {
	to    driver.Driver
	name  string
	count int
}

func (c *tally) Driver() driver.Driver { return c.to }

func (c *tally) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.to.Open(c.name)
	return talliedConn{conn, c}, err
}

type talliedConn struct {
	driver.Conn
	by *tally
}

func (c talliedConn) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(query)
	return talliedStmt{stmt, c.by}, err
}

type talliedStmt struct {
	driver.Stmt
	by *tally
}

func (s talliedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.by.count++
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s talliedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.by.count++
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// A page of a thousand rejects costs a few statements, not one for each of them:
// neither when they are new nor when they come again.
func TestManyRejectsTakeFewStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patra.db")
	localstore.Migrated(t, sqlite.Config{Path: path})
	through := &tally{name: "file:" + path}
	s := localstore.Open(t, sqlite.Config{Path: path}, store.Options{}, func(write, read *sql.DB) (*sql.DB, *sql.DB) {
		through.to = write.Driver()
		db := sql.OpenDB(through)
		db.SetMaxOpenConns(1)
		return db, read
	})
	for pass := range 3 {
		var page []record.Reject
		for i := range 1000 {
			page = append(page, record.Reject{
				ProviderID: fmt.Sprint(i), Reason: record.MissingField, Path: "$.title", Detail: fmt.Sprint("why ", i), Raw: fmt.Append(nil, i), FetchAt: time.Unix(int64(pass), 0),
			})
		}
		through.count = 0
		if err := s.InsertRejects(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		if through.count > 60 { // on SQLite an INSERT takes fewer rows than on a server
			t.Errorf("pass %d: %d statements", pass+1, through.count)
		}
		var rows, seen int
		if err := s.Write.QueryRow("SELECT COUNT(*), SUM(seen_count) FROM ing_quarantine").Scan(&rows, &seen); err != nil || rows != 1000 || seen != 1000*(pass+1) {
			t.Errorf("pass %d: %d rows, seen %d times, %v", pass+1, rows, seen, err)
		}
	}
}

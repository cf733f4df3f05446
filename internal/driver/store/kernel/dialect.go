package kernel

import (
	"context"
	"database/sql"
)

// Dialect is all that differs between two databases. Everything else is
// written once in the rooms, with ? for arguments: where a database calls them
// otherwise, its folder opens the pools through a connector that rewrites them.
type Dialect struct {
	Name  string
	Types Types // macros of migration files
	// OneWriter: the database takes one writer at a time, so writers queue in
	// this process, in two lanes, instead of on the file's lock.
	OneWriter bool
	// TransactionalDDL: a migration that fails leaves nothing behind.
	TransactionalDDL bool
	// ForUpdate is appended to a SELECT that locks its rows.
	ForUpdate string
	// SkipLocked is appended to a SELECT that locks its rows and passes over rows that
	// another transaction holds.
	SkipLocked string
	// ByIndex stands behind a table that is to be read by an index; %s is its name.
	ByIndex string
	// ClaimSQL marks the first ? QUEUED tasks of a partition; see ledger for its arguments.
	ClaimSQL string
	// InsertMany begins an INSERT of many rows. The transaction is rolled back if it
	// fails, so what a failed statement leaves behind does not matter.
	InsertMany string
	// Returning is appended to an INSERT that is to give the new id, where the driver
	// does not tell it by itself.
	Returning string
	// RowsPerInsert is how many rows one INSERT may carry, the most first; what is
	// left over goes one by one.
	RowsPerInsert []int
	// BytesPerInsert is how much of foreign text such an INSERT had better carry;
	// 0 is any.
	BytesPerInsert int
	// NumberedArgs: ?1 in a statement is its first argument, wherever it stands, and a ? is the
	// one after the largest number before it.
	NumberedArgs bool
	// Clock is an expression for the store's clock in microseconds; empty if that is
	// the clock of this process.
	Clock string
	// Present tells whether the database is still where it was opened; nil: it cannot
	// get lost unnoticed.
	Present func(inTransaction bool) error
	// Committed is called after the commit of a step or of a page of a copy, before this
	// process begins another transaction; nil: nothing to do.
	Committed func()
	// Close ends what Committed began, before the pools are closed; nil: nothing to end.
	Close func() error
	// Check lets the database look at its own structure; it gives what is wrong with it.
	Check func(ctx context.Context, q Querier) ([]string, error)
	// Columns lists the columns of all tables, each table's by name.
	Columns func(ctx context.Context, q Querier) (map[string][]Column, error)
	// NextIDs tells by table which id is given out next; SetNextIDs says it.
	NextIDs    func(ctx context.Context, q Querier) (map[string]int64, error)
	SetNextIDs func(ctx context.Context, q Querier, next map[string]int64) error
	// Sizes tells how much room the database takes.
	Sizes func(ctx context.Context, q Querier, whole bool) (Sizes, error)
	// Translate turns a vendor error into one of fault's kinds.
	Translate func(error) error
	// DoneAlready tells whether a statement of a migration failed because it had run
	// before: a program died before it noted that. Nil: a migration is one transaction.
	DoneAlready func(error) bool
	// Lock keeps two programs from migrating at once; it returns the unlock.
	Lock func(ctx context.Context, conn *sql.Conn) (unlock func(), err error)
	// TableCount is how many tables the database has, whoever made them.
	TableCount func(ctx context.Context, q Querier) (int, error)
	// TableExists asks the catalogue.
	TableExists func(ctx context.Context, q Querier, name string) (bool, error)
}

// rowsAtOnce returns how many of the rows that stand one behind the other go into the
// next INSERT.
func (d *Dialect) rowsAtOnce(width int, values []any) int {
	for _, n := range d.RowsPerInsert {
		if n*width <= len(values) && (d.BytesPerInsert == 0 || textIn(values[:n*width]) <= d.BytesPerInsert) {
			return n
		}
	}
	return 1
}

func textIn(values []any) (n int) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// Querier is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

package store

import (
	"context"
	"database/sql"
	"time"
)

// Dialect is all that differs between two databases. Everything else is
// written once in this package.
type Dialect struct {
	Name  string
	Types Types // macros of migration files
	// OneWriter: the database takes one writer at a time, so writers queue in
	// this process, in two lanes, instead of on the file's lock.
	OneWriter bool
	// TransactionalDDL: a migration that fails leaves nothing behind.
	TransactionalDDL bool
	Isolation        sql.IsolationLevel
	// ForUpdate is appended to a SELECT that locks its rows.
	ForUpdate string
	// SkipLocked is the same for a SELECT that leaves rows alone which others hold.
	SkipLocked string
	// ClaimSQL marks the first ? QUEUED tasks of a partition; see claim.go for its arguments.
	ClaimSQL string
	// InsertMany begins an INSERT of many rows. The transaction is rolled back if it
	// fails, so what a failed statement leaves behind does not matter.
	InsertMany string
	// RowsPerInsert is how many rows one INSERT may carry, the most first; what is
	// left over goes one by one.
	RowsPerInsert []int
	// Now reads the store's clock.
	Now func(ctx context.Context, q Querier) (time.Time, error)
	// Translate turns a vendor error into one of fault's kinds.
	Translate func(error) error
	// Lock keeps two programs from migrating at once; it returns the unlock.
	Lock func(ctx context.Context, conn *sql.Conn) (unlock func(), err error)
	// TableCount is how many tables the database has, whoever made them.
	TableCount func(ctx context.Context, q Querier) (int, error)
	// TableExists asks the catalogue.
	TableExists func(ctx context.Context, q Querier, name string) (bool, error)
}

// Querier is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

package kernel

import (
	"context"
	"database/sql"
	"runtime"
)

// ReadView runs reads that see one state of the database: a source that is
// applied meanwhile is seen as it was or as it is, never half of each.
func (db *DB) ReadView(ctx context.Context, read func(Querier) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if !db.Dialect.OneWriter {
		options.Isolation = sql.LevelRepeatableRead // the session's own level sees each commit
	}
	view, err := db.read.BeginTx(ctx, options)
	if err != nil {
		return db.Translate(err)
	}
	defer view.Rollback()
	return db.Translate(read(view))
}

// Query asks the pool of readers.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, query, args...)
}

// QueryKept asks the pool of readers by a statement that is kept prepared: for long texts
// that are asked again and again, and are few.
func (db *DB) QueryKept(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	kept, ok := db.asked.Load(query)
	if !ok {
		stmt, err := db.read.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		if kept, ok = db.asked.LoadOrStore(query, stmt); ok {
			_ = stmt.Close() // somebody else was first
		}
	}
	return kept.(*sql.Stmt).QueryContext(ctx, args...)
}

// Reader is the pool of readers, for what is asked in a view, too.
func (db *DB) Reader() Querier { return db.read }

// Ask returns Query for one context.
func (db *DB) Ask(ctx context.Context) func(query string, args ...any) (*sql.Rows, error) {
	return func(query string, args ...any) (*sql.Rows, error) { return db.Query(ctx, query, args...) }
}

// QueryRow asks the pool of readers for one row.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, query, args...)
}

// serverQueries is how many queries a server is asked at once: enough to hide the time of its
// answers, and few beside the connections that the work needs.
const serverQueries = 4

// ParallelQueries returns how many queries are worth running at once. A file is read by this
// process, and each connection reads the whole schema first, so more queries than processors cost
// more than they gain.
func (db *DB) ParallelQueries() int {
	if db.Dialect.OneWriter {
		return min(runtime.GOMAXPROCS(0), serverQueries)
	}
	return serverQueries
}

// Translate turns an error of the database into one of fault's kinds.
func (db *DB) Translate(err error) error { return db.Dialect.Translate(err) }

// CheckStructure lets the database look at its own structure.
func (db *DB) CheckStructure(ctx context.Context) (found []string, err error) {
	return db.Dialect.Check(ctx, db.read)
}

package kernel

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

const maxTries = 10

var betweenTries = fault.Backoff{First: 2 * time.Millisecond, Growth: 2, Longest: 200 * time.Millisecond, Jitter: 0.5}

// Step runs one business step as one transaction and redoes it whole when the
// database was busy or two workers wrote the same key (D§5.20). Every step looks
// for its own result first, so redoing one whose commit got lost is harmless.
func (db *DB) Step(ctx context.Context, name string, l Lane, do func(*Tx) error) error {
	return db.StepFrom(ctx, name, l, (*Tx).ReadClock, do)
}

// StepFrom runs a step that reads the time together with something else: on a server
// every statement is a round trip.
func (db *DB) StepFrom(ctx context.Context, name string, l Lane, begin, do func(*Tx) error) error {
	for try := 1; ; try++ {
		err := db.Once(ctx, l, begin, do)
		if err == nil {
			if db.options.AfterCommit != nil {
				err = db.options.AfterCommit(name)
			}
			return Wrap(name, err)
		}
		if try == maxTries || !(errors.Is(err, fault.ErrBusy) || errors.Is(err, fault.ErrConflict)) {
			return Wrap(name, err)
		}
		db.waits.redone.Add(1)
		select {
		case <-ctx.Done():
			return Wrap(name, ctx.Err())
		case <-time.After(betweenTries.Spread(try, rand.Float64())):
		}
	}
}

// Wrap names the step that failed.
func Wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Once runs a transaction that is not redone.
func (db *DB) Once(ctx context.Context, l Lane, begin, do func(*Tx) error) error {
	asked := time.Now()
	if db.Dialect.OneWriter {
		if err := db.lanes.enterLane(ctx, l); err != nil {
			return err
		}
		defer db.lanes.leaveLane()
	}
	raw, err := db.write.BeginTx(ctx, nil) // at the level of the session, which is verified
	if err != nil {
		return db.Translate(err)
	}
	db.waits.addWait(time.Since(asked))
	t := &Tx{Ctx: ctx, db: db, raw: raw, stmts: map[string]*sql.Stmt{}}
	defer t.keepFresh()
	if err = begin(t); err == nil {
		err = do(t)
	}
	if err == nil && db.Dialect.Present != nil {
		err = db.Dialect.Present(true) // a commit into a file that was removed succeeds, and is lost
	}
	if err != nil {
		_ = raw.Rollback()
		return db.Translate(err)
	}
	return db.Translate(db.commit(raw))
}

// commit commits, and tells the dialect if it did.
func (db *DB) commit(raw *sql.Tx) error {
	err := raw.Commit()
	if err == nil && db.Dialect.Committed != nil {
		db.Dialect.Committed()
	}
	return err
}

// Tx is a transaction with the instant the store's clock showed at its start.
type Tx struct {
	Ctx   context.Context
	db    *DB
	raw   *sql.Tx
	Now   time.Time
	stmts map[string]*sql.Stmt
	fresh []string // queries to keep on the pool once the connection is free
}

// Dialect returns that of the database the transaction is in.
func (t *Tx) Dialect() *Dialect { return &t.db.Dialect }

// ReadClock takes the instant that the store's clock shows.
func (t *Tx) ReadClock() (err error) {
	t.Now, err = t.Clock()
	return err
}

// Clock asks the store's clock once more: a transaction may have waited for a lock.
func (t *Tx) Clock() (time.Time, error) { return t.db.ClockOf(t.Ctx, t.raw) }

func (t *Tx) keepFresh() {
	for _, query := range t.fresh {
		if _, err := t.db.keepStatement(t.Ctx, query); err != nil {
			return // only speed is lost
		}
	}
}

// Exec runs a statement that is prepared once per connection.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.preparedStatement(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(t.Ctx, args...)
}

// ExecOne runs an UPDATE that must hit exactly one row.
func (t *Tx) ExecOne(query string, args ...any) error {
	n, err := t.Affected(query, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%w: %d rows changed, expected 1", fault.ErrNotFound, n)
	}
	return nil
}

// Affected runs a statement and tells how many rows it changed.
func (t *Tx) Affected(query string, args ...any) (int64, error) {
	result, err := t.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Insert runs an INSERT and gives the new id.
func (t *Tx) Insert(query string, args ...any) (id int64, err error) {
	if returning := t.Dialect().Returning; returning != "" {
		err = t.Row(query+returning, args...).Scan(&id)
		return id, err
	}
	result, err := t.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// Query asks inside the transaction.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.preparedStatement(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(t.Ctx, args...)
}

// Row asks for one row inside the transaction.
func (t *Tx) Row(query string, args ...any) Scanner {
	stmt, err := t.preparedStatement(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(t.Ctx, args...)
}

// Scanner is a row that can be scanned.
type Scanner interface{ Scan(...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// preparedStatement gives the statement of this transaction for a query. Statements live
// on the pool and are prepared once per connection.
func (t *Tx) preparedStatement(query string) (*sql.Stmt, error) {
	if stmt, ok := t.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := t.adoptStatement(query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = stmt
	return stmt, nil
}

func (t *Tx) adoptStatement(query string) (*sql.Stmt, error) {
	if cached, ok := t.db.stmts.Load(query); ok {
		return t.raw.StmtContext(t.Ctx, cached.(*sql.Stmt)), nil
	}
	if t.Dialect().OneWriter {
		// The pool's only connection is ours until we commit: asking the pool
		// now would wait for ever. The statement is added to the pool later.
		t.fresh = append(t.fresh, query)
		return t.raw.PrepareContext(t.Ctx, query)
	}
	stmt, err := t.db.keepStatement(t.Ctx, query)
	if err != nil {
		return nil, err
	}
	return t.raw.StmtContext(t.Ctx, stmt), nil
}

// keepStatement prepares a query on the pool.
func (db *DB) keepStatement(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, err := db.write.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if other, loaded := db.stmts.LoadOrStore(query, stmt); loaded {
		_ = stmt.Close()
		stmt = other.(*sql.Stmt)
	}
	return stmt, nil
}

// InsertMany inserts rows with as few statements as the dialect likes.
func (t *Tx) InsertMany(table, columns string, width int, rows [][]any) error {
	return t.InsertFlat(table, columns, width, slices.Concat(rows...))
}

// InsertFlat does what InsertMany does for rows that stand one behind the other.
func (t *Tx) InsertFlat(table, columns string, width int, values []any) error {
	return t.InsertRows(table, columns, strings.TrimSuffix(strings.Repeat("?,", width), ","), nil, values)
}

// InsertRows does what InsertFlat does for rows that have some values in common. Columns begins
// with those of shared, which is passed once with a statement where the database allows that. Row
// has one value for each other column: a mark for what rows differ in, and what they always have in
// common as it is written in SQL, which costs less than to pass it again with every row
// (decisions 137, 171). Only a few sizes of statements are used, and each is kept prepared: so
// row must be one of few texts. It never holds what came from outside.
func (t *Tx) InsertRows(table, columns, row string, shared, values []any) error {
	width := strings.Count(row, "?")
	if len(shared) > 0 && !t.Dialect().NumberedArgs {
		row, values, width = strings.Repeat("?,", len(shared))+row, repeatShared(shared, values, width), width+len(shared)
		shared = nil
	}
	for i := range shared {
		row = fmt.Sprintf("?%d,", len(shared)-i) + row
	}
	row = "(" + row + ")"
	args := slices.Clone(shared)
	for len(values) > 0 {
		n := t.Dialect().rowsAtOnce(width, values)
		query := t.Dialect().InsertMany + " " + table + " (" + columns + ") VALUES " + row + strings.Repeat(","+row, n-1)
		args = append(args[:len(shared)], values[:n*width]...)
		if _, err := t.Exec(query, args...); err != nil {
			return err
		}
		values = values[n*width:]
	}
	return nil
}

// repeatShared puts what rows have in common before the values of each of them.
func repeatShared(shared, values []any, width int) []any {
	out := make([]any, 0, len(values)/max(width, 1)*(width+len(shared)))
	for row := range slices.Chunk(values, width) {
		out = append(append(out, shared...), row...)
	}
	return out
}

// ClockColumn returns the store's clock as a column, and SetClock takes what it gave.
func (t *Tx) ClockColumn() string { return cmp.Or(t.Dialect().Clock, "NULL") }

func (t *Tx) SetClock(column sql.NullInt64) {
	if at, ok := t.db.OwnClock(); ok {
		t.Now = at
		return
	}
	t.Now = Instant(column)
}

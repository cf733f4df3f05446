package store

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

// step runs one business step as one transaction and redoes it whole when the
// database was busy or two workers wrote the same key (D§5.20). Every step looks
// for its own result first, so redoing one whose commit got lost is harmless.
func (s *Store) step(ctx context.Context, name string, l lane, do func(*tx) error) error {
	return s.stepFrom(ctx, name, l, (*tx).readClock, do)
}

// stepFrom is a step that learns the time together with something else: on a
// server every question is a way there and back.
func (s *Store) stepFrom(ctx context.Context, name string, l lane, begin, do func(*tx) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, l, begin, do)
		if err == nil {
			if s.options.AfterCommit != nil {
				err = s.options.AfterCommit(name)
			}
			return wrap(name, err)
		}
		if try == maxTries || !(errors.Is(err, fault.ErrBusy) || errors.Is(err, fault.ErrConflict)) {
			return wrap(name, err)
		}
		select {
		case <-ctx.Done():
			return wrap(name, ctx.Err())
		case <-time.After(betweenTries.Spread(try, rand.Float64())):
		}
	}
}

func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (s *Store) once(ctx context.Context, l lane, begin, do func(*tx) error) error {
	asked := time.Now()
	if s.dialect.OneWriter {
		if err := s.lanes.enter(ctx, l); err != nil {
			return err
		}
		defer s.lanes.leave()
	}
	raw, err := s.write.BeginTx(ctx, nil) // at the level of the session, which is verified
	if err != nil {
		return s.translate(err)
	}
	s.waits.add(time.Since(asked))
	t := &tx{ctx: ctx, store: s, raw: raw, stmts: map[string]*sql.Stmt{}}
	defer t.keepFresh()
	if err = begin(t); err == nil {
		err = do(t)
	}
	if err == nil && s.dialect.Present != nil {
		err = s.dialect.Present(true) // a commit into a file that was removed succeeds, and is lost
	}
	if err != nil {
		_ = raw.Rollback()
		return s.translate(err)
	}
	return s.translate(raw.Commit())
}

// tx is a transaction with the instant the store's clock showed at its start.
type tx struct {
	ctx   context.Context
	store *Store
	raw   *sql.Tx
	now   time.Time
	stmts map[string]*sql.Stmt
	fresh []string // queries to keep on the pool once the connection is free
}

// dialect is that of the database the transaction is in.
func (t *tx) dialect() *Dialect { return &t.store.dialect }

// readClock takes the instant that the store's clock shows.
func (t *tx) readClock() (err error) {
	t.now, err = t.clock()
	return err
}

// clock asks the store's clock once more: a transaction may have waited for a lock.
func (t *tx) clock() (time.Time, error) { return t.store.now(t.ctx, t.raw) }

func (t *tx) keepFresh() {
	for _, query := range t.fresh {
		if _, err := t.store.keep(t.ctx, query); err != nil {
			return // only speed is lost
		}
	}
}

// exec runs a statement that is prepared once per connection.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(t.ctx, args...)
}

// execOne runs an UPDATE that must hit exactly one row.
func (t *tx) execOne(query string, args ...any) error {
	n, err := t.affected(query, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%w: %d rows changed, expected 1", fault.ErrNotFound, n)
	}
	return nil
}

func (t *tx) affected(query string, args ...any) (int64, error) {
	result, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs an INSERT and gives the new id.
func (t *tx) insert(query string, args ...any) (int64, error) {
	result, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(t.ctx, args...)
}

func (t *tx) row(query string, args ...any) scanner {
	stmt, err := t.prepared(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(t.ctx, args...)
}

type scanner interface{ Scan(...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// prepared gives the statement of this transaction for a query. Statements live
// on the pool and are prepared once per connection.
func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if stmt, ok := t.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := t.adopt(query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = stmt
	return stmt, nil
}

func (t *tx) adopt(query string) (*sql.Stmt, error) {
	if cached, ok := t.store.stmts.Load(query); ok {
		return t.raw.StmtContext(t.ctx, cached.(*sql.Stmt)), nil
	}
	if t.dialect().OneWriter {
		// The pool's only connection is ours until we commit: asking the pool
		// now would wait for ever. The statement is added to the pool later.
		t.fresh = append(t.fresh, query)
		return t.raw.PrepareContext(t.ctx, query)
	}
	stmt, err := t.store.keep(t.ctx, query)
	if err != nil {
		return nil, err
	}
	return t.raw.StmtContext(t.ctx, stmt), nil
}

// keep prepares a query on the pool.
func (s *Store) keep(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, err := s.write.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if other, loaded := s.stmts.LoadOrStore(query, stmt); loaded {
		_ = stmt.Close()
		stmt = other.(*sql.Stmt)
	}
	return stmt, nil
}

// insertMany inserts rows with as few statements as the dialect likes.
func (t *tx) insertMany(table, columns string, width int, rows [][]any) error {
	return t.insertFlat(table, columns, width, slices.Concat(rows...))
}

// insertFlat is insertMany for rows that stand one behind the other. Only a few
// sizes of statements are used: each is kept prepared.
func (t *tx) insertFlat(table, columns string, width int, values []any) error {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	for len(values) > 0 {
		n := t.dialect().rowsAtOnce(width, values)
		query := t.dialect().InsertMany + " " + table + " (" + columns + ") VALUES " + row + strings.Repeat(","+row, n-1)
		if _, err := t.exec(query, values[:n*width]...); err != nil {
			return err
		}
		values = values[n*width:]
	}
	return nil
}

// clockColumn is the store's clock as a column, and setClock takes what it gave.
func (t *tx) clockColumn() string { return cmp.Or(t.dialect().Clock, "NULL") }

func (t *tx) setClock(column sql.NullInt64) {
	if at, ok := t.store.ownClock(); ok {
		t.now = at
		return
	}
	t.now = instant(column)
}

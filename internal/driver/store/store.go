// Package store is the SQL core: every business step of the program as one
// transaction, written once for all dialects (D§5.20). The folders sqlite and
// mysql open a database and hand over a Dialect.
//
// Before it on the path of a record stands engine/executor, after it the outbox
// relay. It must never make a decision of its own about records or coverage:
// record.Decide and coverage.Apply do, inside its transactions.
package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Store is an open database. It is safe for concurrent use.
type Store struct {
	dialect Dialect
	write   *sql.DB
	read    *sql.DB
	options Options
	lanes   lanes
	stmts   sync.Map    // query text → *sql.Stmt of the write pool
	settled atomic.Bool // the last batch changed little; see packChanged
	waits   waits
	// contentRules are how content hashes are made, by the fingerprint of a snapshot.
	contentRules sync.Map
	nested       chan struct{} // see nest
}

// Options are for tests and for the rare operator who knows better.
type Options struct {
	// Clock replaces the store's clock.
	Clock func() time.Time
	// AfterCommit is called when a transaction has been committed. An error it
	// returns is reported to the caller as if the commit had failed: the
	// "done, but told it failed" fault that idempotency keys exist for.
	AfterCommit func(step string) error
	// Schema is the last schema version this program is to know; 0 is all. It
	// makes the database of an older program.
	Schema int
}

// New joins a dialect with its pools. For a database with one writer, read and
// write are different pools; otherwise they may be the same.
func New(d Dialect, write, read *sql.DB, o Options) *Store {
	return &Store{dialect: d, write: write, read: read, options: o, nested: make(chan struct{}, max(1, read.Stats().MaxOpenConnections/2))}
}

// Close closes both pools.
func (s *Store) Close() error {
	if s.read == s.write {
		return s.write.Close()
	}
	return errors.Join(s.read.Close(), s.write.Close())
}

// Present tells whether the database is still where it was opened. Every write asks
// it; whoever wrote last asks once more before saying that all went well.
func (s *Store) Present() error {
	if s.dialect.Present == nil {
		return nil
	}
	return s.dialect.Present(false)
}

// Now is the store's clock: the one that judges leases (D§5.2).
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.now(ctx, s.read) }

func (s *Store) now(ctx context.Context, q Querier) (time.Time, error) {
	if at, ok := s.ownClock(); ok {
		return at, nil
	}
	var micros int64
	err := q.QueryRowContext(ctx, "SELECT "+s.dialect.Clock).Scan(&micros)
	return time.UnixMicro(micros).UTC(), s.translate(err)
}

// ownClock is the time where nobody has to be asked.
func (s *Store) ownClock() (time.Time, bool) {
	switch {
	case s.options.Clock != nil:
		return s.options.Clock().UTC().Truncate(time.Microsecond), true
	case s.dialect.Clock == "":
		return time.Now().UTC().Truncate(time.Microsecond), true
	}
	return time.Time{}, false
}

// Package kernel is what all rooms of the SQL store stand on: the pools of a database
// and its dialect, the migrator, transactions that are redone whole, the lanes of the
// one writer, the audit log, refusals of an operator's wish, and the small codecs of
// rows.
//
// The rooms meet like this, each knowing only what stands before it:
//
//	kernel ← bodies ← look ← {ledger, registry, outbox, archive} ← store ← {sqlite, mysql}
//
// A room is a type over a DB. One that writes has a transaction type of its own, which
// embeds Tx: its statements are methods of that, and its step wraps DB.Step. Rooms that
// write do not know one another; what two of them read alike stands in look, and how a
// version is packed in bodies. store.Store embeds the rooms, so that a caller sees one
// value with all port methods. What differs between databases stands in Dialect, and a
// new database fills it in a folder of its own beside sqlite and mysql.
//
// It must never know a table of the work: only the schema's own, the audit log and
// what is passed to it as text.
package kernel

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"sync"
	"time"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	Dialect Dialect
	write   *sql.DB
	read    *sql.DB
	options Options
	lanes   lanes
	stmts   sync.Map // query text → *sql.Stmt of the write pool
	asked   sync.Map // the same of the readers
	waits   waits
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
	// FrameLeast is how many bytes of changed content a batch needs to write its
	// versions in frames; 0 is what the program chooses, below 0 it never does.
	FrameLeast int
}

// New joins a dialect with its pools. For a database with one writer, read and
// write are different pools; otherwise they may be the same.
func New(d Dialect, write, read *sql.DB, o Options) *DB {
	return &DB{Dialect: d, write: write, read: read, options: o}
}

// Close ends what the dialect began beside the pools, and closes both pools.
func (db *DB) Close() error {
	var err error
	if db.Dialect.Close != nil {
		err = db.Dialect.Close()
	}
	if db.read != db.write {
		err = errors.Join(err, db.read.Close())
	}
	return errors.Join(err, db.write.Close())
}

// FrameLeast returns how much content makes a frame worth writing.
func (db *DB) FrameLeast(usual int) int {
	if db.options.FrameLeast < 0 {
		return math.MaxInt
	}
	return cmp.Or(db.options.FrameLeast, usual)
}

// Present tells whether the database is still where it was opened. Every write asks
// it; whoever wrote last asks once more before saying that all went well.
func (db *DB) Present() error {
	if db.Dialect.Present == nil {
		return nil
	}
	return db.Dialect.Present(false)
}

// Now returns the store's clock: the one that judges leases (D§5.2).
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	if at, held := ctx.Value(clockKey{}).(time.Time); held {
		return at, nil
	}
	return db.ClockOf(ctx, db.read)
}

type clockKey struct{}

// HoldClock returns a context with which Now always says what it says now: an answer that is put together
// of many questions is of one instant, and a server need not be asked for it each time.
// Transactions that write ask the clock all the same.
func (db *DB) HoldClock(ctx context.Context) (context.Context, time.Time, error) {
	at, err := db.Now(ctx)
	return context.WithValue(ctx, clockKey{}, at), at, err
}

// ClockOf asks the store's clock through a connection or transaction.
func (db *DB) ClockOf(ctx context.Context, q Querier) (time.Time, error) {
	if at, ok := db.OwnClock(); ok {
		return at, nil
	}
	var micros int64
	err := q.QueryRowContext(ctx, "SELECT "+db.Dialect.Clock).Scan(&micros)
	return time.UnixMicro(micros).UTC(), db.Translate(err)
}

// OwnClock returns the time where no server has to be asked.
func (db *DB) OwnClock() (time.Time, bool) {
	switch {
	case db.options.Clock != nil:
		return db.options.Clock().UTC().Truncate(time.Microsecond), true
	case db.Dialect.Clock == "":
		return time.Now().UTC().Truncate(time.Microsecond), true
	}
	return time.Time{}, false
}

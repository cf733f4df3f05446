// Package store joins the rooms of the SQL store into one value: every business step
// of the program as one transaction, written once for all dialects (D§5.20). The
// folders sqlite and mysql open a database and hand over a Dialect.
//
// The rooms are ledger (the work), registry (the sources), outbox (what leaves for
// others), alarm (alerts), access (who may use the HTTP interface), archive (upkeep) and look
// (the read side); kernel and bodies are what they stand on. It must never hold a statement of its own: a new one belongs to a room.
package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store/access"
	"github.com/patra-ingest/patra/internal/driver/store/alarm"
	"github.com/patra-ingest/patra/internal/driver/store/archive"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/ledger"
	"github.com/patra-ingest/patra/internal/driver/store/look"
	"github.com/patra-ingest/patra/internal/driver/store/outbox"
	"github.com/patra-ingest/patra/internal/driver/store/registry"
)

// Store is an open database, all rooms of it. It is safe for concurrent use.
type Store struct {
	db *kernel.DB
	*ledger.Ledger
	*registry.Registry
	*outbox.Outbox
	*alarm.Alarm
	*access.Access
	*archive.Archive
	*look.Look
}

// What whoever opens a store needs of the kernel.
type (
	// Options are for tests and for the rare operator who knows better.
	Options = kernel.Options
	// Migration is one file of the schema's history.
	Migration = kernel.Migration
	// SchemaStatus is where a database stands against this program.
	SchemaStatus = kernel.SchemaStatus
	// Copied is a table of a copy.
	Copied = kernel.Copied
)

// New joins a dialect with its pools. For a database with one writer, read and
// write are different pools; otherwise they may be the same.
func New(d kernel.Dialect, write, read *sql.DB, o Options) *Store {
	db := kernel.New(d, write, read, o)
	b := bodies.New(db)
	l := look.New(db, b)
	return &Store{
		db: db, Ledger: ledger.New(db, b, l), Registry: registry.New(db), Outbox: outbox.New(db, b, l), Alarm: alarm.New(db), Access: access.New(db), Archive: archive.New(db, b, l), Look: l,
	}
}

// Close closes both pools.
func (s *Store) Close() error { return s.db.Close() }

// Present tells whether the database is still where it was opened. Every write asks
// it; whoever wrote last asks once more before saying that all went well.
func (s *Store) Present() error { return s.db.Present() }

// Dialect tells the name of the database kind, for people.
func (s *Store) Dialect() string { return s.db.Dialect.Name }

// CopyTo fills an empty database with all that this one holds; see kernel.CopyTo.
func (s *Store) CopyTo(ctx context.Context, to *Store, tell func(Copied)) ([]Copied, error) {
	return s.db.CopyTo(ctx, to.db, tell)
}

// Now returns the store's clock: the one that judges leases (D§5.2).
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// HoldClock returns a context with which Now says one instant, for an answer of many questions.
func (s *Store) HoldClock(ctx context.Context) (context.Context, time.Time, error) {
	return s.db.HoldClock(ctx)
}

// ParallelQueries returns how many queries are worth running at once.
func (s *Store) ParallelQueries() int { return s.db.ParallelQueries() }

// Waits returns how many transactions of this process began so far, and how long they
// waited for it together.
func (s *Store) Waits() (steps int64, waited time.Duration) { return s.db.Waits() }

// Redone returns how many transactions of this process were done again so far.
func (s *Store) Redone() int64 { return s.db.Redone() }

// Schema reads the status and changes nothing. A database of a newer program is
// an error, and stays untouched.
func (s *Store) Schema(ctx context.Context) (SchemaStatus, error) { return s.db.Schema(ctx) }

// Migrate brings the schema up to date, and the dictionary with it.
func (s *Store) Migrate(ctx context.Context) (applied []Migration, err error) {
	if applied, err = s.db.Migrate(ctx); err != nil {
		return applied, err
	}
	_, err = s.SeedDictionary(ctx, dictionary.All())
	return applied, err
}

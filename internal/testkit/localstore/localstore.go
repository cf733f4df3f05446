// Package localstore opens a store for one test: in a file of its own, with its pools
// in sight, so that a room of the store is tested through the whole of it and looked at
// behind its back; or beside a program that works on the same database.
//
// It must never be used by storetest: the suite knows a database only through what
// opens it.
package localstore

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// Opened is a store and what it is made of.
type Opened struct {
	*store.Store
	Path        string
	Write, Read *sql.DB
	ByIndex     string // how the database is told to read by an index
}

// Through replaces the pools of a store while it is opened; nil leaves them.
type Through func(write, read *sql.DB) (*sql.DB, *sql.DB)

// Open opens a store without tables; it is closed with the test.
func Open(t testing.TB, c sqlite.Config, o store.Options, through Through) Opened {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "patra.db")
	}
	d, write, read, err := sqlite.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = d.Close(), read.Close(), write.Close() })
	if through != nil {
		write, read = through(write, read)
		t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	}
	return Opened{store.New(d, write, read, o), c.Path, write, read, d.ByIndex}
}

// Migrated opens a store with its tables.
func Migrated(t testing.TB, c sqlite.Config) Opened {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "patra.db")
	}
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) {
		Place(t, c.Path)
	}
	return Open(t, c, store.Options{}, nil)
}

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

func pragma(t *testing.T, db *sql.DB, name string) (value string) {
	t.Helper()
	if err := db.QueryRow("PRAGMA " + name).Scan(&value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// pools are what a store of a file works with.
func pools(t *testing.T, c sqlite.Config) (write, read *sql.DB) {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "patra.db")
	}
	d, write, read, err := sqlite.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = d.Close(), read.Close(), write.Close() })
	return write, read
}

// SQLite's settings belong to connections, so they are asked on the store's own.
func TestSQLiteConnectionsAreSetUp(t *testing.T) {
	const full, normal = "2", "1"
	for _, c := range []struct {
		name        string
		config      sqlite.Config
		synchronous string
	}{{"durable", sqlite.Config{}, full}, {"relaxed", sqlite.Config{Relaxed: true}, normal}} {
		t.Run(c.name, func(t *testing.T) {
			write, read := pools(t, c.config)
			for name, want := range map[string]string{"journal_mode": "wal", "synchronous": c.synchronous, "busy_timeout": "1000", "query_only": "0"} {
				if got := pragma(t, write, name); got != want {
					t.Errorf("write pool: %s is %s, want %s", name, got, want)
				}
			}
			if n := write.Stats().MaxOpenConnections; n != 1 {
				t.Errorf("%d writers, want 1", n)
			}
			if got := pragma(t, read, "query_only"); got != "1" {
				t.Errorf("read pool: query_only is %s", got)
			}
		})
	}
}

func TestSQLiteIsNewEnough(t *testing.T) {
	write, _ := pools(t, sqlite.Config{})
	var text string
	if err := write.QueryRow("SELECT sqlite_version()").Scan(&text); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	if number := major*1_000_000 + minor*1_000 + patch; number < 3_051_003 {
		t.Errorf("SQLite %s has a race that can corrupt the log, need 3.51.3", text)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	path, _ := migrated(t)
	_, read := pools(t, sqlite.Config{Path: path})
	const readers = 8
	conns := make([]*sql.Conn, 0, readers)
	var wg sync.WaitGroup
	for range min(readers, read.Stats().MaxOpenConnections) { // every connection of the pool, not one again and again
		conn, err := read.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		wg.Go(func() {
			for _, statement := range []string{
				"INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES ('a','b',1)", "DELETE FROM ing_task", "CREATE TABLE x (a)", "DROP TABLE ing_task",
			} {
				if _, err := conn.ExecContext(t.Context(), statement); err == nil {
					t.Errorf("a reader could %s", statement)
				}
			}
		})
	}
	wg.Wait()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

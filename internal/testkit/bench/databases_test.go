package bench

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/driver/store"
	storemysql "github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// kind is a kind of database with what its references need to know.
type kind struct {
	name          string
	rowsPerInsert int // as the store's dialect has it
	writers       int // connections the reference writes with
	fresh         func(tb testing.TB) database
}

// database is one empty database, not migrated.
type database struct {
	address string // as daemon.Config takes it
	path    string // of a SQLite file
}

func kinds() []kind {
	out := []kind{{"SQLite", 100, 1, freshSQLite}}
	if os.Getenv(mariadb.Env) != "" {
		out = append(out, kind{"MariaDB", 100, 32, freshMariaDB})
	}
	return out
}

func eachDatabase(b *testing.B, name string, run func(b *testing.B, k kind)) {
	for _, k := range kinds() {
		b.Run(name+"/"+k.name, func(b *testing.B) { run(b, k) })
	}
}

func freshSQLite(tb testing.TB) database {
	path := filepath.Join(tb.TempDir(), "bench.db")
	return database{"sqlite:" + path, path}
}

func freshMariaDB(tb testing.TB) database {
	return database{address: mariadb.DSN(tb)}
}

// open opens and migrates the database.
func (d database) open(tb testing.TB, relaxed bool) *store.Store {
	tb.Helper()
	s, err := d.openStore(tb.Context(), relaxed)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (d database) openStore(ctx context.Context, relaxed bool) (*store.Store, error) {
	if d.path != "" {
		return sqlite.Open(ctx, sqlite.Config{Path: d.path, Relaxed: relaxed}, store.Options{})
	}
	return storemysql.Open(ctx, d.address, store.Options{})
}

// bare opens the database beside the store, with the settings the store uses
// for writing.
func (d database) bare(tb testing.TB, writers int, synchronous string) *sql.DB {
	tb.Helper()
	db, err := d.openBare(synchronous)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(writers)
	db.SetMaxIdleConns(writers)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func (d database) openBare(synchronous string) (*sql.DB, error) {
	if d.path != "" {
		pragmas := []string{
			"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")", "foreign_keys(OFF)", "temp_store(MEMORY)",
			"cache_size(-65536)", "wal_autocheckpoint(16000)",
		}
		values := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
		return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: d.path, RawQuery: values.Encode()}).String())
	}
	u, err := url.Parse(d.address)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.Trim(u.Path, "/")
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.MaxAllowedPacket = 0 // ask the server, as the store does
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func exec(tb testing.TB, db *sql.DB, query string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

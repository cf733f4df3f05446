package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
)

func TestStore(t *testing.T) {
	empty, migrated := databases(t)
	storetest.Run(t, empty, migrated)
}

func TestFramedStore(t *testing.T) {
	empty, migrated := databases(t)
	storetest.RunFramed(t, empty, migrated)
}

// All topics in frames, with more random histories.
func TestProofFramedStore(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	empty, migrated := databases(t)
	storetest.RunFramed(t, empty, migrated)
}

// What is stored and was changed behind our back is never handed out as good.
func TestBelieve08DamagedRows(t *testing.T) {
	empty, migrated := databases(t)
	storetest.Damage(t, empty, migrated)
}

// databases make databases for the suites.
func databases(t *testing.T) (empty, migrated func(t *testing.T) storetest.Database) {
	template := mariadb.DSN(t) // without a server the whole suite is skipped here, once and loudly
	migrate(t, open(t, template, store.Options{}))
	empty = func(t *testing.T) storetest.Database { return at(t, mariadb.DSN(t)) }
	return empty, func(t *testing.T) storetest.Database {
		db := empty(t)
		copySchema(t, db.SQL, template)
		return db
	}
}

// copySchema makes the tables of a migrated database in a third of the time
// that its migrations take.
func copySchema(t *testing.T, into *sql.DB, template string) {
	t.Helper()
	name := template[strings.LastIndex(template, "/")+1:]
	rows, err := into.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	statements := []string{}
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, "CREATE TABLE "+table+" LIKE "+name+"."+table)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	statements = append(statements, "INSERT INTO patra_schema_version SELECT * FROM "+name+".patra_schema_version")
	for _, statement := range statements {
		if _, err := into.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func at(t *testing.T, address string) storetest.Database {
	return storetest.Database{
		Open: func(t *testing.T, o store.Options) *store.Store { return open(t, address, o) },
		SQL:  raw(t, address),
	}
}

func open(t *testing.T, address string, o store.Options) *store.Store {
	t.Helper()
	s, err := mysql.Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// raw goes round the store, with none of its settings.
func raw(t *testing.T, address string) *sql.DB {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	config := driver.NewConfig()
	config.Net, config.Addr, config.User, config.DBName = "tcp", u.Host, u.User.Username(), strings.Trim(u.Path, "/")
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func migrate(t *testing.T, s *store.Store) {
	t.Helper()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Both dialects are built from one file; the two schemas must be the same.
func TestSchemaEqualsTheEmbeddedOne(t *testing.T) {
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{}))
	path := filepath.Join(t.TempDir(), "patra.db")
	embedded, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer embedded.Close()
	migrate(t, embedded)
	file, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	server := storetest.Catalogue(t, raw(t, address), "mysql")
	want := storetest.Catalogue(t, file, "sqlite")
	if len(server) < 100 {
		t.Fatalf("the catalogue has %d lines: it was not really read", len(server))
	}
	if !reflect.DeepEqual(server, want) {
		for _, line := range server {
			if !slices.Contains(want, line) {
				t.Errorf("only the server has: %s", line)
			}
		}
		for _, line := range want {
			if !slices.Contains(server, line) {
				t.Errorf("only the file has: %s", line)
			}
		}
		if !t.Failed() {
			t.Error("the same columns and keys in another order")
		}
	}
}

// A column with another collation would compare ids and codes by other rules.
func TestEveryTextColumnComparesBytes(t *testing.T) {
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{}))
	rows, err := raw(t, address).Query(`SELECT table_name, column_name, collation_name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND collation_name IS NOT NULL AND collation_name <> 'utf8mb4_bin'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column, collation string
		if err := rows.Scan(&table, &column, &collation); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s.%s compares by %s", table, column, collation)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestAddressesThatCannotBeOpened(t *testing.T) {
	for _, address := range []string{
		"", "postgres://u@h/db", "mysql://", "mysql://host", "mysql://host/", "mysql:///db", "root@tcp(127.0.0.1:3306)/db", "mysql://ho st/db", ":",
	} {
		s, err := mysql.Open(context.Background(), address, store.Options{})
		if !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: error %v, want an invalid value", address, err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
	_, err := mysql.Open(t.Context(), "mysql://somebody:s3cret-w0rd@127.0.0.1:1/db", store.Options{})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v: must tell where it failed and must not tell the password", err)
	}
	_, err = mysql.Open(t.Context(), "mysql://somebody:s3cret-w0rd@host:port:x/db", store.Options{})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v: must not tell the password", err)
	}
}

package mysql

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// Arguments travel as bytes (see session). The columns must still treat them as
// the text they are: found by the index, compared by the column's rule, refused
// if they are not UTF-8.
func TestArgumentsAreTextToTheColumns(t *testing.T) {
	db := migrated(t)
	for _, name := range []string{"ä", "Ä", "a"} {
		if _, err := db.Exec("INSERT INTO ing_named_lease (name, epoch) VALUES (?, 1)", name); err != nil {
			t.Fatalf("insert %q: %v", name, err)
		}
	}
	if _, err := db.Exec(`INSERT INTO ing_named_lease (name, epoch) SELECT CONCAT('lease ', seq), 1 FROM seq_1_to_1000`); err != nil {
		t.Fatal(err)
	}
	t.Run("found by the index", func(t *testing.T) {
		var id, kind, table, access, possible, key, length, ref, rows, extra any
		err := db.QueryRow("EXPLAIN SELECT epoch FROM ing_named_lease WHERE name = ?", "lease 500").
			Scan(&id, &kind, &table, &access, &possible, &key, &length, &ref, &rows, &extra)
		if err != nil || valueText(access) != "const" || valueText(key) != "PRIMARY" {
			t.Errorf("access %s by key %s (%v), want const by PRIMARY", valueText(access), valueText(key), err)
		}
	})
	t.Run("compared by the column's rule", func(t *testing.T) {
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM ing_named_lease WHERE name IN (?, ?)", "ä", "A").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d names found (%v), want ä alone", n, err)
		}
		if err := db.QueryRow("SELECT CHAR_LENGTH(name) FROM ing_named_lease WHERE name = ?", "ä").Scan(&n); err != nil || n != 1 {
			t.Errorf("ä is stored as %d letters (%v)", n, err)
		}
	})
	t.Run("refused if not UTF-8", func(t *testing.T) {
		_, err := db.Exec("INSERT INTO ing_named_lease (name, epoch) VALUES (?, 1)", "half a letter \xc3")
		if !errors.Is(translateError(err), fault.ErrInvalid) {
			t.Errorf("got %v, want it refused as invalid", err)
		}
	})
}

// migrated is a plain connection, with the session of a store, to a database with
// the schema.
func migrated(t *testing.T) *sql.DB {
	t.Helper()
	address := mariadb.DSN(t)
	s, err := Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	config, err := parseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

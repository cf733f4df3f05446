package localstore

import (
	"database/sql"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
)

// GiveTables gives a new database its tables, as `patra db migrate` would: a file that does not exist
// yet (sqlite:FILE), or an empty database on a server (mysql://…). A database that has tables keeps
// them as they are.
func GiveTables(t testing.TB, database string) {
	t.Helper()
	if file, is := strings.CutPrefix(database, "sqlite:"); is {
		if _, err := os.Stat(file); err != nil {
			Place(t, file)
		}
		return
	}
	_, db, err := mysql.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	has := false
	if err := each(t, db, "SHOW TABLES", func([]any) { has = true }); err != nil {
		t.Fatal(err)
	}
	if has {
		return
	}
	if err := onServer.give(t, database, db); err != nil {
		t.Fatalf("give %s its tables: %v", database, err)
	}
}

// onServer is what the tables of a database on a server are made from. The first database of a package is
// migrated, all others get the tables that this one had then.
var onServer serverTables

type serverTables struct {
	mu       sync.Mutex
	create   []string
	versions [][]any // rows of the table of versions
}

func (s *serverTables) give(t testing.TB, database string, db *sql.DB) error {
	s.mu.Lock()
	if s.create == nil {
		defer s.mu.Unlock()
		return s.migrate(t, database, db)
	}
	s.mu.Unlock() // what is noted stays as it is
	for _, statement := range s.create {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			return err
		}
	}
	for _, row := range s.versions {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO "+kernel.VersionTable+" VALUES (?"+strings.Repeat(",?", len(row)-1)+")", row...); err != nil {
			return err
		}
	}
	return nil
}

// migrate migrates the first database and notes what it has then.
func (s *serverTables) migrate(t testing.TB, database string, db *sql.DB) error {
	migrated, err := mysql.Open(t.Context(), database, store.Options{})
	if err != nil {
		return err
	}
	defer migrated.Close()
	if _, err := migrated.Migrate(t.Context()); err != nil {
		return err
	}
	var tables, create []string
	if err := each(t, db, "SHOW TABLES", func(row []any) { tables = append(tables, text(row[0])) }); err != nil {
		return err
	}
	for _, table := range tables {
		if err := each(t, db, "SHOW CREATE TABLE "+table, func(row []any) { create = append(create, text(row[1])) }); err != nil {
			return err
		}
	}
	s.versions = nil
	err = each(t, db, "SELECT * FROM "+kernel.VersionTable, func(row []any) { s.versions = append(s.versions, row) })
	if err == nil {
		s.create = create
	}
	return err
}

// each reads the rows of an answer, whatever columns it has.
func each(t testing.TB, db *sql.DB, query string, use func(row []any)) error {
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		row, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return err
		}
		use(row)
		return nil
	})
}

func text(v any) string {
	if b, is := v.([]byte); is {
		return string(b)
	}
	s, _ := v.(string)
	return s
}

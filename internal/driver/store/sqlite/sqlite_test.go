package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
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

// databases make files for the suites.
func databases(t *testing.T) (empty, withSchema func(t *testing.T) storetest.Database) {
	path, s := migrated(t)
	if err := s.Close(); err != nil { // folds the log into the file
		t.Fatal(err)
	}
	template := read(t, path)
	return func(t *testing.T) storetest.Database { return at(t, filepath.Join(t.TempDir(), "patra.db")) },
		func(t *testing.T) storetest.Database {
			path := filepath.Join(t.TempDir(), "patra.db")
			if err := os.WriteFile(path, []byte(template), 0o600); err != nil {
				t.Fatal(err)
			}
			return at(t, path)
		}
}

func at(t *testing.T, path string) storetest.Database {
	return storetest.Database{
		Open: func(t *testing.T, o store.Options) *store.Store {
			t.Helper()
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			return s
		},
		SQL: raw(t, path),
	}
}

// raw goes round the store, with none of its settings but patience.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func migrated(t *testing.T) (string, *store.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patra.db")
	s := at(t, path).Open(t, store.Options{})
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path, s
}

func TestTypesAndLengthsAreStrict(t *testing.T) {
	path, _ := migrated(t)
	db := raw(t, path)
	for name, statement := range map[string]string{
		"text in an integer column": "INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES ('a','b','soon')",
		"blob in a text column":     "INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES (x'ff','b',1)",
		"65 characters":             "INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES (printf('%065d',1),'b',1)",
		"short binary":              "UPDATE ing_record SET id_hash = x'00' WHERE 1; INSERT INTO ing_record_body (body_id, dataset_id, id_hash, version, fetch_at, codec) VALUES (1,1,x'00',1,1,'plain')",
		"missing value":             "INSERT INTO ing_dataset (provenance_code, created_at) VALUES ('a',1)",
	} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := db.Exec("INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES (printf('%064d',1),'b',1)"); err != nil {
		t.Errorf("64 characters were refused: %v", err)
	}
	for _, table := range tables(t, db) {
		var strict bool
		if err := db.QueryRow("SELECT strict FROM pragma_table_list WHERE name = ?", table).Scan(&strict); err != nil || !strict {
			t.Errorf("table %s is not STRICT (%v)", table, err)
		}
	}
}

func tables(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil || len(names) == 0 {
		t.Fatalf("%d tables: %v", len(names), err)
	}
	return names
}

func TestFileSettings(t *testing.T) {
	path, _ := migrated(t)
	var mode string
	if err := raw(t, path).QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q (%v), want wal: it is a property of the file", mode, err)
	}
}

func TestOpenOfAFileThatMustExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "typo.db")
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, MustExist: true}, store.Options{})
	if !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("error %v, want not found", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was created (%v)", err)
	}
}

func TestOpenOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(path, []byte("Dear Sir or Madam, this is a letter and not a database at all."), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{}); err == nil {
		_ = s.Close()
		t.Error("a letter was opened as a database")
	} else if !strings.Contains(err.Error(), "--db") {
		t.Errorf("%v; want how to name the database", err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "no", "such", "folder", "x.db")}, store.Options{}); err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// A file with a damaged page says what to do next, whatever was asked of it.
func TestDamagedFileSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patra.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
	if err == nil {
		_, err = s.Migrate(t.Context())
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096; at < len(content); at++ { // all pages but the first
		content[at] = 0xa5
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
	if err == nil {
		_, err = s.Schema(t.Context())
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "`patra db check`") || strings.Count(err.Error(), "damaged") > 1 {
		t.Errorf("%v; want what to do, once", err)
	}
	if !errors.Is(err, fault.ErrBroken) || errors.Is(err, fault.ErrDamaged) || errors.Is(err, fault.ErrBusy) {
		t.Errorf("%v is of another kind", err)
	}
}

func TestPathsWithOddCharacters(t *testing.T) {
	for _, name := range []string{"a b.db", "a?b.db", "a#b.db", "a%20b.db", "ä😀.db", "a&_pragma=x.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the database is not where it was asked for: %v", err)
		}
	}
}

func TestNewerFileStaysByteForByte(t *testing.T) {
	path, s := migrated(t)
	db := raw(t, path)
	if _, err := db.Exec("INSERT INTO patra_schema_version (version, name, checksum, statements_done, started_at, finished_at) VALUES (9999,'future','x',1,1,1)"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), db.Close()); err != nil { // the last one out folds the log into the file
		t.Fatal(err)
	}
	before := read(t, path)
	older, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, MustExist: true}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := older.Migrate(t.Context()); !errors.Is(err, fault.ErrNewerSchema) {
		t.Errorf("migrate: %v, want a refusal", err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	if after := read(t, path); before != after {
		t.Error("the file was changed")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

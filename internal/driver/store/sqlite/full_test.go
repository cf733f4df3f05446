package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A file that may not grow is one on a full disk.
func TestAFullDiskIsFull(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, query := range []string{"PRAGMA max_page_count = 4", "CREATE TABLE t (x TEXT)"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES (?)", strings.Repeat("x", 100_000))
	if err = translateError(err); !errors.Is(err, fault.ErrFull) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v", err)
	}
}

package localstore

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// Place puts an empty database with its tables into a file that does not exist yet. It is a copy of
// one that was migrated once for all tests of a package: migrations take half a second each time
// on a slow machine, more than most tests do.
func Place(t testing.TB, path string) {
	t.Helper()
	content, err := template()
	if err != nil {
		t.Fatalf("migrate a database to copy: %v", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = file.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// template is the content of a migrated database. It outlives the test that asks first, so it
// does not use that test's context.
var template = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "patra-template")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "patra.db")
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Path: path}, store.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := s.Migrate(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	if err := s.Close(); err != nil { // folds the log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

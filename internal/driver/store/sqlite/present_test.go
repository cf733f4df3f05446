package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// A database may be named by a link. SQLite keeps its log beside the file the link
// leads to, not beside the link: that is no log that was removed.
func TestBelieve08AFileBehindALinkIsThere(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link.db")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "patra.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "patra.db"), link); err != nil {
		need.Missing(t, "no symbolic link can be made here: %v", err)
	}
	for _, round := range []string{"a new file", "the same again"} {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: link}, store.Options{})
		if err != nil {
			t.Fatal(round, err)
		}
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Error(round, err)
		}
		if err := s.EndCheck(t.Context(), 0); err != nil {
			t.Error(round, err)
		}
		if err := s.Present(); err != nil {
			t.Error(round, err)
		}
		if err := s.Close(); err != nil {
			t.Error(round, err)
		}
	}
}

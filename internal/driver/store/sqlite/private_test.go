package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
)

// A database holds records with people in them: who makes it says who reads it.
func TestTrust04ANewDatabaseIsForItsOwnerAlone(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink("behind.db", link); err != nil {
		t.Fatal(err)
	}
	for path, file := range map[string]string{filepath.Join(dir, "patra.db"): "patra.db", link: "behind.db"} {
		s, err := Open(t.Context(), Config{Path: path}, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(filepath.Join(dir, file+end)); err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the rights %s", file+end, info.Mode())
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Who gave a group the right to read keeps it.
	path := filepath.Join(dir, "patra.db")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Path: path}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
}

// A new database has content as soon as it has its name, so that a file without content is
// told apart; nothing else is left in the folder.
func TestANewDatabaseIsNeverWithoutContent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "patra.db")
	for range 2 { // the second finds what the first made
		createPrivately(t.Context(), path)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%v %v", info, err)
		}
	}
	if own, err := keepsLog(t.Context(), path); err != nil || !own {
		t.Errorf("it has no log of its own: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v, want the database alone", left, err)
	}
}

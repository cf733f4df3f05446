package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// killed gives what a killed process leaves: the file, and a log that is not yet in it.
func killed(t *testing.T) (file, log string) {
	t.Helper()
	path, s := migrated(t)
	log = read(t, path+"-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path), log
}

// copied gives a copy of a database with a schema.
func copied(t *testing.T) string {
	t.Helper()
	path, _ := migrated(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := sqlite.BackUp(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	return read(t, to)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A copy in the place of a database whose process was killed is not opened beside the old log:
// SQLite would write the log into it. Without the log it is a database.
func TestACopyIsNotOpenedWithTheLogOfAnother(t *testing.T) {
	_, log := killed(t)
	for name, content := range map[string]string{"a copy": copied(t), "an empty file": ""} {
		for _, mustExist := range []bool{false, true} {
			dir := t.TempDir()
			path, link := filepath.Join(dir, "patra.db"), filepath.Join(dir, "link")
			write(t, path, content)
			write(t, path+"-wal", log)
			if err := os.Symlink("patra.db", link); err != nil {
				need.Missing(t, "no symbolic link can be made here: %v", err)
			}
			for _, named := range []string{path, link} {
				s, err := sqlite.Open(t.Context(), sqlite.Config{Path: named, MustExist: mustExist}, store.Options{})
				if err == nil {
					t.Fatalf("%s was opened beside the log of another database (%v)", name, s.Close())
				}
				for _, want := range []string{"is not the log of this file", "rm -f '" + path + "-wal' '" + path + "-shm'"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want %q", name, err, want)
					}
				}
			}
			if read(t, path) != content || read(t, path+"-wal") != log {
				t.Errorf("%s, or the log, was changed", name)
			}
			if err := os.Remove(path + "-wal"); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Migrate(t.Context())
			if err = errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a killed process left is opened with its log, and loses nothing.
func TestAKilledDatabaseIsOpenedWithItsLog(t *testing.T) {
	file, log := killed(t)
	path := filepath.Join(t.TempDir(), "patra.db")
	write(t, path, file)
	write(t, path+"-wal", log)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, MustExist: true}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if status, err := s.Schema(t.Context()); err != nil || len(status.Pending) > 0 {
		t.Errorf("%d migrations are missing: %v", len(status.Pending), err)
	}
}

// A second store of the same file looks whose log it is, and leaves the locks of the first.
func TestLookingForTheLogsOwnerKeepsLocks(t *testing.T) {
	path, _ := migrated(t)
	before := locks(t, path)
	if before == 0 {
		need.Missing(t, "the locks of a file cannot be seen here")
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after := locks(t, path); after < before {
		t.Errorf("%d locks on the file, %d before a second store opened it", after, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := locks(t, path); after < before {
		t.Errorf("%d locks on the file, %d before a second store opened and closed it", after, before)
	}
}

// locks counts the locks on a file, as the system lists them.
func locks(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	return strings.Count(string(list), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// Where only the log of a database is left, no other one is made in its place.
func TestADatabaseOfWhichTheLogIsLeftIsNotMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patra.db")
	log := path + "-wal"
	if err := os.WriteFile(log, []byte("frames"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{}); err == nil || !strings.Contains(err.Error(), "rm -f '"+log+"'") {
		t.Errorf("%v; want what to do about the log", err)
		if err == nil {
			_ = s.Close()
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a new database was made")
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

package daemon

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestOpenMakesTheSchemaOnlyOfAnEmptyFile(t *testing.T) {
	dir := t.TempDir()
	fresh, foreign := filepath.Join(dir, "fresh.db"), filepath.Join(dir, "foreign.db")
	app, err := Open(t.Context(), Config{Database: "sqlite:" + fresh})
	if err != nil {
		t.Fatal(err)
	}
	app.Close()
	other, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE photos (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if _, err := Open(t.Context(), Config{Database: "sqlite:" + foreign}); !errors.Is(err, ErrBehind) {
		t.Errorf("a database of another program: %v", err)
	}
	missing := filepath.Join(dir, "missing.db")
	if _, err := Open(t.Context(), Config{Database: "sqlite:" + missing, MustExist: true}); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Error("looking created the file")
	}
	for _, bad := range []string{"sqlite:", "postgres://x/y", "mysql://nodatabase"} {
		if _, err := Open(t.Context(), Config{Database: bad}); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// On a store that takes one executor, the oldest live process claims; the next
// one takes over when it is gone.
func TestOnlyTheOldestProcessClaims(t *testing.T) {
	file := "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	open := func(start time.Time) *App {
		app, err := Open(t.Context(), Config{Database: file})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { app.Close() })
		app.identity = identity(start)
		return app
	}
	now := time.Now()
	older, younger := newLife(open(now.Add(-time.Hour))), newLife(open(now))
	for _, l := range []*life{older, younger} {
		if err := l.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	claims := func(l *life) bool {
		may, err := l.mayClaim(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return may
	}
	if !claims(older) || claims(younger) {
		t.Error("the younger process claims beside the older one")
	}
	if err := older.app.Store.Farewell(t.Context(), older.app.identity.ID); err != nil {
		t.Fatal(err)
	}
	if !claims(younger) {
		t.Error("the younger process does not take over")
	}
}

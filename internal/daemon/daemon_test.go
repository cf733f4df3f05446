package daemon

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A file without content may have held data: it is refused and left alone, until somebody says
// that a new database is wanted.
func TestOpenRefusesAFileWithoutContent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(sign bool, c Config) {
		t.Helper()
		c.Database = "sqlite:" + file
		app, err := Open(t.Context(), c)
		if err == nil {
			app.Close()
		}
		if !errors.Is(err, ErrEmptyFile) || !strings.Contains(err.Error(), "patra db migrate") || strings.Contains(err.Error(), file+".raw") != sign {
			t.Errorf("%+v: %v", c, err)
		}
		if found, err := os.Stat(file); err != nil || found.Size() > 0 {
			t.Fatalf("the file was changed: %v %v", found, err)
		}
	}
	for _, c := range []Config{{}, {MustExist: true}, {MustExist: true, SkipSchema: true}} { // harvest, status, db migrate --dry-run
		refused(false, c)
	}
	if err := os.Mkdir(file+".raw", 0o700); err != nil {
		t.Fatal(err)
	}
	refused(true, Config{})
	refused(true, Config{MustExist: true})
	app, err := Open(t.Context(), Config{Database: "sqlite:" + file, SkipSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Migrate(t.Context(), false)
	if err = errors.Join(err, app.Close()); err != nil {
		t.Fatal(err)
	}
	app, err = Open(t.Context(), Config{Database: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	app.Close()
}

// On a store that takes one executor, the process that joined first claims, and
// keeps the right to execute also from a process that is older; the next one takes over when it
// is gone.
func TestOneProcessClaimsAtATime(t *testing.T) {
	file := "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	open := func(start time.Time) *executorRight {
		app, err := Open(t.Context(), Config{Database: file})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { app.Close() })
		app.identity = processIdentity(start)
		return &executorRight{app: app}
	}
	now := time.Now()
	older, younger := open(now.Add(-time.Hour)), open(now)
	claims := func(of *executorRight) bool {
		may, err := of.takeRight(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return may
	}
	if !claims(younger) || claims(older) || !claims(younger) {
		t.Error("the right to execute does not stay with who joined first")
	}
	younger.giveBack()
	if !claims(older) {
		t.Error("nobody takes over")
	}
}

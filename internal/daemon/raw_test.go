package daemon

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

func TestRawDefaults(t *testing.T) {
	for database, want := range map[string]string{"": "patra.db.raw", "sqlite:/data/my.db": "/data/my.db.raw", "mysql://u:p@h/d": ""} {
		c := Config{Database: database}.WithDefaults().Raw
		if c.Dir != want || c.Off || c.KeepFor != 30*24*time.Hour || c.MaxBytes != 10_000_000_000 {
			t.Errorf("%q: %+v", database, c)
		}
	}
	said := RawConfig{Off: true, Dir: "/raw", KeepFor: time.Hour, MaxBytes: 7}
	if got := (Config{Raw: said}).WithDefaults().Raw; got != said {
		t.Errorf("%+v", got)
	}
}

// A server's database has no folder of its own: that is said once, unless
// somebody named one or wants none.
func TestRawNotice(t *testing.T) {
	for name, c := range map[string]struct {
		raw     RawConfig
		noticed bool
	}{"nothing said": {RawConfig{}, true}, "switched off": {RawConfig{Off: true}, false}, "a folder": {RawConfig{Dir: t.TempDir()}, false}} {
		config := Config{Database: "mysql://u:p@h/d", Raw: c.raw}.WithDefaults()
		bodies, err := openRaw(config)
		if err != nil {
			t.Fatal(err)
		}
		a := openRawApp(t, RawConfig{Off: true})
		a.config, a.raw = config, bodies
		a.Bodies = &Bodies{a.answers(), config.Raw}
		if text := a.Bodies.Notice(); (text != "") != c.noticed || c.noticed && !strings.Contains(text, "PATRA_RAW_DIR") {
			t.Errorf("%s: %q", name, text)
		}
		if kept := c.raw.Dir != ""; (a.keptBodies() != nil) != kept {
			t.Errorf("%s: bodies are kept: %v", name, !kept)
		}
		if _, err := a.Bodies.Read(t.Context(), strings.Repeat("0", 64)); !IsMissing(err) || bodies == nil && !strings.Contains(err.Error(), "PATRA_RAW_DIR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func openRawApp(t *testing.T, raw RawConfig) *App {
	t.Helper()
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	return app
}

// A folder that cannot be written to is found before a page is asked for.
func TestWorkNeedsItsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	work := func(raw RawConfig) error {
		done := func(context.Context) (bool, error) { return true, nil }
		return openRawApp(t, raw).workUntil(t.Context(), ingest.Partition{}, 0, nil, done)
	}
	if err := work(RawConfig{Dir: filepath.Join(file, "raw")}); err == nil || !strings.Contains(err.Error(), "keep raw body") {
		t.Error(err)
	}
	if err := work(RawConfig{Dir: filepath.Join(file, "raw"), Off: true}); err != nil {
		t.Errorf("switched off, and all the same: %v", err)
	}
	if err := work(RawConfig{}); err != nil {
		t.Error(err)
	}
}

// A harvest that ends sweeps what is too old, once an hour.
func TestTidyRaw(t *testing.T) {
	app := openRawApp(t, RawConfig{KeepFor: 24 * time.Hour})
	put := func(body string, age time.Duration) string {
		ref, _, err := app.keptBodies().Put(t.Context(), []byte(body), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(app.Bodies.Dir(), ref[:2], ref+".zst"), at, at); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	kept := func(ref string) bool {
		_, _, err := app.Bodies.Measure(t.Context(), ref)
		if err != nil && !IsMissing(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	old, young := put("old", 25*time.Hour), put("young", 23*time.Hour)
	app.tidyFolders(t.Context())
	if kept(old) || !kept(young) {
		t.Errorf("old kept: %v, young kept: %v", kept(old), kept(young))
	}
	old = put("old", 25*time.Hour)
	app.tidyFolders(t.Context())
	if !kept(old) {
		t.Error("it swept again within the hour")
	}
}

// What is kept in the database goes by its age too, also where no folder of whole bodies is known, and once an hour.
func TestOldLeanAnswersAreRemoved(t *testing.T) {
	app := openRawApp(t, RawConfig{Off: true, KeepFor: 24 * time.Hour})
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(app.config.Database, "sqlite:")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	add := func(batch int64, age time.Duration) {
		if _, err := db.Exec("INSERT INTO ing_lean_answer (batch_id, answer_hash, byte_count, item_count, rest, created_at) VALUES (?, zeroblob(32), 1, 1, zeroblob(1), ?)", batch, time.Now().Add(-age).UnixMicro()); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM ing_lean_answer").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	add(1, -time.Hour) // the clock was wrong then
	add(2, 25*time.Hour)
	add(3, 23*time.Hour)
	app.tidyFolders(t.Context())
	if n := left(); n != 2 {
		t.Errorf("%d answers are left", n)
	}
	add(4, 25*time.Hour)
	app.tidyFolders(t.Context())
	if n := left(); n != 3 {
		t.Errorf("%d answers are left: it was looked for again within the hour", n)
	}
}

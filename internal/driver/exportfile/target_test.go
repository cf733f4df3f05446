package exportfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// A name that ends like a file was meant as one: it does not become a folder.
func TestNameOfAnotherFormatIsNoFolder(t *testing.T) {
	dir := t.TempDir()
	for name, hint := range map[string]string{
		"works.txt": ".jsonl", "works.db": "--format sqlite", "works.sqlite": "--format sqlite", "works.CSV": "--format csv", "works.parquet": ".jsonl",
		"works.jsonl.gz": "--compress gzip", "works.jsonl.zst": "--compress zstd", "works.ndjson": ".jsonl",
	} {
		_, err := TargetOf(filepath.Join(dir, name), export.JSONL, export.Plain)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), hint) || !strings.Contains(err.Error(), "looks like a file") {
			t.Errorf("%s: %v, want %q", name, err, hint)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "there.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"works", "works.2026", "v1.0", "there.db", "works.db/", ".works"} {
		path := dir + string(filepath.Separator) + folder
		if target, err := TargetOf(path, export.JSONL, export.Plain); err != nil || target != (Target{Dir: path}) {
			t.Errorf("%s: %+v, %v", folder, target, err)
		}
	}
}

// Where a file is in the way of a folder, it is said that it is one.
func TestFileInTheWayOfAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "/"} {
		if _, err := TargetOf(name, export.JSONL, export.Plain); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "a file is at "+path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, force := range []bool{false, true} {
		target, err := TargetOf(filepath.Join(path, "below", "works"), export.JSONL, export.Plain)
		if err == nil {
			_, err = Create(target, export.Plain, force)
		}
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "a file is at "+path) {
			t.Errorf("below it: %v", err)
		}
	}
}

// A new table is not called like a file of lines; one that is there keeps its name.
func TestTableIsNotCalledLikeAFileOfLines(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"works.csv", "works.jsonl", "works.jsonl.gz", "works.TXT", "works.parquet"} {
		if err := CheckTableName(filepath.Join(dir, name)); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "works.db") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"works.db", "works.sqlite", "works.SQLite3", "works", "works.duck"} {
		if err := CheckTableName(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := filepath.Join(dir, "old.csv")
	mustFill(t, tableOrder(0), old, false, 1, rec("a", `{}`))
	if err := CheckTableName(old); err != nil {
		t.Error(err)
	}
}

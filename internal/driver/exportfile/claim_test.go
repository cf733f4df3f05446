package exportfile

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

const victimTarget = "PATRA_TEST_EXPORT_TARGET"

// TestVictim is the process that the tests below kill in the middle of an export.
func TestVictim(t *testing.T) {
	path := os.Getenv(victimTarget)
	if path == "" {
		t.Skip("it is started by other tests")
	}
	target, err := TargetOf(path, export.JSONL, export.Plain)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Create(target, export.Plain, true)
	if err != nil {
		t.Fatal(err)
	}
	name := target.Single
	if name == "" {
		name = day(1)
	}
	f.put(t, name, "{}\n")
	_, _ = io.WriteString(os.Stdout, "exporting\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// exporting starts a process that is in the middle of an export, and gives the way
// to kill it.
func exporting(t *testing.T, path string) (kill func()) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
	c.Env = append(os.Environ(), victimTarget+"="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	said := make([]byte, len("exporting"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "exporting" {
		t.Fatalf("%q, %v", said, err)
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

func TestWhatAKilledExportLeftIsRemovedByTheNext(t *testing.T) {
	for _, base := range []string{"works.jsonl", "folder"} {
		dir := t.TempDir()
		path := filepath.Join(dir, base)
		if base == "folder" {
			dir = path
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		kill := exporting(t, path)
		target, err := TargetOf(path, export.JSONL, export.Plain)
		if err != nil {
			t.Fatal(err)
		}
		before := names(t, dir)
		for _, force := range []bool{false, true} {
			if _, err := Create(target, export.Plain, force); !errors.Is(err, fault.ErrConflict) || !strings.Contains(err.Error(), "another export writes") {
				t.Errorf("%s, force %t: beside a living export: %v", base, force, err)
			}
		}
		if after := names(t, dir); strings.Join(before, " ") != strings.Join(after, " ") {
			t.Errorf("%s: what a living export writes was touched: %v, then %v", base, before, after)
		}
		kill()
		if left := names(t, dir); len(left) != 2 {
			t.Fatalf("%s: %v: the test killed nothing", base, left)
		}
		f, err := Create(target, export.Plain, false)
		if err != nil {
			t.Fatalf("%s: after the killed one: %v", base, err)
		}
		if swept := f.Swept(); len(swept) != 1 || !strings.HasSuffix(swept[0], partial) {
			t.Errorf("%s: swept %v", base, swept)
		}
		name := target.Single
		if name == "" {
			name = day(2)
		}
		f.put(t, name, "{}\n")
		f.end(t, export.JSONL, map[string]int64{name: 1})
		if problems := verified(t, path); len(problems) != 0 {
			t.Errorf("%s: %v", base, problems)
		}
		if left := names(t, dir); len(left) != 2 {
			t.Errorf("%s: %v, want the file and its manifest", base, left)
		}
	}
}

// Exports to other files in the same folder have nothing to do with each other, and
// what only looks like a leftover stays.
func TestOnlyItsOwnLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{
		".records-mine.csv.ABCDEFGH.partial", ".works.csv.ABCDEFGH.partial", ".works.jsonl.partial", "works.jsonl.ABCDEFGH.partial",
		".works.jsonl.abcdefgh.partial", ".works.jsonl.ABCDEFGH", "notes.partial",
	}
	own := []string{".works.jsonl.ABCDEFGH.partial", ".works.jsonl.manifest.json.ABCDEFGH.partial"}
	for _, name := range append(foreign, own...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other, err := Create(Target{Dir: dir, Single: "works.csv"}, export.Plain, true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Create(Target{Dir: dir, Single: "works.jsonl"}, export.Plain, false)
	if err != nil {
		t.Fatalf("beside an export to another file: %v", err)
	}
	if got := strings.Join(f.Swept(), " "); got != strings.Join(own, " ") {
		t.Errorf("swept %s", got)
	}
	if err := errors.Join(f.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil && name != ".works.csv.ABCDEFGH.partial" {
			t.Errorf("%s: %v", name, err)
		}
	}
	folder, err := Create(Target{Dir: dir}, export.Plain, true)
	if err != nil {
		t.Fatal(err)
	}
	if swept := folder.Swept(); len(swept) != 0 {
		t.Errorf("an export into the folder took %v", swept)
	}
	if _, err := Create(Target{Dir: dir, Single: "records.csv"}, export.Plain, true); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a single file called like one of the folder's: %v", err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
}

// A second export cannot begin between the files of the first and its manifest.
func TestTheTargetIsHeldUntilTheManifestIsWritten(t *testing.T) {
	target := Target{Dir: t.TempDir(), Single: "works.jsonl"}
	f, err := Create(target, export.Plain, false)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, target.Single, "{}\n")
	if _, err := f.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(target, export.Plain, true); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("between file and manifest: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = Create(target, export.Plain, true)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

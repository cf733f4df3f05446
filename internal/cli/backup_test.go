package cli

import (
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A copy holds what the database held, is for its owner alone, and is a database itself.
func TestBackup(t *testing.T) {
	d := revised(t)
	export := []string{"data", "export", "lib", "--out", "-", "--with-payload"}
	want := d.expect(term.ExitOK, export...).out
	if err := os.WriteFile("copy.db.part", []byte("left by one that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "db", "backup", "copy.db").out, "written to", "copy.db", "records", "60")
	if got := d.expect(term.ExitOK, append(export, "--db", "sqlite:copy.db")...).out; got != want {
		t.Errorf("the copy has other records: %d bytes, want %d", len(got), len(want))
	}
	d.expect(term.ExitOK, "db", "check", "--db", "sqlite:copy.db")
	if found, err := os.Stat("copy.db"); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", found.Mode(), err)
	}
	for _, name := range []string{"copy.db.part", "copy.db.part-wal", "copy.db.part-shm"} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	d.holds(d.expect(term.ExitUsage, "db", "backup", "copy.db").err, "copy.db is there already", "--force")
	d.expect(term.ExitOK, "db", "backup", "copy.db", "--force")
	d.holds(d.expect(term.ExitUsage, "db", "backup", d.file, "--force").err, "is the database itself")
	d.holds(d.expect(term.ExitUsage, "db", "backup", d.dir).err, "is a folder")
}

// Content that is damaged is found in the copy, which is not kept; an older one stays.
func TestBackupOfDamagedContent(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitOK, "db", "backup", "copy.db")
	before, err := os.ReadFile("copy.db")
	if err != nil {
		t.Fatal(err)
	}
	d.many("UPDATE ing_record SET version = 9 WHERE provider_id = 'r004'")
	r := d.expect(term.ExitFindings, "db", "backup", "copy.db", "--force")
	d.holds(r.err, "the database is damaged", "was not kept", "patra db check")
	if after, err := os.ReadFile("copy.db"); err != nil || string(after) != string(before) {
		t.Errorf("the older copy is another: %v", err)
	}
	if _, err := os.Stat("copy.db.part"); !os.IsNotExist(err) {
		t.Errorf("the damaged copy is left: %v", err)
	}
}

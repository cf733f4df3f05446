package cli

import (
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// A copy holds what the database held, is for its owner alone, and is a database itself.
func TestBackup(t *testing.T) {
	d := revised(t)
	export := []string{"data", "export", "lib", "--out", "-", "--with-payload"}
	want := d.expect(term.ExitOK, export...).out
	putFile(t, "copy.db.part", "left by one that was killed")
	putFile(t, "copy.db.part-journal", "left by one that was killed")
	d.holds(d.expect(term.ExitOK, "db", "backup", "copy.db").out, "written to", "copy.db", "records", "60")
	if got := d.expectAt("sqlite:copy.db", term.ExitOK, export...).out; got != want {
		t.Errorf("the copy has other records: %d bytes, want %d", len(got), len(want))
	}
	d.expectAt("sqlite:copy.db", term.ExitOK, "db", "check")
	if found, err := os.Stat("copy.db"); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", found.Mode(), err)
	}
	for _, name := range []string{"copy.db.part", "copy.db.part-wal", "copy.db.part-shm", "copy.db.part-journal"} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	d.holds(d.expect(term.ExitUsage, "db", "backup", "copy.db").err, "copy.db is there already", "--force")
	d.expect(term.ExitOK, "db", "backup", "copy.db", "--force")
	d.holds(d.expect(term.ExitUsage, "db", "backup", d.file, "--force").err, "is the database itself")
	d.holds(d.expect(term.ExitUsage, "db", "backup", d.dir).err, "is a folder")
}

// A copy never lies beside a log that is not its own, and never takes a file of the database.
func TestBackupBesideALog(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitOK, "db", "backup", "copy.db")
	before := fileOf(t, "copy.db")
	for _, left := range []string{"copy.db-wal", "copy.db-shm", "copy.db-journal"} {
		putFile(t, left, "of another database")
		d.holds(d.expect(term.ExitUsage, "db", "backup", "copy.db", "--force").err, left, "rm -f 'copy.db-wal' 'copy.db-shm' 'copy.db-journal'")
		if fileOf(t, "copy.db") != before || fileOf(t, left) != "of another database" {
			t.Errorf("%s: the older copy, or what lies beside it, is another", left)
		}
		if err := os.Remove(left); err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, "new.db-wal", "of another database")
	d.holds(d.expect(term.ExitUsage, "db", "backup", "new.db").err, "new.db-wal", "rm -f")
}

// The files that SQLite keeps beside the database are parts of it, there or not, by whatever name.
func TestBackupOntoAFileOfTheDatabase(t *testing.T) {
	d := revised(t)
	open, err := sqlite.OpenPlain(d.file)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := open.Ping(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.file, "link.db"); err != nil {
		need.Missing(t, "no symbolic link can be made here: %v", err)
	}
	if err := os.Symlink(d.file+"-wal", "log"); err != nil {
		t.Fatal(err)
	}
	names := []string{d.file + "-wal", d.file + "-shm", d.file + "-journal", "log", "link.db"}
	for _, name := range names {
		for _, database := range []string{d.file, "link.db"} {
			d.holds(d.expectAt("sqlite:"+database, term.ExitUsage, "db", "backup", name, "--force").err, "the database itself")
		}
	}
	d.expect(term.ExitOK, "db", "backup", "other.part")
	d.holds(d.expectAt("sqlite:other.part", term.ExitUsage, "db", "backup", "other").err, "other.part", "a part of the database itself")
	d.expectAt("sqlite:other.part", term.ExitOK, "db", "check")
}

func putFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fileOf(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
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

package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// Every name of a database has the same folders, whether the file is there yet or not; what
// an older program kept beside a link is not lost.
func TestFoldersBesideAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll("d/deep", 0o700))
	must(os.WriteFile("d/p.db", nil, 0o600))
	whole, err := filepath.Abs("d/p.db")
	must(err)
	for name, target := range map[string]string{
		"lnk.db": "d/p.db", "whole.db": whole, "twice.db": "lnk.db", "d/inside.db": "p.db", "d/deep/up.db": "../p.db", "new.db": "d/new.db", "circle.db": "circle.db", "folder": "d/deep",
	} {
		must(os.Symlink(target, name))
	}
	for database, want := range map[string]string{
		"sqlite:d/p.db": "d/p.db.raw", "sqlite:lnk.db": "d/p.db.raw", "sqlite:whole.db": whole + ".raw", "sqlite:twice.db": "d/p.db.raw", "sqlite:d/inside.db": "d/p.db.raw",
		"sqlite:folder/up.db": "folder/../p.db.raw", "sqlite:new.db": "d/new.db.raw", "sqlite:none.db": "none.db.raw", "sqlite:circle.db": "circle.db.raw", "sqlite:": "", "mysql://u@h/d": "",
	} {
		if got := besideFile(database, ".raw"); got != want {
			t.Errorf("%s: %s, want %s", database, got, want)
		}
	}

	must(os.Mkdir("lnk.db.raw", 0o700))
	c := Config{Database: "sqlite:lnk.db"}.WithDefaults()
	if c.Raw.Dir != "lnk.db.raw" || c.Archive.Dir != "d/p.db.archive" || c.FilesDir != "d/p.db.files" {
		t.Errorf("with a folder beside the link: %s, %s, %s", c.Raw.Dir, c.Archive.Dir, c.FilesDir)
	}
	must(os.Mkdir("d/p.db.raw", 0o700))
	if got := besideFile("sqlite:lnk.db", ".raw"); got != "d/p.db.raw" {
		t.Errorf("with both: %s", got)
	}
}

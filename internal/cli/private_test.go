package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// What is exported holds records of people: only its owner reads it, whatever the
// process leaves to others by default.
func TestTrust08ExportsAreTheOwners(t *testing.T) {
	d := harvested(t)
	for _, args := range [][]string{
		{"data", "export", "crossref", "--out", filepath.Join(d.dir, "out", "folder")},
		{"data", "export", "crossref", "--format", "csv", "--partition-by", "day", "--compress", "gzip", "--out", filepath.Join(d.dir, "out", "days")},
		{"data", "export", "crossref", "--out", filepath.Join(d.dir, "out", "one.jsonl")},
		{"quarantine", "export", "crossref", "--out", filepath.Join(d.dir, "out", "rejects.jsonl")},
		{"batch", "export", "1", "--reason", "to look at it", "--out", filepath.Join(d.dir, "out", "box.zip")},
	} {
		d.expect(term.ExitOK, args...)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(d.dir, "out"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	})
	if err != nil || files < 7 {
		t.Errorf("%d files, %v", files, err)
	}
}

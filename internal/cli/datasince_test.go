package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// An export that --since names is not replaced by what changed since, however it is
// spelled: the records that did not change would be in no file.
func TestDataExportKeepsTheExportItGoesOnFrom(t *testing.T) {
	d := revised(t)
	if err := os.Symlink("whole", "link"); err != nil {
		t.Fatal(err)
	}
	full, err := filepath.Abs("whole")
	if err != nil {
		t.Fatal(err)
	}
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "all.csv", "--format", "csv")
	csv := []string{"--format", "csv"}
	for _, c := range []struct {
		out, since, instead string
		flags               []string
	}{
		{"whole", "whole", "--out whole-2 --since whole", nil},
		{"whole/", "./whole", "--out whole-2 --since ./whole", nil},
		{"whole", full, "--out whole-2", nil},
		{"link", "whole", "--out link-2", nil},
		{"whole", "link/manifest.json", "--out whole-2", nil},
		{"whole", "whole", "--out whole-2", csv},
		{"whole/records.jsonl", "whole", "--out whole/records-2.jsonl", nil},
		{"all.csv", "all.csv", "--out all-2.csv --since all.csv", csv},
		{"all.csv", "all.csv.manifest.json", "--out all-2.csv", csv},
	} {
		for _, more := range [][]string{nil, {"--force"}, {"--dry-run"}} {
			args := append(append([]string{"data", "export", "lib", "--out", c.out, "--since", c.since}, c.flags...), more...)
			r := d.expect(term.ExitConflict, args...)
			d.holds(r.err, "--since names the export that is at --out", c.instead, "--format sqlite")
		}
	}
	d.holds(d.expect(term.ExitOK, "data", "verify", "whole").out, "records     60", "problems    -")
	d.holds(d.expect(term.ExitOK, "data", "verify", "all.csv").out, "records     59", "problems    -")
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "whole-2", "--since", "whole")
	d.holds(d.expect(term.ExitConflict, "data", "export", "lib", "--out", "whole", "--since", "whole", "--force").err, "--out whole-3 --since whole")
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "whole-2", "--since", "whole", "--force") // another one may be replaced
	if err := os.Mkdir("beside", 0o700); err != nil {
		t.Fatal(err)
	}
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "beside/all.csv", "--format", "csv", "--since", "all.csv")
}

// What changed since an export looks like one that is whole: the check says what it is.
func TestDataVerifySaysThatItIsWhatChanged(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "delta", "--since", "whole")
	if whole := d.expect(term.ExitOK, "data", "verify", "whole"); strings.Contains(whole.out, "changes since") {
		t.Error(whole.out)
	}
	d.holds(d.expect(term.ExitOK, "data", "verify", "delta").out, "records        2", "changes since  batch 1", ", 20", "problems       -")
	var m daemon.DataExported
	d.decode(d.expect(term.ExitOK, "data", "verify", "delta", "-o", "json").out, &m)
	first, err := daemon.ExportCursor("whole")
	if err != nil || m.Since != first.String() {
		t.Errorf("since %q, %v", m.Since, err)
	}
	if whole := d.expect(term.ExitOK, "data", "verify", "whole", "-o", "json"); strings.Contains(whole.out, `"since"`) {
		t.Error(whole.out)
	}
}

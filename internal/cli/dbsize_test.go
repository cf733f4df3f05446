package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// The size is told, and what was measured is used by status and by forecasts.
func TestDBSize(t *testing.T) {
	d := revised(t)
	plan := []string{"plan", "lib", "--op", "BACKFILL", "--from", "2025-02-01", "--to", "2025-03-06", "--dry-run", "--count"}
	d.holds(d.expect(term.ExitOK, plan...).out, "disk      not known", "patra db size")
	if out := d.run("status").out; strings.Contains(out, "database:") {
		t.Errorf("nothing was measured:\n%s", out)
	}
	var f view.Footprint
	d.decode(d.expect(term.ExitOK, "db", "size", "-o", "json").out, &f)
	if f.Records != 60 || len(f.Sources) != 1 || f.Sources[0].Versions != 62 || f.Sources[0].PerRecord == 0 || len(f.Tables) < 20 || f.JSONBytes == 0 || f.Estimated {
		t.Errorf("%+v", f)
	}
	d.holds(d.expect(term.ExitOK, "db", "size").out, "database to JSON", "lib/letters", "ing_record_body")
	d.holds(d.run("status").out, "database: ", " of the JSON it came from")
	var report struct{ Size view.SizeNoted }
	if err := json.Unmarshal([]byte(d.run("status", "-o", "json").out), &report); err != nil || report.Size.Bytes == 0 || report.Size.At.IsZero() {
		t.Errorf("%+v, %v", report, err)
	}
	d.holds(d.expect(term.ExitOK, plan...).out, "disk      ", "if all items are new", "a record by the last `patra db size`")
}

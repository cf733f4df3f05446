package cli

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// revised is a library in which one letter was changed and one is gone since its
// first export, which is in the folder "whole".
func revised(t *testing.T) *desk {
	t.Helper()
	d, up, _ := library(t)
	t.Chdir(d.dir)
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "whole")
	up.change(func(all []letter) []letter {
		all[4].Title = `=HYPERLINK("http://x"),` + strings.Repeat(" and so on", 2000)
		return slices.DeleteFunc(all, func(l letter) bool { return l.ID == "r003" })
	})
	d.exec("UPDATE ing_record SET missing_since = ? WHERE provider_id = ?", march(7).UnixMicro(), "r003") // it was missed on another day too
	d.expect(term.ExitOK, "update", "lib", "--ids", d.write("ids.txt", "r003\nr004\n"), "--reason", "notice")
	return d
}

// exportedLine is a line of an export.
type exportedLine struct {
	ID      string
	Version int
	State   string
	Gone    bool
	Batch   int64 `json:"batchId"`
	Fields  map[string]any
	Payload json.RawMessage
}

func (d *desk) exportedLines(name string) (out []exportedLine) {
	d.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		d.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l exportedLine
		d.decode(line, &l)
		out = append(out, l)
	}
	return out
}

func TestDataExportWholeAndSince(t *testing.T) {
	d := revised(t)
	whole := d.exportedLines("whole/records.jsonl")
	if len(whole) != 60 || whole[0].Version != 1 || whole[0].Batch == 0 || whole[0].Fields["title"] == "" || whole[0].Payload != nil {
		t.Fatalf("%d records, %+v", len(whole), whole[0])
	}
	r := d.expect(term.ExitOK, "data", "export", "lib/letters", "--out", "changed", "--since", "whole", "--with-payload", "-o", "json")
	var m daemon.DataExported
	d.decode(r.out, &m)
	if m.Records != 2 || m.Gone != 1 || m.Since == "" || m.States != export.All || m.Program != term.Version {
		t.Errorf("%+v", m)
	}
	changed := d.exportedLines("changed/records.jsonl")
	slices.SortFunc(changed, func(a, b exportedLine) int { return strings.Compare(a.ID, b.ID) })
	if len(changed) != 2 || changed[0].ID != "r003" || !changed[0].Gone || changed[0].State != "GONE" || changed[1].Version != 2 || len(changed[1].Payload) == 0 {
		t.Errorf("%+v", changed)
	}
	for _, since := range []string{"changed", filepath.Join("changed", "manifest.json"), m.Cursor} {
		piped := d.expect(term.ExitOK, "data", "export", "lib", "--out", "-", "--since", since)
		if piped.out != "" {
			t.Errorf("nothing changed since, and %s came", piped.out)
		}
		d.holds(piped.err, "0 records", "--since px1-")
	}
	if n := strings.Count(d.expect(term.ExitOK, "data", "export", "lib", "--out", "-").out, "\n"); n != 59 {
		t.Errorf("%d records are active", n)
	}
	if n := strings.Count(d.expect(term.ExitOK, "data", "export", "lib", "--out", "-", "--state", "all").out, "\n"); n != 60 {
		t.Errorf("%d records in all", n)
	}
	d.holds(d.expect(term.ExitOK, "data", "count", "lib").out, "active      59", "gone        1")
	var some []view.Record
	d.decode(d.expect(term.ExitOK, "data", "list", "lib", "--limit", "40", "-o", "json").out, &some)
	rest := d.expect(term.ExitOK, "data", "list", "lib", "--limit", "40", "--after", some[39].ID, "-o", "json").out
	var more []view.Record
	d.decode(rest, &more)
	if len(some) != 40 || len(more) != 20 {
		t.Errorf("%d and %d are listed", len(some), len(more))
	}
}

func TestDataExportCSV(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitOK, "data", "export", "lib", "--format", "csv", "--out", "all.csv", "--since", "whole")
	d.expect(term.ExitOK, "data", "verify", "all.csv")
	file, err := os.Open("all.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], " "); got != "id version state mergedInto updatedAt fetchedAt batchId title otherFields" {
		t.Errorf("header %s", got)
	}
	for _, row := range rows[1:] {
		if row[0] == "r004" && !strings.HasPrefix(row[7], `'=HYPERLINK("http://x"),`) {
			t.Errorf("a formula: %.40s", row[7])
		}
	}
	d.holds(d.expect(term.ExitOK, "data", "export", "lib", "--format", "csv", "--out", "-", "--since", "whole", "--fields", "title", "--raw-cells").out, `,"=HYPERLINK(""http://x""),`)
	d.expect(term.ExitOK, "data", "export", "lib", "--format", "csv", "--out", "days", "--partition-by", "day", "--compress", "zstd")
	d.holds(d.expect(term.ExitOK, "data", "verify", "days").out, "files       5", "records     59", "problems    -")
	if _, err := os.Stat("days/records-2025-03-01.csv.zst"); err != nil {
		t.Error(err)
	}
}

func TestDataExportRefuses(t *testing.T) {
	d := revised(t)
	d.expect(term.ExitUsage, "data", "export", "lib")
	d.expect(term.ExitUsage, "data", "export", "lib", "--out", "x", "--format", "parquet")
	d.expect(term.ExitUsage, "data", "export", "lib", "--out", "x.csv")
	for _, more := range [][]string{nil, {"--force"}, {"--dry-run"}} {
		to := func(flags ...string) string {
			return d.expect(term.ExitUsage, append(append([]string{"data", "export", "lib", "--out"}, flags...), more...)...).err
		}
		d.holds(to("x.txt"), "looks like a file", ".jsonl")
		d.holds(to("x.db"), "looks like a file", "--format sqlite")
		d.holds(to("x.csv", "--format", "sqlite"), "name it x.db")
		d.holds(to("whole/manifest.json"), "a file is at whole/manifest.json")
		d.holds(to("whole/manifest.json/x"), "a file is at whole/manifest.json")
		d.holds(to("whole/manifest.json/x.db", "--format", "sqlite"), "a file is at whole/manifest.json")
	}
	d.expect(term.ExitUsage, "data", "export", "lib", "--out", "-", "--partition-by", "day")
	d.expect(term.ExitUsage, "data", "export", "lib", "--out", "x", "--since", "px1-half")
	d.holds(d.expect(term.ExitUsage, "data", "export", "lib", "--out", "x", "--fields", "titel").err, "declares no such field", "title")
	d.expect(term.ExitNotFound, "data", "export", "lib", "--out", "x", "--since", "nowhere")
	d.expect(term.ExitNotFound, "data", "export", "lib/other", "--out", "x")
	d.expect(term.ExitNotFound, "data", "export", "libb", "--out", "x")
	d.expect(term.ExitNotFound, "data", "export", "crossref", "--out", "x")
	d.holds(d.expect(term.ExitConflict, "data", "export", "lib", "--out", "whole").err, "--force")
	dry := d.writesNothing("data", "export", "lib", "--out", "dry", "--partition-by", "day", "--dry-run")
	d.holds(dry.out, "records        59", "files          5")
	d.holds(dry.err, "nothing was written")
	for _, name := range []string{"x", "dry", "x.csv", "x.txt", "x.db"} {
		d.noFolder(name)
	}
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "whole", "--force")
	d.holds(d.expect(term.ExitOK, "data", "verify", "whole").out, "records     59")
	if err := os.WriteFile("whole/records.jsonl", []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitFindings, "data", "verify", "whole").out, "records.jsonl has 3 bytes")
	d.expect(term.ExitNotFound, "data", "verify", "nowhere")
	if err := os.Remove("whole/manifest.json"); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitNotFound, "data", "verify", "whole").err, "did not come to its end")
}

// TestDataChanges lists what was stored, whole and page by page, and what an update changed.
func TestDataChanges(t *testing.T) {
	d := revised(t)
	list := func(flags ...string) (out view.List[view.Change]) {
		d.decode(d.expect(term.ExitOK, append([]string{"data", "changes", "lib", "-o", "json"}, flags...)...).out, &out)
		return out
	}
	all := list("--since", "2000-01-01", "--limit", "1000")
	if n := len(all.Items); n < 3 || all.More {
		t.Fatalf("%+v", all)
	}
	newest := all.Items[len(all.Items)-2:]
	if ids := []string{newest[0].ID, newest[1].ID}; !slices.Contains(ids, "r003") || !slices.Contains(ids, "r004") || newest[0].Version != 2 {
		t.Errorf("the update stored %+v", newest)
	}
	var paged []view.Change
	for after := "0"; ; {
		page := list("--since", "2000-01-01", "--limit", "2", "--after", after)
		paged = append(paged, page.Items...)
		if !page.More {
			break
		}
		after = *page.Next
	}
	if !reflect.DeepEqual(paged, all.Items) {
		t.Errorf("page by page: %+v\nat once: %+v", paged, all.Items)
	}
	if none := list("--since", "2000-01-01", "--until", "2000-01-02"); len(none.Items) > 0 {
		t.Errorf("stored in 2000: %+v", none)
	}
	d.holds(d.expect(term.ExitOK, "data", "changes", "lib", "--since", "2000-01-01", "--limit", "1").err, "there are more: add --after")
	for _, flags := range [][]string{{"--since", "soon"}, {"--after", "-1"}, {"--limit", "0"}, {"--since", "2025-01-02", "--until", "2025-01-01"}} {
		d.expect(term.ExitUsage, append([]string{"data", "changes", "lib"}, flags...)...)
	}
	d.expect(term.ExitNotFound, "data", "changes", "nosuch")
}

func TestDataGet(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	d := revised(t)
	t.Chdir(here)
	hash := regexp.MustCompile(`[0-9a-f]{64}`)
	d.golden("data_get", hash.ReplaceAllString(d.expect(term.ExitOK, "data", "get", "lib", "r003", "--diff").out, "<hash>"))
	d.golden("data_get_version", hash.ReplaceAllString(d.expect(term.ExitOK, "data", "get", "lib/letters", "r004", "--version", "1", "--payload").out, "<hash>"))
	var h view.History
	d.decode(d.expect(term.ExitOK, "data", "get", "lib", "r004", "--diff", "--payload", "-o", "json").out, &h)
	if h.Version != 2 || len(h.Versions) != 2 || len(h.Payload) == 0 || h.Removed != 0 {
		t.Fatalf("%+v", h)
	}
	newest := h.Versions[0]
	if len(newest.Changed) != 1 || newest.Changed[0].Name != "title" || string(newest.Changed[0].Was) != `"Letter 4"` || newest.State != "ACTIVE" {
		t.Errorf("%+v", newest.Changed)
	}
	if o := newest.Origin; o.Where != view.Here || o.Operation != "UPDATE" || o.RunID == 0 || len(o.Spec) != 64 || len(o.Mapping) != 64 || len(newest.Events) != 1 {
		t.Errorf("%+v", o)
	}
	d.holds(d.expect(term.ExitOK, "data", "get", "lib", "r004", "--limit", "1").err, "1 older versions are not shown")
	d.holds(d.expect(term.ExitNotFound, "data", "get", "lib", "R004").err, "data list lib")
	d.expect(term.ExitNotFound, "data", "get", "lib", `r'";--\`)
	d.expect(term.ExitNotFound, "data", "get", "lib", "r004", "--version", "3")
	d.expect(term.ExitUsage, "data", "get", "lib", "r004", "--version", "-1")
	d.expect(term.ExitUsage, "data", "get", "lib")
	d.many("DELETE FROM ing_record_body WHERE version = 1")
	d.holds(d.expect(term.ExitOK, "data", "get", "lib", "r004").err, "versions 1 to 1 were removed by retention")
	d.holds(d.expect(term.ExitNotFound, "data", "get", "lib", "r004", "--version", "1").err, "removed by retention", "the oldest that is kept is 2")
}

// An event that is too large goes with a reference, and the reference leads to the
// bytes it went without.
func TestDataGetOfADataref(t *testing.T) {
	d := revised(t)
	dir := filepath.Join(d.dir, "events")
	declaration := d.write("events.yaml", "destinations:\n  - name: files\n    maxBytes: 16384\n    jsonl: {dir: "+dir+"}\nroutes:\n  - to: files\n")
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	found := 0
	for _, line := range d.lines(dir) {
		var e struct{ Dataref, Patradatasha256 string }
		d.decode(line, &e)
		if e.Dataref == "" {
			continue
		}
		found++
		data := strings.TrimSuffix(d.expect(term.ExitOK, "data", "get", "--ref", e.Dataref).out, "\n")
		if sum := sha256.Sum256([]byte(data)); hex.EncodeToString(sum[:]) != e.Patradatasha256 {
			t.Errorf("%s leads to other bytes: %.80s", e.Dataref, data)
		}
	}
	if found != 1 {
		t.Fatalf("%d events went without their data", found)
	}
	d.expect(term.ExitNotFound, "data", "get", "--ref", "patra://lib/letters/none?version=1")
	d.expect(term.ExitNotFound, "data", "get", "--ref", "patra://lib/letters/r004?version=9")
	d.expect(term.ExitUsage, "data", "get", "--ref", "https://lib/letters/r004?version=1")
	d.expect(term.ExitUsage, "data", "get", "lib", "--ref", "patra://lib/letters/r004?version=1")
	d.expect(term.ExitUsage, "data", "get", "--ref", "patra://lib/letters/r004?version=1", "--content", "all")
}

func TestDataGetOfAnArchivedBatch(t *testing.T) {
	d := oldHarvest(t)
	var some []view.Record
	d.decode(d.expect(term.ExitOK, "data", "list", "crossref", "--limit", "1", "-o", "json").out, &some)
	before := d.expect(term.ExitOK, "data", "get", "crossref", some[0].ID).out
	d.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	after := d.expect(term.ExitOK, "data", "get", "crossref", some[0].ID).out
	d.holds(after, "archived in 0")
	if work := regexp.MustCompile(`(?m)^work.*`); work.FindString(after) != work.FindString(before) {
		t.Errorf("the work of an archived batch is\n%s\nwas\n%s", after, before)
	}
	if err := os.RemoveAll(d.file + ".archive"); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitOK, "data", "get", "crossref", some[0].ID).out, "neither in the database nor in an archive")
}

// The address of a database may hold a password: it has no place in an export (I12).
func TestDataExportHoldsNoAddress(t *testing.T) {
	const canary = "canary-secret-4711"
	d, _, _ := library(t)
	t.Chdir(d.dir)
	moved := filepath.Join(d.dir, canary+".db")
	if err := os.Rename(d.file, moved); err != nil {
		t.Fatal(err)
	}
	d.file = moved
	d.expect(term.ExitOK, "data", "export", "lib", "--out", "out", "--with-payload")
	for _, name := range []string{"manifest.json", "records.jsonl"} {
		text, err := os.ReadFile(filepath.Join("out", name))
		if err != nil || strings.Contains(string(text), canary) {
			t.Errorf("%s holds it: %v", name, err)
		}
	}
}

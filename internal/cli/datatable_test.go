package cli

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// askTable runs a query on an exported file and returns its rows as lines.
func askTable(t *testing.T, file, query string) (out []string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	for err == nil && rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		err = rows.Scan(into...)
		out = append(out, strings.TrimSpace(fmt.Sprintln(cells...)))
	}
	if err != nil || rows.Err() != nil {
		t.Fatalf("%s: %v %v", query, err, rows.Err())
	}
	return out
}

func TestDataExportSQLite(t *testing.T) {
	d, up, apply := library(t)
	t.Chdir(d.dir)
	export := func(args ...string) []string {
		return append([]string{"data", "export", "lib", "--format", "sqlite", "--out", "lib.db"}, args...)
	}
	d.holds(d.writesNothing(export("--dry-run")...).out, "records        60")
	d.noFolder("lib.db")
	d.holds(d.expect(term.ExitOK, export()...).out, "records        60", "rows           60 in table lib_letters")
	if got := askTable(t, "lib.db", "SELECT title FROM lib_letters WHERE id = 'r004'"); fmt.Sprint(got) != "[Letter 4]" {
		t.Error(got)
	}
	if found, err := os.Stat("lib.db"); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", found.Mode(), err)
	}
	d.holds(d.expect(term.ExitConflict, export()...).err, "--since lib.db", "--force")
	d.holds(d.expect(term.ExitOK, "data", "verify", "lib.db").out, "lib_letters: 60 records of lib letters", "problems  -")

	up.change(func(all []letter) []letter {
		all[4].Title = "Other"
		return append(all[:3], all[4:]...)
	})
	d.exec("UPDATE ing_record SET missing_since = ? WHERE provider_id = ?", march(7).UnixMicro(), "r003") // it was missed on another day too
	d.expect(term.ExitOK, "update", "lib", "--ids", d.write("ids.txt", "r003\nr004\n"), "--reason", "notice")
	var m daemon.DataExported
	r := d.expect(term.ExitOK, export("--since", "lib.db", "-o", "json")...)
	d.decode(r.out, &m)
	if m.Records != 2 || m.Gone != 1 || m.Filled == nil || m.Filled.Rows != 59 || m.Bytes == 0 {
		t.Errorf("%+v %+v", m, m.Filled)
	}
	if got := askTable(t, "lib.db", "SELECT id, title FROM lib_letters WHERE id IN ('r003', 'r004')"); fmt.Sprint(got) != "[r004 Other]" {
		t.Error(got)
	}
	d.holds(d.expect(term.ExitOK, export("--since", m.Cursor)...).out, "records        0", "rows           59")
	d.holds(d.expect(term.ExitOK, "data", "export", "lib", "--out", "-", "--since", "lib.db").err, "0 records")
	apply(", venue: $.venue")
	d.expect(term.ExitOK, "update", "lib", "--expr-changed")
	d.holds(d.expect(term.ExitOK, export("--since", "lib.db")...).err, "new columns: venue")
	if got := askTable(t, "lib.db", "SELECT COUNT(*) FROM lib_letters WHERE venue = 'Annals'"); fmt.Sprint(got) != "[59]" {
		t.Error(got)
	}
	apply(`, venue: "$['venue','title']"`)
	d.expect(term.ExitOK, "update", "lib", "--expr-changed")
	d.holds(d.expect(term.ExitOK, export("--since", "lib.db")...).err, "column venue held TEXT and now holds JSON", "record \"r")
	if got := askTable(t, "lib.db", "SELECT DISTINCT json_extract(venue, '$[1]') FROM lib_letters"); fmt.Sprint(got) != "[Annals]" {
		t.Error(got)
	}

	d.holds(d.expect(term.ExitConflict, "data", "export", "lib", "--format", "sqlite", "--out", d.file, "--force").err, "is the database itself")
	d.holds(d.expect(term.ExitConflict, export("--since", d.file)...).err, "is the database itself")
	d.expect(term.ExitOK, "db", "backup", "copy.db")
	d.holds(d.expect(term.ExitConflict, "data", "export", "lib", "--format", "sqlite", "--out", "copy.db", "--force").err, "no export of patra")
	d.expect(term.ExitUsage, "data", "export", "lib", "--format", "sqlite", "--out", "-")
	d.expect(term.ExitUsage, export("--partition-by", "day", "--force")...)
	d.expect(term.ExitUsage, export("--state", "all", "--force")...)
	d.expect(term.ExitOK, "data", "verify", "lib.db")
	d.expect(term.ExitOK, export("--force")...)
	d.expect(term.ExitOK, "db", "check")
	if left, err := filepath.Glob(".lib.db*"); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A table that lost a row, and a file with a page of something else, are not as they were
// exported.
func TestDataVerifyOfATable(t *testing.T) {
	d, _, _ := library(t)
	t.Chdir(d.dir)
	d.expect(term.ExitOK, "data", "export", "lib", "--format", "sqlite", "--out", "lib.db")
	db, err := sql.Open("sqlite", "lib.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DELETE FROM lib_letters WHERE id = 'r004'"); err != nil {
		t.Fatal(err)
	}
	lost := d.expect(term.ExitFindings, "data", "verify", "lib.db")
	d.holds(lost.out+lost.err, "table lib_letters has 59 rows, and 60 were exported", "a new file", "--force")
	again := []string{"data", "export", "lib", "--format", "sqlite", "--out", "lib.db"}
	r := d.expect(term.ExitConflict, append(again, "--since", "lib.db")...) // it would be whole by its own account, for ever
	d.holds(r.err, "has 59 rows, and 60 were exported", "`patra data export lib/letters --format sqlite --out lib.db --force`")
	d.expect(term.ExitFindings, "data", "verify", "lib.db")
	d.expect(term.ExitOK, append(again, "--force")...)
	d.holds(d.expect(term.ExitOK, "data", "verify", "lib.db").out, "lib_letters: 60 records", "problems  -")
	if _, err := db.Exec("DELETE FROM patra_export"); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitFindings, "data", "verify", "lib.db").out, "patra_export is empty")
	if err := os.Remove("lib.db"); err != nil {
		t.Fatal(err)
	}
	d.expect(term.ExitOK, again...)
	if db, err = sql.Open("sqlite", "lib.db"); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("ALTER TABLE lib_letters RENAME TO letters"); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitFindings, "data", "verify", "lib.db", "-o", "json").out, "table lib_letters is not there: it was removed or renamed")
	d.expect(term.ExitOK, "data", "export", "lib", "--format", "sqlite", "--out", "damaged.db")
	text, err := os.ReadFile("damaged.db")
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) - 4096; i < len(text); i++ {
		text[i] = 'x'
	}
	if err := os.WriteFile("damaged.db", text, 0o600); err != nil {
		t.Fatal(err)
	}
	d.expect(term.ExitFindings, "data", "verify", "damaged.db")
}

package cli

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// expectAt runs a command on another database than the desk's, which must end with a code.
func (d *desk) expectAt(database string, code int, args ...string) result {
	d.Helper()
	var out, err bytes.Buffer
	r := result{code: Main(context.Background(), append(slices.Clone(args), "--db", database), &out, &err)}
	if r.out, r.err = out.String(), err.String(); r.code != code {
		d.Fatalf("patra %s --db %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), database, r.code, code, r.out, r.err)
	}
	return r
}

// A database moves to a server in the middle of its life and back, and the harvest goes on
// as if nothing had happened.
func TestDBCopy(t *testing.T) {
	d, up, _ := library(t)
	t.Chdir(d.dir)
	server := mariadb.DSN(t)
	data := []string{"data", "export", "lib", "--out", "-", "--with-payload"}
	want := d.expect(term.ExitOK, data...).out
	d.holds(d.expect(term.ExitOK, "db", "copy", "--to", server).out, "compared", "none differs")
	if got := d.expectAt(server, term.ExitOK, data...).out; got != want {
		t.Errorf("the copy has other records: %d bytes, want %d", len(got), len(want))
	}
	d.expectAt(server, term.ExitOK, "db", "check")
	d.holds(d.expect(term.ExitUsage, "db", "copy", "--to", server).err, "has data already")

	up.change(func(all []letter) []letter {
		return append(all, letter{"r900", "2025-03-07T10:00:00Z", "New", "Annals"})
	})
	harvest := []string{"harvest", "lib", "--from", "2025-03-01", "--to", "2025-03-09", "--workers", "1"}
	d.holds(d.expectAt(server, term.ExitOK, harvest...).out, "1 new, 0 updated")
	d.expectAt(server, term.ExitOK, "data", "get", "lib", "r900")
	d.holds(d.expectAt(server, term.ExitOK, "coverage", "gaps", "lib", "--from", "2025-03-01", "--to", "2025-03-09", "-o", "json").out, `"items": []`)
	changed := d.expectAt(server, term.ExitOK, data...).out
	d.holds(d.expectAt(server, term.ExitOK, "update", "lib", "--from", "2025-03-01", "--to", "2025-03-09").out, "0 updated, 61 unchanged, 0 new")
	if again := d.expectAt(server, term.ExitOK, data...).out; again != changed {
		t.Error("the second run changed something")
	}

	d.expect(term.ExitOK, "db", "copy", "--from", server, "--to", "sqlite:back.db")
	if got := d.expectAt("sqlite:back.db", term.ExitOK, data...).out; got != changed {
		t.Error("what came back differs")
	}
	d.expectAt("sqlite:back.db", term.ExitOK, "db", "check")
	if found, err := os.Stat("back.db"); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", found, err)
	}
}

// A copy that was killed is refused by every command, and the next copy begins anew.
func TestDBCopyUnfinished(t *testing.T) {
	d, _, _ := library(t)
	t.Chdir(d.dir)
	d.expect(term.ExitOK, "db", "copy", "--to", "sqlite:half.db")
	db, err := sql.Open("sqlite", "half.db")
	if err == nil {
		_, err = db.Exec("INSERT INTO patra_schema_version (version, name, checksum, statements_done, started_at) VALUES (1000000, 'copy', ?, 0, 0)", strings.Repeat("0", 64))
	}
	if err == nil {
		_, err = db.Exec("DELETE FROM ing_record WHERE provider_id > 'r030'") // as if it had not come further
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	for _, args := range [][]string{{"status"}, {"data", "count", "lib"}, {"db", "migrate"}, {"db", "check"}} {
		d.holds(d.expectAt("sqlite:half.db", term.ExitConflict, args...).err, "did not come to its end")
	}
	d.holds(d.expect(term.ExitConflict, "db", "copy", "--from", "sqlite:half.db", "--to", "sqlite:other.db").err, "did not come to its end")
	d.expect(term.ExitOK, "db", "copy", "--to", "sqlite:half.db")
	d.expectAt("sqlite:half.db", term.ExitOK, "db", "check")
	d.holds(d.expectAt("sqlite:half.db", term.ExitOK, "data", "count", "lib").out, "all         60")
	d.holds(d.expect(term.ExitUsage, "db", "copy", "--to", "sqlite:"+d.file, "--from", "sqlite:"+d.file).err, "the same database")
	d.expect(term.ExitUsage, "db", "copy")
	d.expect(term.ExitNotFound, "db", "copy", "--from", "sqlite:nowhere.db", "--to", "sqlite:x.db")
}

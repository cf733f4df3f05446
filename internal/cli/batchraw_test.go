package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/blob"
)

// keep puts a body into a folder and makes a batch refer to it.
func (d *desk) keep(dir string, batch int, body string) (ref string) {
	d.Helper()
	bodies, err := blob.Open(dir, blob.Options{})
	if err != nil {
		d.Fatal(err)
	}
	defer bodies.Close()
	if ref, _, err = bodies.Put(d.Context(), []byte(body), "", nil); err != nil {
		d.Fatal(err)
	}
	d.exec("UPDATE ing_batch_evidence SET blob_ref = ? WHERE batch_id = ?", ref, batch)
	return ref
}

func TestBatchRaw(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_RAW_DIR", "")
	body := strings.Repeat(`{"odd":"\x1b[31m"}`, 100)
	ref := d.keep(d.file+".raw", 2, body)
	if got := d.writesNothing("batch", "raw", "2"); got.out != body {
		t.Errorf("%q", got.out)
	}
	shown := d.expect(term.ExitOK, "batch", "show", "2").out
	d.holds(shown, ref, "stored in 3")
	facts, _, _ := strings.Cut(shown, "\nrequest\n")
	d.fits(facts)
	var detail view.BatchDetail
	d.decode(d.expect(term.ExitOK, "batch", "show", "2", "-o", "json").out, &detail)
	if detail.Raw != ref || detail.RawStored < 20 || detail.RawStored > 60 || detail.ID != 2 {
		t.Errorf("%+v", detail)
	}
}

// Through a link and through its own name, a database has the same folder of bodies; where
// there is none, nobody is told that the body was kept too long.
func TestBatchRawThroughALink(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_RAW_DIR", "")
	link := filepath.Join(t.TempDir(), "lnk.db")
	if err := os.Symlink(d.file, link); err != nil {
		t.Fatal(err)
	}
	d.keep(d.file+".raw", 2, "body")
	if got := d.expectAt("sqlite:"+link, term.ExitOK, "batch", "raw", "2").out; got != "body" {
		t.Errorf("%q", got)
	}
	if err := os.Rename(d.file+".raw", link+".raw"); err != nil { // as older programs kept it
		t.Fatal(err)
	}
	if got := d.expectAt("sqlite:"+link, term.ExitOK, "batch", "raw", "2").out; got != "body" {
		t.Errorf("beside the link: %q", got)
	}
	told := d.expect(term.ExitNotFound, "batch", "raw", "2").err
	d.holds(told, "there is no folder "+d.file+".raw", "--raw-dir", "PATRA_RAW_DIR")
	if strings.Contains(told, "days") {
		t.Errorf("the time is blamed: %s", told)
	}
}

// Another folder: named by flag or environment.
func TestBatchRawElsewhere(t *testing.T) {
	d := harvested(t)
	elsewhere := filepath.Join(d.dir, "elsewhere")
	d.keep(elsewhere, 2, "body")
	t.Setenv("PATRA_RAW_DIR", "")
	d.expect(term.ExitNotFound, "batch", "raw", "2")
	if got := d.expect(term.ExitOK, "batch", "raw", "2", "--raw-dir", elsewhere).out; got != "body" {
		t.Errorf("%q", got)
	}
	t.Setenv("PATRA_RAW_DIR", elsewhere)
	if got := d.expect(term.ExitOK, "batch", "raw", "2").out; got != "body" {
		t.Errorf("%q", got)
	}
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, "stored in 13B")
}

func TestBatchRawIsRefusedPlainly(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_RAW_DIR", "")
	d.exec("UPDATE ing_batch_evidence SET blob_ref = NULL WHERE batch_id = 2")
	d.holds(d.expect(term.ExitNotFound, "batch", "raw", "2").err, "batch 2 has no body")
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, "was not kept")
	d.holds(d.expect(term.ExitNotFound, "batch", "raw", "4711").err, "batch 4711", "not found")
	d.expect(term.ExitUsage, "batch", "raw", "two")

	ref := d.keep(d.file+".raw", 2, "body")
	path := filepath.Join(d.file+".raw", ref[:2], ref+".zst")
	if err := os.WriteFile(path, []byte("rust"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.expect(term.ExitFailure, "batch", "raw", "2"); got.out != "" || !strings.Contains(got.err, "is damaged") {
		t.Errorf("%q %q", got.out, got.err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitNotFound, "batch", "raw", "2").err, "not in "+d.file+".raw any more", "kept 30 days", "10GB")
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, ref, "any more")
}

func TestRawFlags(t *testing.T) {
	d := emptyDesk(t)
	d.holds(d.expect(term.ExitUsage, "harvest", "crossref", "--no-raw", "--raw-whole").err, "use only one of --no-raw and --raw-whole")
	for _, flags := range [][]string{{"--raw-max", "many"}, {"--raw-max", "0"}, {"--raw-keep", "0d"}, {"--raw-keep", "-1d"}, {"--raw-keep", "month"}} {
		for _, command := range [][]string{{"harvest", "crossref"}, {"serve"}} {
			d.holds(d.expect(term.ExitUsage, append(command, flags...)...).err, flags[0])
		}
	}
	d.noFile()
}

package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// A person who removes a source is told before what goes and what stays; records are not
// left without a definition by accident, and nothing that was stored is lost.
func TestSourceRemoved(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	d.holds(d.expect(term.ExitUsage, "source", "rm", "crossref").err, "--reason")
	d.expect(term.ExitOK, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03")
	before := d.dump()
	d.holds(d.expect(term.ExitConflict, "source", "rm", "crossref", "--reason", "over", "--yes").err, "24 records", "--keep-records")
	dry := d.expect(term.ExitOK, "source", "rm", "crossref", "--dry-run")
	d.holds(dry.out, "the definition of crossref", "the crossref that comes with the program counts again", "24 records", "nothing that was stored")
	if d.dump() != before {
		t.Error("a refusal or a rehearsal changed the database")
	}
	d.expect(term.ExitOK, "plan", "crossref", "--from", "2025-03-03", "--to", "2025-03-04")
	d.holds(d.expect(term.ExitConflict, "source", "rm", "crossref", "--keep-records", "--reason", "over", "--yes").err, "task waits or runs", "patra plan cancel")
	d.expect(term.ExitOK, "plan", "cancel", "2", "--reason", "over")
	var done source.Removed
	d.decode(d.expect(term.ExitOK, "source", "rm", "crossref", "--keep-records", "--reason", "over", "--yes", "-o", "json").out, &done)
	if done.Rows == 0 || done.Kept.Records != 24 || !done.Bundled || done.At.IsZero() {
		t.Errorf("%+v", done)
	}
	d.holds(d.expect(term.ExitOK, "source", "show", "crossref").out, "bundled")
	d.holds(d.expect(term.ExitOK, "audit", "list").out, "source.remove")
	if n := strings.Count(d.expect(term.ExitOK, "data", "export", "crossref", "--out", "-").out, "\n"); n != 24 {
		t.Errorf("%d records are left", n)
	}
	d.holds(d.expect(term.ExitConflict, "source", "rm", "crossref", "--reason", "over", "--yes").err, "comes with the program", "patra source pause crossref")
}

// A source of one's own is gone after that, and comes back from its history.
func TestSourceRemovedComesBack(t *testing.T) {
	d := newDesk(t)
	d.rows(d.write("mine.yaml", source.SkeletonLike("", "mine", "mine.yaml")))
	r := d.expect(term.ExitOK, "source", "rm", "mine", "--reason", "a trial", "--yes")
	d.holds(d.expect(term.ExitNotFound, "source", "show", "mine").err, "neither applied nor bundled")
	d.holds(d.expect(term.ExitNotFound, "source", "rm", "mine", "--reason", "again", "--yes").err, "neither applied nor bundled")
	_, at, _ := strings.Cut(r.err, "--at ")
	at, _, _ = strings.Cut(at, " ")
	text := d.expect(term.ExitOK, "source", "export", "mine", "--at", at).out
	d.rows(d.write("again.yaml", text))
	d.holds(d.expect(term.ExitOK, "source", "show", "mine").out, "applied")
}

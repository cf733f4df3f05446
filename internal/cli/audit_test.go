package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/audit"
)

// A37 as an operator meets it: what was done is listed, verified, and a cut end
// shows by the head that an archive or a log line holds.
func TestAudit(t *testing.T) {
	d := oldHarvest(t)
	report := func(code int, args ...string) (r audit.Report) {
		t.Helper()
		d.decode(d.expect(code, append([]string{"audit", "verify", "-o", "json"}, args...)...).out, &r)
		return r
	}
	if r := report(term.ExitOK); r.Entries != 0 || r.Head != audit.Root() {
		t.Errorf("%+v", r)
	}
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "they asked us to")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "they thanked")
	d.holds(d.writesNothing("audit", "list").out, "they asked us to", "they thanked")
	d.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	whole := report(term.ExitOK)
	if whole.Entries != 3 || whole.Noted == 0 || len(whole.Findings) != 0 {
		t.Errorf("%+v", whole)
	}
	d.holds(d.writesNothing("audit", "verify", "--head", whole.Head).out, whole.Head)
	d.expect(term.ExitUsage, "audit", "verify", "--head", "abc")

	// The newest entry, which only a log line can tell.
	d.many("DELETE FROM ing_audit_log WHERE id = (SELECT MAX(id) FROM ing_audit_log)")
	if r := report(term.ExitOK); r.Entries != 2 {
		t.Errorf("%+v", r)
	}
	if r := report(term.ExitFindings, "--head", whole.Head); len(r.Findings) != 1 || r.Findings[0].Problem != audit.Lost {
		t.Errorf("%+v", r)
	}
	// The one before, which the archives hold.
	d.many("DELETE FROM ing_audit_log WHERE id = (SELECT MAX(id) FROM ing_audit_log)")
	got := d.expect(term.ExitFindings, "audit", "verify")
	d.holds(got.out, "LOST", "the archive 00000")
	d.holds(got.err, "tampered with")
	d.holds(d.expect(term.ExitFindings, "audit", "verify", "--archive-dir", t.TempDir()).out, "UNREADABLE")

	d.many("UPDATE ing_audit_log SET reason = 'another', detail = 'no JSON'")
	got = d.expect(term.ExitFindings, "audit", "verify", "--archive-dir", t.TempDir())
	d.holds(got.out, "EDITED")
	if text := d.expect(term.ExitOK, "audit", "list", "-o", "json").out; !strings.Contains(text, `"no JSON"`) {
		t.Error(text)
	}
}

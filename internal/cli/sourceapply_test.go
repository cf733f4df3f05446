package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// rows asks what an apply did or would do.
func (d *desk) rows(args ...string) (out []source.Applied) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, append([]string{"source", "apply", "-o", "json"}, args...)...).out, &out)
	return out
}

func TestApply(t *testing.T) {
	d := newDesk(t)
	first := d.crossrefFile("first.yaml")
	for _, step := range []struct {
		name, file string
	}{
		{"new", first},
		{"changed values", d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2", "name: Crossref", "name: Crossref REST", "size: 500", "size: 400")},
		{"a section more", d.crossrefFile("third.yaml", "    operations:\n", "    operations:\n      BACKFILL:\n        rate:\n          perSecond: 1\n")},
		{"back again", first},
	} {
		if step.name != "new" {
			d.writesNothing("source", "apply", step.file, "--dry-run")
		}
		pending := d.rows(step.file, "--dry-run")
		done := d.rows(step.file)
		if len(done) != 1 || done[0].Source != "crossref" || done[0].Rows == 0 || done[0].Outcome != "applied" || done[0].File != step.file {
			t.Errorf("%s: %+v", step.name, done)
		}
		if len(pending) != 1 || pending[0].Outcome != "pending" || pending[0].Rows != done[0].Rows {
			t.Errorf("%s: a dry run promised %+v, it became %+v", step.name, pending, done)
		}
		for _, again := range []source.Applied{d.rows(step.file, "--dry-run")[0], d.rows(step.file)[0]} {
			if again.Rows != 0 || again.Outcome != "unchanged" {
				t.Errorf("%s again: %+v", step.name, again)
			}
		}
	}
	d.holds(d.expect(term.ExitOK, "source", "apply", first).out, "unchanged")
	var sources []view.Source
	d.decode(d.expect(term.ExitOK, "source", "list", "-o", "json").out, &sources)
	at := slices.IndexFunc(sources, func(s view.Source) bool { return s.Code == "crossref" })
	if at < 0 || sources[at].Origin != "applied" || sources[at].From.IsZero() {
		t.Errorf("%+v", sources)
	}
	d.holds(d.expect(term.ExitOK, "source", "explain", "crossref").err, "(applied)")
	d.fits(d.expect(term.ExitOK, "source", "explain", "crossref").out)
}

func TestApplyAllOrNothing(t *testing.T) {
	d := emptyDesk(t)
	good := d.crossrefFile("good.yaml")
	bad := d.crossrefFile("bad.yaml", "source: crossref", "source: other", "perSecond: 3", "perSecond: x")
	d.holds(d.expect(term.ExitUsage, "source", "apply", good, bad).err, bad+":30:14")
	d.noFile()
	d.empty()
	if r := d.writesNothing("source", "apply", good, bad); r.code != term.ExitUsage || r.out != "" {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	other := d.crossrefFile("other.yaml", "source: crossref", "source: other")
	if done := d.rows(good, other); len(done) != 2 || done[0].Source != "crossref" || done[1].Source != "other" {
		t.Errorf("%+v", done)
	}
	d.expect(term.ExitUsage, "source", "apply")
}

func TestApplyHistoryExport(t *testing.T) {
	d := newDesk(t)
	first := d.crossrefFile("first.yaml")
	second := d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2", "size: 500", "size: 400")
	if r := d.expect(term.ExitOK, "source", "apply", first, "--actor", "ann", "--reason", "to begin with"); strings.Contains(r.err, "as it was before") {
		t.Errorf("there was nothing before:\n%s", r.err)
	}
	r := d.expect(term.ExitOK, "source", "apply", second, "--actor", "bob", "--reason", "slower")
	d.holds(r.out, "applied", "SINCE")
	d.holds(r.err, "plans that exist keep their settings", "as it was before: patra source export crossref --at ")
	var versions []view.SourceVersion
	d.decode(d.expect(term.ExitOK, "source", "history", "crossref", "-o", "json").out, &versions)
	if len(versions) != 2 || versions[0].Actor != "bob" || versions[0].Reason != "slower" || versions[0].State != view.VersionInForce || !versions[0].To.IsZero() {
		t.Fatalf("%+v", versions)
	}
	if want := []string{"endpoints.works.paging.size", "rate.perSecond"}; !slices.Equal(versions[0].Paths, want) {
		t.Errorf("%v", versions[0].Paths)
	}
	if versions[1].Actor != "ann" || versions[1].State != view.VersionEnded || !versions[1].To.Equal(versions[0].From) {
		t.Errorf("%+v", versions[1])
	}
	table := d.expect(term.ExitOK, "source", "history", "crossref").out
	d.holds(table, "bob", "slower", "in force", "ended")
	d.fits(table)

	before := strings.TrimSpace(r.err[strings.LastIndex(r.err, "--at ")+len("--at "):])
	old := d.write("old.yaml", d.expect(term.ExitOK, "source", "export", "crossref", "--at", before).out)
	now := d.write("now.yaml", d.expect(term.ExitOK, "source", "export", "crossref").out)
	if d.expect(term.ExitOK, "source", "diff", now).code != term.ExitOK {
		t.Error("an export differs from what it is an export of")
	}
	d.holds(d.expect(term.ExitChanges, "source", "diff", old).out, "--- crossref (applied)", "~ rate.perSecond 2 -> 3", "~ endpoints.works.paging.size 400 -> 500")
	d.holds(d.expect(term.ExitNotFound, "source", "export", "crossref", "--at", "2001-01-01").err, "no applied version", "source history crossref")
	d.expect(term.ExitNotFound, "source", "export", "nobody")
	d.expect(term.ExitNotFound, "source", "history", "nobody")
	d.expect(term.ExitUsage, "source", "export", "crossref", "--at", "yesterday")
	var wrapped view.SourceFile
	d.decode(d.expect(term.ExitOK, "source", "export", "crossref", "-o", "json").out, &wrapped)
	if wrapped.Origin != "applied" || !strings.HasPrefix(wrapped.YAML, "source: crossref\n") {
		t.Errorf("%+v", wrapped)
	}
	for _, args := range [][]string{{"history", "crossref"}, {"export", "crossref"}, {"diff", first}, {"show", "crossref"}, {"explain", "crossref"}, {"render", "crossref"}} {
		d.writesNothing(append([]string{"source"}, args...)...)
	}
}

func TestApplyScheduled(t *testing.T) {
	d := newDesk(t)
	first, second, third := d.crossrefFile("first.yaml"), d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2"), d.crossrefFile("third.yaml", "perSecond: 3", "perSecond: 1")
	d.rows(first)
	const begin = "2999-01-01T00:00:00Z"
	promised := d.rows(second, "--effective-from", begin, "--dry-run")[0]
	done := d.rows(second, "--effective-from", begin)[0]
	if promised.Outcome != source.OutcomePending || promised.Rows != done.Rows || !promised.From.Equal(done.From) || done.Outcome != source.OutcomeScheduled || window.Text(done.From) != begin {
		t.Errorf("promised %+v, did %+v", promised, done)
	}
	if again := d.rows(second, "--effective-from", begin)[0]; again.Outcome != source.OutcomeUnchanged || again.Rows != 0 || window.Text(again.From) != begin {
		t.Errorf("%+v", again)
	}
	if c := d.explained("crossref"); c.At("rate.perSecond").Value != "3" {
		t.Error("a scheduled version holds already")
	}
	d.holds(d.expect(term.ExitOK, "source", "show", "crossref").err, "a change begins at "+begin)
	d.holds(d.expect(term.ExitOK, "source", "export", "crossref", "--at", "2999-01-02").out, "perSecond: 2")
	d.holds(d.expect(term.ExitChanges, "source", "diff", third).err, "scheduled from "+begin)
	d.holds(d.expect(term.ExitOK, "source", "history", "crossref").out, string(view.VersionScheduled))

	if promised = d.rows(third, "--dry-run")[0]; promised.Superseded != 0 || window.Text(promised.Until) != begin {
		t.Errorf("%+v", promised)
	}
	r := d.expect(term.ExitOK, "source", "apply", third)
	d.holds(r.err, "the version scheduled from "+begin+" stays", "--cancel-scheduled")
	if history := d.expect(term.ExitOK, "source", "history", "crossref").out; strings.Contains(history, string(view.VersionSuperseded)) {
		t.Errorf("a change now cancelled what was scheduled:\n%s", history)
	}
	if c := d.explained("crossref"); c.At("rate.perSecond").Value != "1" {
		t.Error("the new version does not hold")
	}
	d.holds(d.expect(term.ExitOK, "source", "export", "crossref", "--at", "2999-01-02").out, "perSecond: 2")
}

// A file that is applied every night undoes nobody's schedule, and it says so
// both ways: diff sees no change, and apply makes none.
func TestApplyEveryNight(t *testing.T) {
	d := newDesk(t)
	first, second := d.crossrefFile("first.yaml"), d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2")
	const begin = "2999-01-01T00:00:00Z"
	d.rows(first)
	d.rows(second, "--effective-from", begin)
	var differences []view.SourceDifference
	r := d.expect(term.ExitOK, "source", "diff", first, "-o", "json")
	d.holds(r.err, "another version is scheduled from "+begin+"; applying a file now keeps it")
	d.decode(r.out, &differences)
	if len(differences[0].Scheduled) != 1 || window.Text(differences[0].Scheduled[0]) != begin {
		t.Errorf("%+v", differences)
	}
	for _, dry := range [][]string{{"--dry-run"}, nil} {
		r := d.writesNothing(append([]string{"source", "apply", first}, dry...)...)
		d.holds(r.out, source.OutcomeUnchanged)
		d.holds(r.err, "the version scheduled from "+begin+" stays")
		if strings.Contains(r.err, "already scheduled") {
			t.Errorf("it holds now:\n%s", r.err)
		}
		r = d.writesNothing(append([]string{"source", "apply", second, "--effective-from", "2999-06-01"}, dry...)...)
		d.holds(r.out, source.OutcomeUnchanged, begin)
		d.holds(r.err, "crossref: already scheduled from "+begin+"; nothing changed")
		r = d.writesNothing(append([]string{"source", "apply", first, "--effective-from", "2998-06-01"}, dry...)...)
		d.holds(r.out, source.OutcomeUnchanged)
		if strings.Contains(r.err, "already scheduled") {
			t.Errorf("it is in force:\n%s", r.err)
		}
	}
}

func TestApplyCancelsWhatIsScheduled(t *testing.T) {
	d := newDesk(t)
	first, second, third := d.crossrefFile("first.yaml"), d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2"), d.crossrefFile("third.yaml", "perSecond: 3", "perSecond: 1")
	d.rows(first)
	d.rows(second, "--effective-from", "2998-01-01")
	d.rows(third, "--effective-from", "2999-01-01")
	if replaced := d.rows(first, "--effective-from", "2998-01-01", "--dry-run")[0]; replaced.Outcome != source.OutcomePending || replaced.Superseded != 1 {
		t.Errorf("%+v", replaced)
	}
	promised := d.rows(first, "--cancel-scheduled", "--dry-run")[0]
	if promised.Outcome != source.OutcomePending || promised.Superseded != 2 || !promised.Until.IsZero() {
		t.Errorf("%+v", promised)
	}
	r := d.expect(term.ExitOK, "source", "apply", first, "--cancel-scheduled", "--reason", "not yet")
	d.holds(r.out, source.OutcomeApplied)
	d.holds(r.err, "2 versions that had been scheduled will not begin")
	if strings.Contains(r.err, "as it was before") || strings.Contains(r.err, " stays ") {
		t.Errorf("nothing but the schedule changed:\n%s", r.err)
	}
	d.holds(d.expect(term.ExitOK, "source", "export", "crossref", "--at", "2999-01-02").out, "perSecond: 3")
	if again := d.rows(first, "--cancel-scheduled")[0]; again.Outcome != source.OutcomeUnchanged {
		t.Errorf("%+v", again)
	}
	d.holds(d.dump(), "not yet", `"cancelScheduled":true`)
}

func TestApplyRefusesThePast(t *testing.T) {
	d := emptyDesk(t)
	first, second := d.crossrefFile("first.yaml"), d.crossrefFile("second.yaml", "perSecond: 3", "perSecond: 2")
	for _, past := range []string{"2001-01-01", "-1h", "2001-01-01T00:00:00Z"} {
		d.holds(d.expect(term.ExitUsage, "source", "apply", first, "--effective-from", past).err, "lies in the past", "now is")
	}
	d.expect(term.ExitUsage, "source", "apply", first, "--effective-from", "soon")
	d.noFile()
	d.rows(first)
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		r := d.writesNothing(append([]string{"source", "apply", second, "--effective-from", "-1h"}, dry...)...)
		if r.code != term.ExitUsage {
			t.Errorf("%+v", r)
		}
		d.holds(r.err, "lies in the past")
	}
	begun := window.Text(d.rows(first)[0].From)
	d.rows(second)
	for _, dry := range [][]string{nil, {"--dry-run"}} { // it was in force then, and no longer is
		d.holds(d.expect(term.ExitUsage, append([]string{"source", "apply", first, "--effective-from", begun}, dry...)...).err, "lies in the past")
	}
}

func TestApplyKeepsWhoByDefault(t *testing.T) {
	d := newDesk(t)
	d.rows(d.crossrefFile("first.yaml"))
	var versions []view.SourceVersion
	d.decode(d.expect(term.ExitOK, "source", "history", "crossref", "-o", "json").out, &versions)
	if len(versions) != 1 || versions[0].Actor != term.SystemUser() || versions[0].Actor == "" || versions[0].Reason != "" {
		t.Errorf("%+v", versions)
	}
}

func TestDiff(t *testing.T) {
	d := emptyDesk(t)
	same := d.crossrefFile("same.yaml", "timeout: PT90S", "timeout: PT1M30S")
	if r := d.expect(term.ExitOK, "source", "diff", same); r.out != same+": no change against the bundled version of crossref\n" || r.err != "" {
		t.Errorf("%s%s", r.out, r.err)
	}
	other := d.crossrefFile("other.yaml", "docs: https://api.crossref.org/swagger-ui/index.html\n", "", "perSecond: 3", "perSecond: 2", "safetyLag: PT30M", "safetyLag: PT30M\n      maxWindow: P7D")
	r := d.expect(term.ExitChanges, "source", "diff", other)
	if want := "--- crossref (bundled)\n+++ " + other + "\n- docs https://api.crossref.org/swagger-ui/index.html\n+ endpoints.works.window.maxWindow P7D\n~ rate.perSecond 3 -> 2\n"; r.out != want {
		t.Errorf("%s\nwant\n%s", r.out, want)
	}
	d.holds(r.err, "3 values would change", "patra source apply "+other)
	mine := d.crossrefFile("mine.yaml", "source: crossref", "source: mine")
	var all []view.SourceDifference
	d.decode(d.expect(term.ExitChanges, "source", "diff", same, mine, "-o", "json").out, &all)
	if len(all) != 2 || all[0].Against != "bundled" || all[0].Changes == nil || len(all[0].Changes) != 0 || all[1].Against != "nothing" || len(all[1].Changes) < 50 {
		t.Errorf("%+v", all)
	}
	d.expect(term.ExitUsage, "source", "diff")
	d.holds(d.expect(term.ExitUsage, "source", "diff", d.crossrefFile("bad.yaml", "perSecond: 3", "perSecond: x"), same).err, "E-TYPE")
	d.noFile()
}

package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/view"
)

// crossrefFile is the bundled source as a user's file, with changes.
func (d *desk) crossrefFile(name string, changes ...string) string {
	d.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		d.Fatal(err)
	}
	return d.write(name, d.changed(string(text), changes...))
}

// changed insists that each change has something to change.
func (d *desk) changed(text string, changes ...string) string {
	d.Helper()
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			d.Fatalf("no %q to change", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

func TestBundledSourcesNeedNoDatabase(t *testing.T) {
	d := newDesk(t)
	d.holds(d.expect(exitOK, "source", "list").out, "crossref", "bundled", "works")
	r := d.expect(exitOK, "source", "show", "crossref", "--set", "rate.perSecond=1.5")
	d.holds(r.out, "rate.perSecond", "1.5", "override", "platform default", "endpoint (crossref.yaml:")
	d.fits(r.out)
	d.holds(r.err, "crossref works HARVEST (bundled), fingerprint ")
	d.holds(d.expect(exitNotFound, "source", "show", "nobody").err, "nobody", "crossref")
	d.holds(d.expect(exitOK, "source", "apply", "--dry-run", d.crossrefFile("c.yaml")).out, "pending")
	d.noFile()
}

func TestSourceShowJSON(t *testing.T) {
	d := newDesk(t)
	show := func(args ...string) (c configuration) {
		t.Helper()
		d.decode(d.expect(exitOK, append([]string{"source", "show", "crossref", "-o", "json"}, args...)...).out, &c)
		return c
	}
	plain, slow := show(), show("--set", "rate.perSecond=1", "--op", "BACKFILL", "--endpoint", "works")
	if plain.Source != "crossref" || plain.Name != "Crossref" || plain.Origin != "bundled" || plain.Endpoint != "works" || plain.Operation != "HARVEST" || plain.Warnings == nil {
		t.Errorf("%+v", plain)
	}
	if len(plain.Fingerprint) != 64 || plain.Fingerprint == slow.Fingerprint || slow.Operation != "BACKFILL" {
		t.Errorf("fingerprints %s and %s", plain.Fingerprint, slow.Fingerprint)
	}
	rate := func(c configuration) string {
		for _, s := range c.Settings {
			if s.Path == "rate.perSecond" {
				return s.Value + " " + s.From
			}
		}
		return "missing"
	}
	if got := rate(plain); !strings.HasPrefix(got, "3 provenance (crossref.yaml:") {
		t.Error(got)
	}
	if got := rate(slow); got != "1 override" {
		t.Error(got)
	}
}

func TestSourceShowRefuses(t *testing.T) {
	d := newDesk(t)
	for text, args := range map[string][]string{
		"METRICS":       {"--op", "METRICS"},
		"rate.perSecnd": {"--set", "rate.perSecnd=1"},
		"no =":          {"--set", "rate.perSecond"},
		"journals":      {"--endpoint", "journals"},
		"jitter":        {"--set", "retry.jitter=3"},
		"accepts 1":     {"pubmed"},
	} {
		d.holds(d.expect(exitUsage, append([]string{"source", "show", "crossref"}, args...)...).err, text)
	}
}

func TestValidate(t *testing.T) {
	d := newDesk(t)
	good := d.crossrefFile("good.yaml")
	if r := d.expect(exitOK, "source", "validate", good); r.out != good+": ok (source crossref, 1 endpoint)\n" || r.err != "" {
		t.Errorf("%s%s", r.out, r.err)
	}
	typo := d.crossrefFile("typo.yaml", "source: crossref", "source: other", "perSecond: 3", "perSecnd: 3", "role: SEARCH", "role: SEEK")
	rule := d.crossrefFile("rule.yaml", "source: crossref", "source: third", "jitter: 0.3", "jitter: 3", "path: /works", "path: ${nothing}")
	missing := d.dir + "/missing.yaml"
	r := d.expect(exitUsage, "source", "validate", typo, good, rule, missing)
	if r.out != good+": ok (source crossref, 1 endpoint)\n" {
		t.Errorf("%s", r.out)
	}
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if len(lines) != 6 || lines[0] != "patra: 5 problems:" {
		t.Fatalf("%s", r.err)
	}
	for i, want := range []string{typo + ":30:3: rate.perSecnd", typo + ":46:11: endpoints.works.role", rule + ":42:11: retry.jitter", rule + ":50:13: endpoints.works.request.path", missing + ": cannot be read: "} {
		if !strings.HasPrefix(lines[i+1], want) {
			t.Errorf("%s\nwant %s", lines[i+1], want)
		}
	}
	d.expect(exitUsage, "source", "validate")
	d.noFile()
}

func TestValidateJSON(t *testing.T) {
	d := newDesk(t)
	var files []checked
	d.decode(d.expect(exitUsage, "source", "validate", "-o", "json", d.crossrefFile("good.yaml"), d.write("bad.yaml", "source: x\nname: X\n")).out, &files)
	if len(files) != 2 || files[0].Source != "crossref" || files[0].Endpoints != 1 || len(files[0].Problems) != 0 {
		t.Fatalf("%+v", files)
	}
	if p := files[1].Problems; len(p) != 1 || p[0].Line == 0 || !strings.Contains(p[0].Path+p[0].Message, "endpoints") {
		t.Errorf("%+v", p)
	}
}

func TestOneSourceInTwoFiles(t *testing.T) {
	d := newDesk(t)
	first, second := d.crossrefFile("a.yaml"), d.crossrefFile("b.yaml", "perSecond: 3", "perSecond: 2")
	for _, verb := range []string{"validate", "apply"} {
		d.holds(d.expect(exitUsage, "source", verb, first, second).err, second+": source: source crossref is also given by "+first)
	}
	d.noFile()
}

// rows asks what an apply did or would do.
func (d *desk) rows(args ...string) (out []applied) {
	d.Helper()
	d.decode(d.expect(exitOK, append([]string{"source", "apply", "-o", "json"}, args...)...).out, &out)
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
		{"a section more", d.crossrefFile("third.yaml", "    role: SEARCH\n", "    role: SEARCH\n    operations:\n      BACKFILL:\n        rate:\n          perSecond: 1\n")},
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
		for _, again := range []applied{d.rows(step.file, "--dry-run")[0], d.rows(step.file)[0]} {
			if again.Rows != 0 || again.Outcome != "unchanged" {
				t.Errorf("%s again: %+v", step.name, again)
			}
		}
	}
	d.holds(d.expect(exitOK, "source", "apply", first).out, "unchanged")
	var sources []view.Source
	d.decode(d.expect(exitOK, "source", "list", "-o", "json").out, &sources)
	if len(sources) != 1 || sources[0].Origin != "applied" || sources[0].From.IsZero() {
		t.Errorf("%+v", sources)
	}
	d.holds(d.expect(exitOK, "source", "show", "crossref").err, "(applied)")
}

func TestApplyAllOrNothing(t *testing.T) {
	d := newDesk(t)
	good := d.crossrefFile("good.yaml")
	bad := d.crossrefFile("bad.yaml", "source: crossref", "source: other", "perSecond: 3", "perSecond: x")
	d.holds(d.expect(exitUsage, "source", "apply", good, bad).err, bad+":30:14")
	d.noFile()
	d.empty()
	if r := d.writesNothing("source", "apply", good, bad); r.code != exitUsage || r.out != "" {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	other := d.crossrefFile("other.yaml", "source: crossref", "source: other")
	if done := d.rows(good, other); len(done) != 2 || done[0].Source != "crossref" || done[1].Source != "other" {
		t.Errorf("%+v", done)
	}
	d.expect(exitUsage, "source", "apply")
}

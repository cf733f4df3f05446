package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
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
	d := emptyDesk(t)
	d.holds(d.expect(term.ExitOK, "source", "list").out, "crossref", "bundled", "works")
	d.holds(d.expect(term.ExitNotFound, "source", "show", "nobody").err, "nobody", "crossref")
	d.holds(d.expect(term.ExitOK, "source", "apply", "--dry-run", d.crossrefFile("c.yaml")).out, "pending")
	for _, args := range [][]string{
		{"show", "crossref"}, {"explain", "crossref"}, {"export", "crossref"}, {"history", "crossref"}, {"schema"}, {"render", "crossref"},
		{"diff", d.crossrefFile("same.yaml")}, {"new", "mine", "--file", "-"},
	} {
		if r := d.expect(term.ExitOK, append([]string{"source"}, args...)...); r.out == "" {
			t.Errorf("%v says nothing", args)
		}
	}
	d.noFile()
}

func TestSourceShow(t *testing.T) {
	d := newDesk(t)
	d.golden("source_show", d.expect(term.ExitOK, "source", "show", "crossref").out)
	file := d.crossrefFile("mine.yaml", "name: Crossref", "name: Mine")
	d.holds(d.expect(term.ExitOK, "source", "show", file).out, "origin       file", "Mine")
	for _, code := range catalog.List() {
		d.fits(d.expect(term.ExitOK, "source", "show", code).out)
	}
	d.holds(d.expect(term.ExitOK, "source", "show", "semanticscholar").out, "the whole list each time; a reading counts for P7D")
	var v source.Overview
	d.decode(d.expect(term.ExitOK, "source", "show", "crossref", "-o", "json").out, &v)
	if v.Source != "crossref" || v.Origin != "bundled" || len(v.Endpoints) != 2 || v.Endpoints[1].Role != "SEARCH" || v.Credentials == nil || v.Next != nil {
		t.Errorf("%+v", v)
	}
	d.expect(term.ExitUsage, "source", "show", d.crossrefFile("bad.yaml", "perSecond: 3", "perSecnd: 3"))
}

func TestValidate(t *testing.T) {
	d := emptyDesk(t)
	good := d.crossrefFile("good.yaml")
	if r := d.expect(term.ExitOK, "source", "validate", good); r.out != good+": ok (source crossref, 2 endpoints)\n" || r.err != "" {
		t.Errorf("%s%s", r.out, r.err)
	}
	typo := d.crossrefFile("typo.yaml", "source: crossref", "source: other", "perSecond: 3", "perSecnd: 3", "role: SEARCH", "role: SEEK")
	rule := d.crossrefFile("rule.yaml", "source: crossref", "source: third", "jitter: 0.3", "jitter: 3", "path: /works", "path: ${nothing}")
	missing := d.dir + "/missing.yaml"
	r := d.expect(term.ExitUsage, "source", "validate", typo, good, rule, missing)
	if r.out != good+": ok (source crossref, 2 endpoints)\n" {
		t.Errorf("%s", r.out)
	}
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if len(lines) != 6 || lines[0] != "patra: 5 problems:" {
		t.Fatalf("%s", r.err)
	}
	for i, want := range []string{typo + ":30:3: rate.perSecnd", typo + ":94:11: endpoints.works.role", rule + ":42:11: retry.jitter", rule + ":98:13: endpoints.works.request.path", missing + ": E-FILE: cannot be read: "} {
		if !strings.HasPrefix(lines[i+1], want) {
			t.Errorf("%s\nwant %s", lines[i+1], want)
		}
	}
	d.expect(term.ExitUsage, "source", "validate")
	d.noFile()
}

func TestValidateJSON(t *testing.T) {
	d := newDesk(t)
	var files []view.CheckedFile
	d.decode(d.expect(term.ExitUsage, "source", "validate", "-o", "json", d.crossrefFile("good.yaml"), d.write("bad.yaml", "source: x\nname: X\n")).out, &files)
	if len(files) != 2 || files[0].Source != "crossref" || files[0].Endpoints != 2 || len(files[0].Problems) != 0 {
		t.Fatalf("%+v", files)
	}
	if p := files[1].Problems; len(p) != 1 || p[0].Line == 0 || p[0].Code != "E-REQUIRED" || !strings.Contains(p[0].Path+p[0].Message, "endpoints") {
		t.Errorf("%+v", p)
	}
}

// What a good source cannot do is told by every command that takes its file.
func TestWarningsOfAFile(t *testing.T) {
	d := newDesk(t)
	file := d.crossrefFile("poor.yaml", "      total: $.message['total-results']\n", "", "      expectTotal: true\n", "",
		"    operations:\n", "    operations:\n      HARVEST:\n        window:\n          namespace: GLOBAL\n")
	everywhere, here := file+": warning: works HARVEST, BACKFILL, UPDATE: W-NO-TOTAL: ", file+": warning: works HARVEST: W-GLOBAL-WATERMARK: "
	for _, c := range []struct {
		verb string
		code int
	}{{"validate", term.ExitOK}, {"diff", term.ExitChanges}, {"apply", term.ExitOK}} {
		r := d.expect(c.code, "source", c.verb, file)
		d.holds(r.err, everywhere, here)
		if n := strings.Count(r.err, "W-"); n != 2 {
			t.Errorf("%s: %d warnings, want 2:\n%s", c.verb, n, r.err)
		}
	}
	for _, verb := range []string{"validate", "diff", "apply"} {
		var all []struct{ Warnings []view.FileWarning }
		d.decode(d.expect(term.ExitOK, "source", verb, file, "-o", "json").out, &all)
		if len(all) != 1 || len(all[0].Warnings) != 2 {
			t.Fatalf("%s: %+v", verb, all)
		}
		if w := all[0].Warnings[1]; w.Code != "W-GLOBAL-WATERMARK" || w.Message == "" || w.Endpoint != "works" || strings.Join(w.Operations, " ") != "HARVEST" {
			t.Errorf("%s: %+v", verb, w)
		}
		if r := d.expect(term.ExitOK, "source", verb, file, "-q"); r.err != "" {
			t.Errorf("%s -q: %s", verb, r.err)
		}
	}
}

func TestOneSourceInTwoFiles(t *testing.T) {
	d := emptyDesk(t)
	first, second := d.crossrefFile("a.yaml"), d.crossrefFile("b.yaml", "perSecond: 3", "perSecond: 2")
	for _, verb := range []string{"validate", "apply"} {
		d.holds(d.expect(term.ExitUsage, "source", verb, first, second).err, second+": source: E-SOURCE-TWICE: source crossref is also given by "+first)
	}
	d.noFile()
}

// What is set for a run may be a secret: an error names the path alone.
func TestSetIsNotRepeated(t *testing.T) {
	d := newDesk(t)
	const canary = "s3cr3t-canary"
	for _, set := range []string{
		"auth.required=" + canary, "auth.nix=" + canary, "request.headers.Authorization=" + canary, "request.headers.Authorization=" + canary + "${",
		"http.baseUrl=https://u:" + canary + "@h", "http.baseUrl=u:" + canary + "@h", "=" + canary,
	} {
		r := d.expect(term.ExitUsage, "source", "explain", "crossref", "--set", set)
		path, _, _ := strings.Cut(set, "=")
		if strings.Contains(r.out+r.err, canary) || !strings.Contains(r.err, path) {
			t.Errorf("%s: %s%s", path, r.out, r.err)
		}
	}
}

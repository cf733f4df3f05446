package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
)

// What people start from must be right as it stands, whatever its name.
func TestSkeletonIsASource(t *testing.T) {
	for _, name := range []string{"mine", "my-source_2", "yes", "null", "x"} {
		text := source.SkeletonLike("", name, name+".yaml")
		src, _, err := registry.Decode(name+".yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := src.Validate(); len(problems) > 0 || src.Code != name || src.Name != name {
			t.Errorf("%s: %q %q %v", name, src.Code, src.Name, problems)
		}
		for _, op := range []ingest.Operation{ingest.Harvest, ingest.Backfill, ingest.Update} {
			if _, err := daemon.Compile(src, "", op, nil); err != nil {
				t.Fatalf("%s %s: %v", name, op, err)
			}
		}
		if strings.Contains(strings.ReplaceAll(text, "example.org", ""), "xample") {
			t.Errorf("%s: the placeholder is still there", name)
		}
	}
}

// The commented parts must be right too.
func TestSkeletonCommentsAreRight(t *testing.T) {
	var lines []string
	for line := range strings.Lines(source.Skeleton) {
		for _, start := range []string{"# credentials:", "#   key: ", "# auth:", "#   credential: "} {
			if strings.HasPrefix(line, start) {
				line = line[2:]
			}
		}
		for _, key := range []string{"zone: ", "format: ", "earliest: "} {
			line = strings.Replace(line, "      # "+key, "      "+key, 1)
		}
		lines = append(lines, line)
	}
	src, _, err := registry.Decode("example.yaml", []byte(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	if problems := src.Validate(); len(problems) > 0 || len(src.Credentials) != 1 || src.Endpoints["items"].Window.Earliest == "" {
		t.Errorf("%v", problems)
	}
}

func TestSourceNew(t *testing.T) {
	d := emptyDesk(t)
	file := filepath.Join(d.dir, "mine.yaml")
	r := d.expect(term.ExitOK, "source", "new", "mine", "--file", file)
	d.holds(r.out, "wrote "+file)
	d.holds(r.err, "patra source validate "+file, "patra source test "+file, "patra source apply "+file)
	d.expect(term.ExitOK, "source", "validate", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d.holds(string(text), "source: mine\n", "env:MINE_API_KEY", "patra source test "+file)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.holds(d.expect(term.ExitConflict, "source", "new", "mine", "--file", file).err, "was not touched")
	if kept, _ := os.ReadFile(file); string(kept) != "mine" {
		t.Error("a file was overwritten")
	}
	if out := d.expect(term.ExitOK, "source", "new", "mine", "--file", "-").out; out != source.SkeletonLike("", "mine", "mine.yaml") {
		t.Error(out)
	}
	d.holds(d.expect(term.ExitOK, "source", "new", "crossref", "--file", "-").err, "patra source export crossref")
	d.expect(term.ExitFailure, "source", "new", "mine", "--file", d.dir+"/none/mine.yaml")
	t.Chdir(d.dir)
	var done source.Created
	d.decode(d.expect(term.ExitOK, "source", "new", "other", "-o", "json").out, &done)
	if done != (source.Created{Source: "other", File: "other.yaml"}) {
		t.Errorf("%+v", done)
	}
	d.noFile()
}

func TestSourceNewRefusesNames(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"", "Mine", "9x", "a b", "a: b", "../x", "a\nb", "ä", strings.Repeat("x", 65), "a\"b", "{}"} {
		r := d.expect(term.ExitUsage, "source", "new", name, "--file", "-")
		d.holds(r.err, "is not a source code", "a lower-case letter")
		if r.out != "" {
			t.Errorf("%q: %s", name, r.out)
		}
	}
}

// A data engineer's ten minutes: from the skeleton to records of a real answer.
func TestFromSkeletonToRecords(t *testing.T) {
	d := newDesk(t)
	_, server := d.simulated("")
	file := d.write("mine.yaml", d.changed(source.SkeletonLike("", "mine", "mine.yaml"),
		"baseUrl: https://api.example.org/v1", "baseUrl: "+server.URL()+"\n  allowPrivate: true",
		"path: /items", "path: /works",
		"        updated_from: ${filter.from}\n        updated_to: ${filter.to}\n        limit:", "        filter: from-index-date:${filter.from},until-index-date:${filter.to}\n        rows:",
		"type: TOKEN\n      size: 100", "type: TOKEN\n      initial: \"*\"\n      endOnShortPage: true\n      size: 100",
		"items: $.items", "items: $.message.items", "$.nextCursor", "$.message['next-cursor']", "total: $.total ", "total: $.message['total-results'] ",
		"id: $.id", "id: $.DOI", "updatedAt: $.updated_at", "updatedAt: $.indexed['date-time']", "filtered: $.updated_at", "filtered: $.indexed['date-time']",
		"- $.items", "- $.message.items", "title: $.title", "title: $.title[0]", "url: $.url", "url: $.URL"))
	d.expect(term.ExitOK, "source", "validate", file)
	var page trialPage
	d.decode(d.expect(term.ExitOK, "source", "test", file, "--window", firstOfMarch, "-o", "json").out, &page)
	if page.Mapped != 12 || page.Total != 12 || !page.Decision.Done || len(page.Records) != 3 || page.Records[0].Fields["title"] == nil {
		t.Errorf("%+v", page)
	}
	d.expect(term.ExitOK, "source", "apply", file)
	done := d.expect(term.ExitOK, "harvest", "mine", "--from", "2025-03-01", "--to", "2025-03-02", "-o", "json")
	var s work.Summary
	d.decode(done.out, &s)
	if s.Stats.Inserted != 12 || s.CursorTo == "" {
		t.Errorf("%+v", s)
	}
}

package extract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

func recording(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("NOT TESTED: PATRA_FIXTURES names no folder with recorded answers")
	}
	body, err := os.ReadFile(filepath.Join(root, "crossref", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func crossref(t *testing.T) *spec.Program {
	t.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	source, _, err := registry.Decode(catalog.File("crossref"), text)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := registry.Resolve(source, "works", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := spec.Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	program, err := compiled.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var allTime = extract.Asked{Window: window.Window{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}}

func TestRecordedCrossrefWalk(t *testing.T) {
	program := crossref(t)
	ids, tokens := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"works-cursor-p1.json", "works-cursor-p2.json", "works-cursor-p3.json"} {
		page, err := program.Read.Read(recording(t, name), allTime)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if page.Seen != 20 || len(page.Records) != 20 || len(page.Rejects) != 0 || page.Outside != 0 || page.Duplicate != 0 {
			t.Errorf("%s: %d seen, %d records, rejects %+v", name, page.Seen, len(page.Records), page.Rejects)
		}
		if page.Says.Total == nil || *page.Says.Total != 454 || page.Says.Token == "" {
			t.Errorf("%s: paging saw %+v", name, page.Says)
		}
		tokens[page.Says.Token] = true
		for _, r := range page.Records {
			if ids[r.ProviderID] || r.ProviderID != strings.ToLower(r.ProviderID) || !strings.HasPrefix(r.ProviderID, "10.") || len(r.Fields) < 20 {
				t.Errorf("%s: id %q, fields %s", name, r.ProviderID, r.Fields)
			}
			ids[r.ProviderID] = true
		}
	}
	if len(ids) != 60 || !ids["10.1007/978-1-4302-0197-7_9"] || !ids["10.1145/3027385.3027428"] || !ids["10.1038/nature.2016.9804"] {
		t.Errorf("%d distinct ids", len(ids))
	}
	// The cursor is the same text on every page: it names a walk, not a page.
	if len(tokens) != 1 {
		t.Errorf("%d different cursors, want one", len(tokens))
	}
}

func TestRecordedCrossrefEmptyPage(t *testing.T) {
	page, err := crossref(t).Read.Read(recording(t, "works-empty.json"), allTime)
	if err != nil {
		t.Fatal(err)
	}
	if page.Seen != 0 || len(page.Records) != 0 || page.Says.Total == nil || *page.Says.Total != 0 {
		t.Errorf("%+v", page)
	}
}

// Error documents of Crossref are never pages, whatever status they come with.
func TestRecordedCrossrefErrorsAreNoPages(t *testing.T) {
	program := crossref(t)
	for _, name := range []string{
		"error-400-rows-not-a-number.json", "error-400-unknown-filter.json", "error-404-invalid-cursor.json", "error-404-unknown-doi.txt",
		"error-429.html", "error-500-invalid-cursor-older.json", "error-504.html",
	} {
		if page, err := program.Read.Read(recording(t, name), allTime); err == nil {
			t.Errorf("%s was read as a page of %d items", name, page.Seen)
		}
	}
}

// The pages of one walk lie in many years: where we filter, a day keeps its own
// works only; where the upstream does, all of them are kept.
func TestRecordedCrossrefOutsideItems(t *testing.T) {
	day := extract.Asked{Window: window.Window{From: time.Date(2024, 9, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 9, 5, 0, 0, 0, 0, time.UTC)}}
	chosen, err := crossref(t).Read.Read(recording(t, "works-cursor-p1.json"), day)
	if err != nil || len(chosen.Records) != 20 || chosen.Outside != 0 || chosen.Kept == 0 {
		t.Errorf("%+v %v", chosen, err)
	}
	day.Drop = true
	page, err := crossref(t).Read.Read(recording(t, "works-cursor-p1.json"), day)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Records)+page.Outside != 20 || len(page.Records) == 0 || page.Outside == 0 {
		t.Errorf("%d records, %d outside", len(page.Records), page.Outside)
	}
	for _, r := range page.Records {
		if !day.Window.Contains(r.UpdatedAt) {
			t.Errorf("%s of %v was kept", r.ProviderID, r.UpdatedAt)
		}
	}
}

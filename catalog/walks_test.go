package catalog_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Recorded walks: what the definition asks for after the first page is what was
// asked for when the second was recorded.
func TestRecordedWalks(t *testing.T) {
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("PATRA_FIXTURES names no folder with recorded answers")
	}
	for _, walk := range []struct{ parameter, page, next string }{
		{"cursor", "crossref/works-cursor-p1.json", "crossref/works-cursor-p2.json"},
		{"cursor", "crossref/works-cursor-p2.json", "crossref/works-cursor-p3.json"},
		{"cursor", "openalex/works-cursor-p1.json", "openalex/works-cursor-p2-end-empty.json"},
		{"cursorMark", "europepmc/search-cursor-p01.json", "europepmc/search-cursor-p02.json"},
		{"pageToken", "clinicaltrials/studies-p1.json", "clinicaltrials/studies-p2.json"},
		{"token", "semantic-scholar/bulk-p1.json", "semantic-scholar/bulk-p2.json"},
		{"token", "semantic-scholar/bulk-p2.json", "semantic-scholar/bulk-p3.json"},
		{"token", "semantic-scholar/bulk-p3.json", "semantic-scholar/bulk-p4-last.json"},
		{"offset", "semantic-scholar/search-p1.json", "semantic-scholar/search-p2.json"},
		{"start", "arxiv/query-p1.atom.xml", "arxiv/query-p2.atom.xml"},
		{"resumptionToken", "oai-pmh/pmc-listrecords-p01.xml", "oai-pmh/pmc-listrecords-p02.xml"},
		{"resumptionToken", "oai-pmh/datacite-oai-p1.xml", "oai-pmh/datacite-oai-p2-last.xml"},
		{"resumptionToken", "oai-pmh/dataverse-p1-deleted.xml", "oai-pmh/dataverse-p2-last-selfclosed-token.xml"},
		{"resumptionToken", "oai-pmh/mla-p13-token.xml", "oai-pmh/mla-p14-noRecordsMatch.xml"},
		{"resumptionToken", "oai-pmh/mit-listidentifiers-p1.xml", "oai-pmh/mit-listidentifiers-p2-last.xml"},
	} {
		asked, err := url.Parse(indexed(t, root, walk.next).URL)
		if err != nil {
			t.Fatal(err)
		}
		got, want := nextOf(t, root, walk.page).Query().Get(walk.parameter), asked.Query().Get(walk.parameter)
		if got != want || want == "" {
			t.Errorf("after %s: %s is %q, recorded was %q", walk.page, walk.parameter, got, want)
		}
	}
}

func TestRecordedEnds(t *testing.T) {
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("PATRA_FIXTURES names no folder with recorded answers")
	}
	for _, file := range []string{
		"crossref/works-empty.json", "openalex/works-cursor-p2-end-empty.json", "europepmc/search-no-results.json", "europepmc/search-complete-in-one-page.json",
		"clinicaltrials/studies-last-no-token.json", "semantic-scholar/bulk-p4-last.json", "semantic-scholar/search-empty.json", "arxiv/id-unknown-empty.atom.xml",
		"datacite/dois-updated-range-single-page.json", "datacite/dois-empty.json", "pubmed/esearch-json-empty-phrase-not-found.json",
		"oai-pmh/pmc-listrecords-p17-last.xml", "oai-pmh/datacite-oai-p2-last.xml", "oai-pmh/dataverse-p2-last-selfclosed-token.xml", "oai-pmh/bepress-p3-last.xml",
		"oai-pmh/mla-p14-noRecordsMatch.xml", "oai-pmh/zenodo-single-page.xml", "oai-pmh/mit-listidentifiers-p2-last.xml", "oai-pmh/mit-listrecords-noRecordsMatch.xml",
	} {
		p, page := pageOf(t, root, file)
		p.Paging.ExpectTotal = nil // a recording may be one page of a longer walk
		if d := p.Paging.Advance(p.Paging.First(), page.Says); !d.Done || d.Err != nil {
			t.Errorf("%s is not the end: %+v", file, d)
		}
	}
}

func pageOf(t *testing.T, root, file string) (*spec.Program, *extract.Page) {
	t.Helper()
	p := claims[file].program(t)
	body, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.Read.Read(body, extract.Asked{Window: always, FetchAt: noon})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	page.Says.New = distinct(page.Keys)
	return p, page
}

// nextOf is the address of the page after a recorded one.
func nextOf(t *testing.T, root, file string) *url.URL {
	t.Helper()
	p, page := pageOf(t, root, file)
	p.Paging.MaxResults = 0 // what the next page is, not whether the recorded query could be read to its end
	d := p.Paging.Advance(p.Paging.First(), page.Says)
	if d.Err != nil || d.Done {
		t.Fatalf("%s: %+v", file, d)
	}
	q, err := p.Ask(day, noon)
	if err != nil {
		t.Fatal(err)
	}
	request, err := q.Page(d.Next)
	if err != nil {
		t.Fatal(err)
	}
	return request.URL
}

package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
)

// The mapped records of one answer of each source: every output field that the
// answer has, as it is stored.
func TestMappedRecords(t *testing.T) {
	for _, a := range []answer{
		{source: "arxiv", endpoint: "papers", file: "page.atom.xml"},
		{source: "biorxiv", endpoint: "biorxiv", file: "page.json"},
		{source: "clinicaltrials", endpoint: "studies", file: "page.json"},
		{source: "crossref", endpoint: "works", file: "page.json"},
		{source: "datacite", endpoint: "dois", file: "page.json"},
		{source: "doaj", endpoint: "articles", file: "page.json"},
		{source: "europepmc", endpoint: "articles", file: "page.json"},
		{source: "openalex", endpoint: "works", file: "page.json"},
		{source: "pmc", endpoint: "records", file: "page.xml"},
		{source: "pubmed", endpoint: "efetch", file: "efetch.xml"},
		{source: "semanticscholar", endpoint: "papers", file: "page.json"},
		{source: "core", endpoint: "works", file: "page.json"},
		{source: "dblp", endpoint: "publications", file: "page.xml"},
		{source: "dimensions", endpoint: "publications", file: "page.json"},
		{source: "figshare", endpoint: "records", file: "page.xml"},
		{source: "github", endpoint: "releases", file: "page.json"},
		{source: "jstage", endpoint: "articles", file: "page.xml"},
		{source: "lens", endpoint: "works", file: "page.json"},
		{source: "openaire", endpoint: "products", file: "page.json"},
		{source: "opencitations", endpoint: "citations", file: "page.json"},
		{source: "scopus", endpoint: "records", file: "page.json"},
		{source: "arxivoai", endpoint: "records", file: "page.xml"},
		{source: "hal", endpoint: "documents", file: "page.json"},
		{source: "inspirehep", endpoint: "literature", file: "page.json"},
		{source: "nasaads", endpoint: "records", file: "page.json"},
		{source: "orcid", endpoint: "record", file: "page.json"},
		{source: "ror", endpoint: "organizations", file: "page.json"},
		{source: "scielo", endpoint: "records", file: "page.xml"},
		{source: "wikidata", endpoint: "entities", file: "page.json"},
		{source: "zenodo", endpoint: "records", file: "page.json"},
		{source: "unpaywall", endpoint: "by_doi", file: "page.json"},
		{source: "openalexfiles", endpoint: "works", file: "part.jsonl"},
		{source: "orciddump", endpoint: "records", file: "part.xml"},
		{source: "pubmedfiles", endpoint: "articles", file: "part.xml"},
		{source: "rordump", endpoint: "organizations", file: "part.json"},
		{source: "s2datasets", endpoint: "papers", file: "part.jsonl"},
		{source: "unpaywallfeed", endpoint: "changes", file: "part.jsonl"},
	} {
		p := program(t, bundled(t, a.source), a.endpoint)
		if p.ReadsFiles() {
			p = p.Detail // the first step reads the listing
		}
		page, err := p.Read.Read(a.body(t), extract.Asked{Window: always, FetchAt: noon, IDs: []string{"10.5555/made.1"}})
		if err != nil {
			t.Fatalf("%s: %v", a.source, err)
		}
		var got strings.Builder
		for _, r := range page.Records {
			if r.Gone && len(r.Fields) == 0 {
				fmt.Fprintf(&got, "# %s, gone\n", r.ProviderID)
				continue
			}
			var fields bytes.Buffer
			if err := json.Indent(&fields, r.Fields, "", "  "); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "# %s, version %d\n%s\n", r.ProviderID, r.SourceVersion, &fields)
		}
		compare(t, filepath.Join("testdata", a.source, "records.golden"), got.String())
	}
}

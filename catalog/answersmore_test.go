package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// answersMore are answers of sources whose shapes are those of others: searches of Solr and of Invenio,
// repositories of OAI-PMH, and two that name ids first.
var answersMore = []answer{
	{source: "hal", endpoint: "documents", file: "page.json", next: "AoEmOTAwMDAwMg==", records: []string{"9000001@2024-05-04T10:11:12Z", "9000002@2024-05-04T12:00:00Z"}},
	{source: "hal", endpoint: "documents", file: "error.json", refused: "errorWhen $.error saw"},
	{source: "hal", endpoint: "by_id", file: "page.json", records: []string{"9000001@2024-05-04T10:11:12Z", "9000002@2024-05-04T12:00:00Z"}},

	{source: "inspirehep", endpoint: "literature", file: "page.json", done: "total", records: []string{"9000001@2024-05-04T10:11:12.123456Z", "9000002@2024-05-04T01:00:00Z"}},
	{source: "inspirehep", endpoint: "literature", file: "error.json", refused: "errorWhen $.message saw"},

	{source: "nasaads", endpoint: "records", file: "page.json", done: "total", records: []string{"2024Made..1....1E@2024-05-04T00:00:00Z", "2024zndo..90000002S@2024-05-04T00:00:00Z"}},
	{source: "nasaads", endpoint: "records", file: "error.json", refused: "errorWhen $.error saw"},

	{source: "orcid", endpoint: "search", file: "search.json", done: "total", records: []string{"0000-0000-0000-0001", "0000-0000-0000-000X"}},
	{source: "orcid", endpoint: "search", file: "empty.json", empty: true, done: "empty page"},
	{source: "orcid", endpoint: "search", file: "error.json", refused: "errorWhen $['error-code'] saw 9016"},
	{source: "orcid", endpoint: "record", file: "page.json", records: []string{"0000-0000-0000-0001@2024-05-04T10:11:12.123Z"}},

	{source: "ror", endpoint: "organizations", file: "page.json", done: "total", records: []string{"https://ror.org/0made0001@2024-05-04T00:00:00Z", "https://ror.org/0made0002@2024-05-04T00:00:00Z"}},
	{source: "ror", endpoint: "organizations", file: "error.json", refused: "errorWhen $.errors saw"},

	{source: "scielo", endpoint: "records", file: "page.xml", next: "made!2", records: []string{"oai:scielo:S9000-00001@2024-05-04T00:00:00Z"}, gone: []string{"oai:scielo:S9000-00002"}},
	{source: "scielo", endpoint: "records", file: "last.xml", state: after(2, 3), done: "no next token", records: []string{"oai:scielo:S9000-00003@2024-05-04T00:00:00Z"}},
	{source: "scielo", endpoint: "records", file: "empty.xml", empty: true, done: "no next token"},
	{source: "scielo", endpoint: "records", file: "error.xml", refused: "errorWhen"},

	{source: "arxivoai", endpoint: "records", file: "page.xml", next: "made!2", records: []string{"oai:arXiv.org:9905.00001@2024-05-04T00:00:00Z"}, gone: []string{"oai:arXiv.org:9905.00002"}},
	{source: "arxivoai", endpoint: "records", file: "last.xml", state: after(2, 3), done: "no next token", records: []string{"oai:arXiv.org:9905.00003@2024-05-04T00:00:00Z"}},
	{source: "arxivoai", endpoint: "records", file: "empty.xml", empty: true, done: "no next token"},
	{source: "arxivoai", endpoint: "records", file: "error.xml", refused: "errorWhen"},

	{source: "wikidata", endpoint: "changes", file: "changes.json", next: "20240504101113|900003", records: []string{"Q9000001", "Q9000002"}},
	{source: "wikidata", endpoint: "changes", file: "end.json", state: after(2, -1), done: "no next token"},
	{source: "wikidata", endpoint: "changes", file: "error.json", refused: "errorWhen $.error saw"},
	{source: "wikidata", endpoint: "entities", file: "page.json", records: []string{"Q9000001@2024-05-04T10:11:11Z"}},

	{source: "zenodo", endpoint: "records", file: "page.json", done: "total", records: []string{"9000001@2024-05-04T10:11:12.123456Z", "9000002@2024-05-04T11:00:00Z"}},
	{source: "zenodo", endpoint: "records", file: "page.json", state: after(2, 9), fails: fault.ShortCount, records: []string{"9000001@2024-05-04T10:11:12.123456Z", "9000002@2024-05-04T11:00:00Z"}},
	{source: "zenodo", endpoint: "records", file: "error.json", refused: "errorWhen $.message saw"},
}

// Every bundled source has an answer of our own making, and what it becomes.
func TestEverySourceHasAnAnswer(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		source := strings.TrimSuffix(file, ".yaml")
		if text, err := os.ReadFile(filepath.Join("testdata", source, "records.golden")); err != nil || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s has no records.golden with a record: %v", source, err)
		}
	}
}

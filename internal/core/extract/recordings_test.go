package extract

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/window"
)

// recordedAnswers is a folder with real answers of many sources; the repository has none.
const recordedAnswers = "PATRA_FIXTURES"

// recordedEndpoints are definitions that only recordings need.
var recordedEndpoints = map[string]Config{
	"esearch xml": {
		Format: document.FormatXML, Items: path("$.eSearchResult.IdList.Id"), ID: sel("$['#text']"), Total: sel("$.eSearchResult.Count"), ErrorWhen: pred("$.eSearchResult.ERROR"),
	},
	"pubmed record": {
		Format: document.FormatXML, Items: path("$.PubmedArticle"), Single: true, ID: sel("$.MedlineCitation.PMID['#text']"), UpdatedAt: sel("$.MedlineCitation.DateRevised"),
	},
	"pubmed dates": {
		Format: document.FormatXML, Items: path("$.PubmedArticleSet.PubmedArticle"), ID: sel("$.MedlineCitation.PMID['#text']"),
		UpdatedAt: sel("$.MedlineCitation.Article.Journal.JournalIssue.PubDate"),
	},
	"pubmed deletions": {
		Format: document.FormatXML, Items: path("$.DeleteCitation.PMID"), ID: sel("$['#text']"), Version: sel("$['@Version']"), Gone: pred("$['#text']")[0],
	},
	"oai identifiers": {
		Format: document.FormatXML, Items: path("$['OAI-PMH'].ListIdentifiers.header"), ID: sel("$.identifier"), UpdatedAt: sel("$.datestamp"),
		NextToken: sel("$['OAI-PMH'].ListIdentifiers.resumptionToken['#text']"),
	},
	"studies":         {Items: path("$.studies"), ID: sel("$.protocolSection.identificationModule.nctId"), Total: sel("$.totalCount"), NextToken: sel("$.nextPageToken")},
	"study":           {Items: path("$"), Single: true, ID: sel("$.protocolSection.identificationModule.nctId")},
	"openalex work":   {Items: path("$"), Single: true, ID: sel("$.id"), UpdatedAt: sel("$.updated_date")},
	"openalex groups": {Items: path("$.group_by"), ID: sel("$.key"), Total: sel("$.meta.count")},
	"openalex ids":    {Items: path("$.results"), ID: sel("$.ids.openalex"), Total: sel("$.meta.count")},
	"datacite doi":    {Items: path("$.data"), Single: true, ID: sel("$.id"), UpdatedAt: sel("$.attributes.updated")},
	"doaj article":    {Items: path("$"), Single: true, ID: sel("$.id"), UpdatedAt: sel("$.last_updated")},
}

// Lines are: file, endpoint, records (gone ones marked), then what paging saw.
const recordedPages = `
arxiv/query-p1.atom.xml                          | arxiv            | 10 total
arxiv/query-p2.atom.xml                          | arxiv            | 10 total
arxiv/query-p3.atom.xml                          | arxiv            | 10 total
arxiv/id-unknown-empty.atom.xml                  | arxiv            | 0 total empty
arxiv/id-one-of-two-missing.atom.xml             | arxiv            | 1 total
arxiv/id-old-style.atom.xml                      | arxiv            | 1 total
arxiv/id-with-version.atom.xml                   | arxiv            | 1 total
biorxiv/biorxiv-details-cursor0.json             | biorxiv          | 79 total more
biorxiv/medrxiv-details-cursor0.json             | biorxiv          | 99 total more
clinicaltrials/studies-p1.json                   | studies          | 5 total token
clinicaltrials/studies-p2.json                   | studies          | 5 token
clinicaltrials/studies-last-no-token.json        | studies          | 3 total
clinicaltrials/studies-recruiting-p1.json        | studies          | 3 total token
clinicaltrials/study-single.json                 | study            | 1
clinicaltrials/study-single-full-nonascii.json   | study            | 1
crossref/works-cursor-p1.json                    | crossref         | 20 total token
crossref/works-cursor-p2.json                    | crossref         | 20 total token
crossref/works-cursor-p3.json                    | crossref         | 20 total token
crossref/works-polite-pool.json                  | crossref         | 2 total
crossref/works-empty.json                        | crossref         | 0 total
crossref/works-rows0-total-only.json             | crossref         | 0 total
crossref/work-no-issued-date.json                | detail           | 1
crossref/work-updated-by-correction.json         | detail           | 1
datacite/dois-page1.json                         | datacite         | 5 total url more
datacite/dois-updated-range-p1of2.json           | datacite         | 25 total url more
datacite/dois-updated-range-single-page.json     | datacite         | 2 total last
datacite/dois-empty.json                         | datacite         | 0 total last
datacite/dois-size0-total.json                   | datacite         | 0 total last
datacite/doi-arxiv.json                          | datacite doi     | 1
doaj/articles-v2-p1.json                         | doaj             | 10 total url
doaj/articles-v2-pagesize2.json                  | doaj             | 2 total url
doaj/articles-v4-p1.json                         | doaj             | 3 total url
doaj/articles-v1-last-page.json                  | doaj             | 98 total
doaj/journals-v2-p1.json                         | doaj             | 10 total url
doaj/article-v2-single.json                      | doaj article     | 1
europepmc/search-cursor-p01.json                 | europepmc        | 100 total token url
europepmc/search-cursor-p02.json                 | europepmc        | 100 total token url
europepmc/search-cursor-p10.json                 | europepmc        | 100 total token url
europepmc/search-core-p1.json                    | europepmc        | 3 total token url
europepmc/search-sorted-cited.json               | europepmc        | 25 total token url
europepmc/search-complete-in-one-page.json       | europepmc        | 5 total
europepmc/search-one-record.json                 | europepmc        | 1 total
europepmc/search-no-results.json                 | europepmc        | 0 total
europepmc/search-lite.xml                        | europepmc xml    | 25 total token
oai-pmh/pmc-listrecords-p01.xml                  | oai              | 50 token
oai-pmh/pmc-listrecords-p02.xml                  | oai              | 50 token
oai-pmh/pmc-listrecords-p17-last.xml             | oai              | 44
oai-pmh/datacite-oai-p1.xml                      | oai              | 50 total token
oai-pmh/datacite-oai-p2-last.xml                 | oai              | 6 total
oai-pmh/dataverse-p1-deleted.xml                 | oai              | 10 gone total token
oai-pmh/dataverse-p2-last-selfclosed-token.xml   | oai              | 9 gone
oai-pmh/bepress-p3-last.xml                      | oai              | 8 total
oai-pmh/zenodo-single-page.xml                   | oai              | 7
oai-pmh/mla-p13-token.xml                        | oai              | 19 token
oai-pmh/mla-p14-noRecordsMatch.xml               | oai              | 0 empty
oai-pmh/mit-listrecords-noRecordsMatch.xml       | oai              | 0 empty
oai-pmh/mit-listrecords-deleted.xml              | oai              | 1 gone
oai-pmh/mit-listidentifiers-p1.xml               | oai identifiers  | 100 token
oai-pmh/mit-listidentifiers-p2-last.xml          | oai identifiers  | 70
openalex/works-cursor-p1.json                    | openalex         | 2 total token
openalex/works-cursor-p2-end-empty.json          | openalex         | 0 total
openalex/works-sample5.json                      | openalex         | 5 total
openalex/works-page1-select-ids.json             | openalex ids     | 1 total
openalex/works-group-by.json                     | openalex groups  | 18 total
openalex/work-single.json                        | openalex work    | 1
pubmed/esearch-json-p1.json                      | esearch          | 3 total
pubmed/esearch-json-100ids.json                  | esearch          | 100 total
pubmed/esearch-json-warning-unknown-sort.json    | esearch          | 3 total
pubmed/esearch-json-empty-phrase-not-found.json  | esearch          | 0 total empty
pubmed/esearch-xml-usehistory-edat60.xml         | esearch xml      | 100 total
pubmed/esearch-xml-edat-reldate90.xml            | esearch xml      | 8 total
pubmed/esearch-xml-retmax100000.xml              | esearch xml      | 1141 total
pubmed/esearch-xml-empty.xml                     | esearch xml      | 0 total
pubmed/efetch-xml-list.xml                       | efetch           | 4
pubmed/efetch-xml-mathml.xml                     | efetch           | 1
pubmed/efetch-xml-season-date.xml                | efetch           | 1
pubmed/efetch-xml-year-only.xml                  | efetch           | 1
pubmed/efetch-xml-vernacular-title.xml           | efetch           | 1
pubmed/efetch-xml-erratum.xml                    | efetch           | 1
pubmed/efetch-xml-unknown-pmids-empty.xml        | efetch           | 0
pubmed/efetch-xml-list.xml                       | pubmed dates     | 4
pubmed/efetch-xml-season-date.xml                | pubmed dates     | 1
pubmed/efetch-xml-year-only.xml                  | pubmed dates     | 1
pubmed/esummary-json-pmc-200ids.json             | esummary         | 200
pubmed/record-retracted.xml                      | pubmed record    | 1
pubmed/record-retraction-notice.xml              | pubmed record    | 1
pubmed/record-medlinedate-range.xml              | pubmed record    | 1
pubmed/record-deletecitation.xml                 | pubmed deletions | 7 gone
semantic-scholar/bulk-p1.json                    | semanticscholar  | 1000 total token
semantic-scholar/bulk-p2.json                    | semanticscholar  | 1000 total token
semantic-scholar/bulk-p3.json                    | semanticscholar  | 1000 total token
semantic-scholar/bulk-p4-last.json               | semanticscholar  | 27 total
semantic-scholar/search-p1.json                  | semanticscholar  | 100 total
semantic-scholar/search-p2.json                  | semanticscholar  | 100 total
semantic-scholar/search-empty.json               | semanticscholar  | 0 total empty
semantic-scholar/batch-with-null.json            | semanticscholar batch | 3
`

var allTimes = Asked{Window: window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv(recordedAnswers)
	if root == "" {
		t.Skipf("NOT TESTED: %s names no folder with recorded answers", recordedAnswers)
	}
	body, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRecordedPages(t *testing.T) {
	all := maps.Clone(endpoints)
	maps.Copy(all, recordedEndpoints)
	for line := range strings.Lines(strings.TrimSpace(recordedPages)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		file, name, want := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
		r, err := Compile(all[name].WithDefaults())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		page, err := r.Read(recorded(t, file), allTimes)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := outcome(page); got != want {
			t.Errorf("%s as %s: %s, want %s; rejects %.300v", file, name, got, want, page.Rejects)
		}
	}
}

func outcome(p *Page) string {
	words := []string{strconv.Itoa(len(p.Records))}
	add := func(word string, when bool) {
		if when {
			words = append(words, word)
		}
	}
	gone := false
	for _, r := range p.Records {
		gone = gone || r.Gone
	}
	add("gone", gone)
	add(strconv.Itoa(len(p.Rejects))+" rejects", len(p.Rejects) > 0)
	add(strconv.Itoa(p.Outside)+" outside", p.Outside > 0)
	add("total", p.Says.Total != nil)
	add("token", p.Says.Token != "")
	add("url", p.Says.URL != "")
	add("more", p.Says.HasMore != nil && *p.Says.HasMore)
	add("last", p.Says.HasMore != nil && !*p.Says.HasMore)
	add("empty", p.EmptyBy != "")
	return strings.Join(words, " ")
}

// Error documents are never pages, whatever status they come with.
func TestRecordedErrorsAreNoPages(t *testing.T) {
	for file, names := range map[string]string{
		"arxiv/error-400-malformed-id.atom.xml": "arxiv", "europepmc/error-errorbean-not-open-access.xml": "europepmc xml",
		"datacite/error-404.json": "datacite", "openalex/error-400-unknown-filter.json": "openalex", "openalex/error-404-unknown-doi.html": "openalex",
		"pubmed/efetch-xml-error-empty-id.xml": "efetch", "pubmed/error-429-rate-limit.json": "esearch", "pubmed/error-414-uri-too-large.html": "efetch",
		"oai-pmh/mit-getrecord-idDoesNotExist.xml": "oai", "oai-pmh/mit-getrecord-http500-empty.txt": "oai",
		"semantic-scholar/error-429.json": "semanticscholar", "semantic-scholar/error-403-bad-key.json": "semanticscholar",
	} {
		if page, err := endpoint(t, names).Read(recorded(t, file), allTimes); err == nil {
			t.Errorf("%s was read as a page: %s", file, outcome(page))
		}
	}
}

package catalog_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"testing"
)

func reads(source, endpoint string, count func(*testing.T, []byte) int) claim {
	return claim{source: source, endpoint: endpoint, count: count}
}

func refuses(source, endpoint string) claim {
	return claim{source: source, endpoint: endpoint, refused: true}
}

func (c claim) ofTests() claim {
	c.forTests = true
	return c
}

// claims lists the recordings by folder and file.
var claims = map[string]claim{
	"arxiv/query-p1.atom.xml":               reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/query-p2.atom.xml":               reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/query-p3.atom.xml":               reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/id-unknown-empty.atom.xml":       reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/id-one-of-two-missing.atom.xml":  reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/id-old-style.atom.xml":           reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/id-with-version.atom.xml":        reads("arxiv", "papers", elements("feed", "entry")),
	"arxiv/error-400-malformed-id.atom.xml": refuses("arxiv", "papers"),

	"biorxiv/biorxiv-details-cursor0.json": reads("biorxiv", "biorxiv", array("collection")),
	"biorxiv/medrxiv-details-cursor0.json": reads("biorxiv", "medrxiv", array("collection")),

	"clinicaltrials/studies-p1.json":                  reads("clinicaltrials", "studies_short", array("studies")).ofTests(),
	"clinicaltrials/studies-p2.json":                  reads("clinicaltrials", "studies_short", array("studies")).ofTests(),
	"clinicaltrials/studies-last-no-token.json":       reads("clinicaltrials", "studies_short", array("studies")).ofTests(),
	"clinicaltrials/studies-recruiting-p1.json":       reads("clinicaltrials", "studies_short", array("studies")).ofTests(),
	"clinicaltrials/study-single.json":                reads("clinicaltrials", "study", one).ofTests(),
	"clinicaltrials/study-single-full-nonascii.json":  reads("clinicaltrials", "study_full", one).ofTests(),
	"crossref/works-cursor-p1.json":                   reads("crossref", "works", array("message", "items")),
	"crossref/works-cursor-p2.json":                   reads("crossref", "works", array("message", "items")),
	"crossref/works-cursor-p3.json":                   reads("crossref", "works", array("message", "items")),
	"crossref/works-polite-pool.json":                 reads("crossref", "works", array("message", "items")),
	"crossref/works-empty.json":                       reads("crossref", "works", array("message", "items")),
	"crossref/works-rows0-total-only.json":            reads("crossref", "works", array("message", "items")),
	"crossref/work-updated-by-correction.json":        reads("crossref", "work", one).ofTests(),
	"crossref/work-no-issued-date.json":               reads("crossref", "work", one).ofTests(),
	"crossref/error-400-sample-too-big.json":          refuses("crossref", "works"),
	"crossref/error-400-rows-not-a-number.json":       refuses("crossref", "works"),
	"crossref/error-400-unknown-filter.json":          refuses("crossref", "works"),
	"crossref/error-404-invalid-cursor.json":          refuses("crossref", "works"),
	"crossref/error-500-invalid-cursor-older.json":    refuses("crossref", "works"),
	"crossref/error-404-unknown-doi.txt":              refuses("crossref", "work").ofTests(),
	"crossref/error-429.html":                         refuses("crossref", "works"),
	"crossref/error-504.html":                         refuses("crossref", "works"),
	"datacite/dois-page1.json":                        reads("datacite", "dois", array("data")),
	"datacite/dois-updated-range-p1of2.json":          reads("datacite", "dois", array("data")),
	"datacite/dois-updated-range-single-page.json":    reads("datacite", "dois", array("data")),
	"datacite/dois-size0-total.json":                  reads("datacite", "dois", array("data")),
	"datacite/dois-empty.json":                        reads("datacite", "dois", array("data")),
	"datacite/doi-arxiv.json":                         reads("datacite", "doi", one).ofTests(),
	"datacite/error-404.json":                         refuses("datacite", "doi").ofTests(),
	"doaj/articles-v1-last-page.json":                 reads("doaj", "articles", array("results")),
	"doaj/articles-v2-p1.json":                        reads("doaj", "articles", array("results")),
	"doaj/articles-v2-pagesize2.json":                 reads("doaj", "articles", array("results")),
	"doaj/articles-v4-p1.json":                        reads("doaj", "articles", array("results")),
	"doaj/article-v2-single.json":                     reads("doaj", "article", one).ofTests(),
	"doaj/journals-v2-p1.json":                        reads("doaj", "journals", array("results")).ofTests(),
	"europepmc/search-cursor-p01.json":                reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-cursor-p02.json":                reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-cursor-p10.json":                reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-core-p1.json":                   reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-sorted-cited.json":              reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-complete-in-one-page.json":      reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-one-record.json":                reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-no-results.json":                reads("europepmc", "articles", array("resultList", "result")),
	"europepmc/search-lite.xml":                       reads("europepmc", "articles_xml", elements("responseWrapper", "resultList", "result")).ofTests(),
	"europepmc/error-errorbean-not-open-access.xml":   refuses("europepmc", "articles_xml").ofTests(),
	"oai-pmh/pmc-listrecords-p01.xml":                 reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/pmc-listrecords-p02.xml":                 reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/pmc-listrecords-p17-last.xml":            reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/datacite-oai-p1.xml":                     reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/datacite-oai-p2-last.xml":                reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/dataverse-p1-deleted.xml":                reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/dataverse-p2-last-selfclosed-token.xml":  reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/bepress-p3-last.xml":                     reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/mla-p13-token.xml":                       reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/mla-p14-noRecordsMatch.xml":              reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/zenodo-single-page.xml":                  reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/mit-listrecords-noRecordsMatch.xml":      reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/mit-listrecords-deleted.xml":             reads("pmc", "records", elements("OAI-PMH", "ListRecords", "record")),
	"oai-pmh/mit-listidentifiers-p1.xml":              reads("oai", "identifiers", elements("OAI-PMH", "ListIdentifiers", "header")).ofTests(),
	"oai-pmh/mit-listidentifiers-p2-last.xml":         reads("oai", "identifiers", elements("OAI-PMH", "ListIdentifiers", "header")).ofTests(),
	"oai-pmh/mit-getrecord-idDoesNotExist.xml":        refuses("oai", "record").ofTests(),
	"oai-pmh/mit-getrecord-http500-empty.txt":         refuses("oai", "record").ofTests(),
	"openalex/works-cursor-p1.json":                   reads("openalex", "works", array("results")),
	"openalex/works-cursor-p2-end-empty.json":         reads("openalex", "works", array("results")),
	"openalex/works-sample5.json":                     reads("openalex", "works", array("results")),
	"openalex/works-page1-select-ids.json":            reads("openalex", "ids", array("results")).ofTests(),
	"openalex/works-group-by.json":                    reads("openalex", "groups", array("group_by")).ofTests(),
	"openalex/work-single.json":                       reads("openalex", "work", one).ofTests(),
	"openalex/error-400-unknown-filter.json":          refuses("openalex", "works"),
	"openalex/error-400-unknown-select.json":          refuses("openalex", "work").ofTests(),
	"openalex/error-401-bad-key.json":                 refuses("openalex", "works"),
	"openalex/error-404-unknown-doi.html":             refuses("openalex", "work").ofTests(),
	"pubmed/esearch-json-p1.json":                     reads("pubmed", "articles", array("esearchresult", "idlist")),
	"pubmed/esearch-json-100ids.json":                 reads("pubmed", "articles", array("esearchresult", "idlist")),
	"pubmed/esearch-json-empty-phrase-not-found.json": reads("pubmed", "articles", array("esearchresult", "idlist")),
	"pubmed/esearch-json-warning-unknown-sort.json":   reads("pubmed", "articles", array("esearchresult", "idlist")),
	"pubmed/esearch-xml-usehistory-edat60.xml":        reads("pubmed", "esearch_xml", elements("eSearchResult", "IdList", "Id")).ofTests(),
	"pubmed/esearch-xml-edat-reldate90.xml":           reads("pubmed", "esearch_xml", elements("eSearchResult", "IdList", "Id")).ofTests(),
	"pubmed/esearch-xml-retmax100000.xml":             reads("pubmed", "esearch_xml", elements("eSearchResult", "IdList", "Id")).ofTests(),
	"pubmed/esearch-xml-empty.xml":                    reads("pubmed", "esearch_xml", elements("eSearchResult", "IdList", "Id")).ofTests(),
	"pubmed/efetch-xml-list.xml":                      reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-unknown-pmids-empty.xml":       reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-mathml.xml":                    reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-season-date.xml":               reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-year-only.xml":                 reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-vernacular-title.xml":          reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-erratum.xml":                   reads("pubmed", "efetch", elements("PubmedArticleSet", "PubmedArticle")),
	"pubmed/efetch-xml-error-empty-id.xml":            refuses("pubmed", "efetch"),
	"pubmed/record-retracted.xml":                     reads("pubmed", "record", elements("PubmedArticle")).ofTests(),
	"pubmed/record-retraction-notice.xml":             reads("pubmed", "record", elements("PubmedArticle")).ofTests(),
	"pubmed/record-medlinedate-range.xml":             reads("pubmed", "record", elements("PubmedArticle")).ofTests(),
	"pubmed/record-deletecitation.xml":                reads("pubmed", "deletions", elements("DeleteCitation", "PMID")).ofTests(),
	"pubmed/esummary-json-pmc-200ids.json":            reads("pubmed", "esummary", array("result", "uids")).ofTests(),
	"pubmed/esummary-xml-error-no-id.xml":             refuses("pubmed", "esummary_xml").ofTests(),
	"pubmed/error-429-rate-limit.json":                refuses("pubmed", "articles"),
	"pubmed/error-414-uri-too-large.html":             refuses("pubmed", "esummary").ofTests(),
	"semantic-scholar/bulk-p1.json":                   reads("semanticscholar", "papers", array("data")),
	"semantic-scholar/bulk-p2.json":                   reads("semanticscholar", "papers", array("data")),
	"semantic-scholar/bulk-p3.json":                   reads("semanticscholar", "papers", array("data")),
	"semantic-scholar/bulk-p4-last.json":              reads("semanticscholar", "papers", array("data")),
	"semantic-scholar/search-p1.json":                 reads("semanticscholar", "search", array("data")).ofTests(),
	"semantic-scholar/search-p2.json":                 reads("semanticscholar", "search", array("data")).ofTests(),
	"semantic-scholar/search-empty.json":              reads("semanticscholar", "search", none("data")).ofTests(),
	"semantic-scholar/batch-with-null.json":           reads("semanticscholar", "batch", array()).ofTests(),
	"semantic-scholar/error-400-unknown-field.json":   refuses("semanticscholar", "papers"),
	"semantic-scholar/error-403-bad-key.json":         refuses("semanticscholar", "batch").ofTests(),
	"semantic-scholar/error-404-title-match.json":     refuses("semanticscholar", "search").ofTests(),
	"semantic-scholar/error-404-unknown-paper.json":   refuses("semanticscholar", "papers"),
	"semantic-scholar/error-429.json":                 refuses("semanticscholar", "papers"),
}

// array counts the elements of an array, nulls included.
func array(names ...string) func(*testing.T, []byte) int {
	return func(t *testing.T, body []byte) int {
		t.Helper()
		var tree any
		if err := json.Unmarshal(body, &tree); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			members, _ := tree.(map[string]any)
			tree = members[name]
		}
		list, ok := tree.([]any)
		if !ok {
			t.Fatalf("no array at %v", names)
		}
		return len(list)
	}
}

// none is for an answer without hits, which lacks its array.
func none(name string) func(*testing.T, []byte) int {
	return func(t *testing.T, body []byte) int {
		t.Helper()
		var members map[string]any
		if err := json.Unmarshal(body, &members); err != nil || members[name] != nil {
			t.Fatalf("%v %v", members[name], err)
		}
		return 0
	}
}

func one(*testing.T, []byte) int { return 1 }

// elements counts the elements of a path of local names from the root.
func elements(names ...string) func(*testing.T, []byte) int {
	return func(t *testing.T, body []byte) int {
		t.Helper()
		d := xml.NewDecoder(bytes.NewReader(body))
		var at []string
		count := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return count
			}
			if err != nil {
				t.Fatal(err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if at = append(at, token.Name.Local); slices.Equal(at, names) {
					count++
				}
			case xml.EndElement:
				at = at[:len(at)-1]
			}
		}
	}
}

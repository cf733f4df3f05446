package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture reads a recorded response, if there are any here.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv("PATRA_FIXTURES")
	if dir == "" {
		t.Skip("PATRA_FIXTURES is not set")
	}
	body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// What recorded responses of real sources say, read by one path for each.
func TestRecordedResponses(t *testing.T) {
	const (
		article = "$.PubmedArticleSet.PubmedArticle"
		pmid    = "$.MedlineCitation.PMID['#text']"
		records = "$['OAI-PMH'].ListRecords.record"
		token   = "$['OAI-PMH'].ListRecords.resumptionToken['#text']"
		header  = "$.header.identifier"
	)
	for _, test := range []struct {
		file, items, page, id string
		has                   bool
		count                 int
		value, first          string
	}{
		{"pubmed/efetch-xml-list.xml", article, "$.eFetchResult.ERROR", pmid, true, 4, "-", `"211"`},
		{"pubmed/efetch-xml-mathml.xml", article, "$.eFetchResult.ERROR", pmid, true, 1, "-", ""},
		{"pubmed/efetch-xml-unknown-pmids-empty.xml", article, "$.eFetchResult.ERROR", pmid, true, 0, "-", ""},
		{"pubmed/efetch-xml-error-empty-id.xml", article, "$.eFetchResult.ERROR", pmid, false, 0, `"Supplied id parameter is empty."`, ""},
		{"pubmed/esearch-xml-retmax100000.xml", "$.eSearchResult.IdList.Id", "$.eSearchResult.Count", "$", true, 1141, `"1141"`, ""},
		{"pubmed/esearch-xml-empty.xml", "$.eSearchResult.IdList.Id", "$.eSearchResult.Count", "$", true, 0, `"0"`, ""},
		{"pubmed/esummary-json-pmc-200ids.json", "$.result[?@.uid]", "$.result.uids[0]", "$.uid", true, 200, `"7771231"`, `"7771231"`},
		{"oai-pmh/pmc-listrecords-p02.xml", records, token, header, true, 50, "*", ""},
		{"oai-pmh/pmc-listrecords-p17-last.xml", records, token, header, true, 44, "-", ""},
		{"oai-pmh/datacite-oai-p1.xml", records, token, header, true, 50, "*", ""},
		{"oai-pmh/datacite-oai-p2-last.xml", records, token, header, true, 6, `""`, ""},
		{"oai-pmh/dataverse-p2-last-selfclosed-token.xml", records, token, header, true, 9, `""`, `"hdl:10864/10842"`},
		{"oai-pmh/bepress-p3-last.xml", records, token, header, true, 8, `""`, ""},
		{"oai-pmh/mla-p14-noRecordsMatch.xml", records, "$['OAI-PMH'].error['@code']", header, false, 0, `"noRecordsMatch"`, ""},
		{"europepmc/search-lite.xml", "$.responseWrapper.resultList.result", "$.responseWrapper.hitCount", "$.id", true, 25, `"5059039"`, `"39709209"`},
		{"arxiv/query-p1.atom.xml", "$.feed.entry", "$.feed.totalResults", "$.id", true, 10, `"214881"`, ""},
		{"arxiv/id-unknown-empty.atom.xml", "$.feed.entry", "$.feed.totalResults", "$.id", false, 0, `"0"`, ""},
	} {
		t.Run(test.file, func(t *testing.T) {
			body := fixture(t, test.file)
			shape := Shape{Items: mustPath(t, test.items), Page: mustPaths(t, test.page), Item: mustPaths(t, test.id), Format: FormatXML}
			if strings.HasSuffix(test.file, ".json") {
				shape.Format = FormatJSON
			}
			page, err := mustShape(t, shape).Read(body, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if page.HasItems != test.has || len(page.Items) != test.count {
				t.Fatalf("has %v, %d items", page.HasItems, len(page.Items))
			}
			if got := show(page.Values); got != test.value && (test.value != "*" || len(got) < 4) {
				t.Errorf("page value %s", got)
			}
			for i, item := range page.Items {
				if text, ok := item.Values[0].Text(); !ok || text == "" || item.Err != nil || !strings.HasPrefix(string(body[item.Offset:]), string(item.Raw)) {
					t.Errorf("item %d: %q %v at %d", i, text, item.Err, item.Offset)
				}
			}
			if test.first != "" && show(page.Items[0].Values) != test.first {
				t.Errorf("first id %s", show(page.Items[0].Values))
			}
		})
	}
}

func TestRecordedTitlesWithMarkup(t *testing.T) {
	body := fixture(t, "pubmed/efetch-xml-mathml.xml")
	page := mustRead(t, Shape{Items: mustPath(t, "$.PubmedArticleSet.PubmedArticle"), Item: mustPaths(t, "$.MedlineCitation.Article.ArticleTitle['#text']", "$.MedlineCitation.Article.Abstract.AbstractText[*]['#text']"), Format: FormatXML}, string(body))
	for _, item := range page.Items {
		title, _ := item.Values[0].Text()
		if title == "" || strings.ContainsAny(title, "<>") || !item.Values[1].Present() {
			t.Errorf("title %q, abstract %s", title, item.Values[1].Raw())
		}
	}
}

func BenchmarkRecordedXML(b *testing.B) {
	body := fixture(b, "oai-pmh/pmc-listrecords-p02.xml")
	benchXML(b, body, "$['OAI-PMH'].ListRecords.record", "$.header.identifier", "$.header.datestamp", "$.metadata.dc.title", "$.metadata.dc.creator[*]")
}

func BenchmarkXML(b *testing.B) {
	body := "<PubmedArticleSet>" + strings.Repeat(articles[strings.Index(articles, "<PubmedArticle>"):strings.Index(articles, " <Other/>")], 700) + "</PubmedArticleSet>"
	benchXML(b, []byte(body), "$.PubmedArticleSet.PubmedArticle", "$.Cite.PMID['#text']", "$.Cite.Title['#text']", "$.Cite.Author[*].Last")
}

func benchXML(b *testing.B, body []byte, items string, item ...string) {
	reader := mustShape(b, Shape{Items: mustPath(b, items), Item: mustPaths(b, item...), Format: FormatXML})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		page, err := reader.Read(body, Limits{})
		if err != nil || len(page.Items) == 0 {
			b.Fatal(err)
		}
	}
}

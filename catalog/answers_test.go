package catalog_test

import (
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
)

// after is the state of a walk that has read so many items of a total.
func after(items int, total int64) paging.State {
	return paging.State{Pages: 1, Offset: items, Seen: items, Total: total, First: total, Token: "t", Number: 2}
}

var answersJSON = []answer{
	{source: "crossref", endpoint: "works", file: "page.json", next: "DnF1ZXJ5VGhlbkZldGNo==",
		records: []string{"10.5555/sample.one@2024-05-04T10:11:12Z", "10.5555/bare@2024-05-04T10:11:13.123456Z"}},
	{source: "crossref", endpoint: "works", file: "last.json", state: after(2, 3), done: "short page", records: []string{"10.5555/last@2024-05-04T11:00:00Z"}},
	{source: "crossref", endpoint: "works", file: "empty.json", done: "no next token"},
	{source: "crossref", endpoint: "works", file: "empty.json", state: after(500, 900), fails: fault.ShortCount},
	{source: "crossref", endpoint: "works", file: "error.json", refused: "no array at $.message.items"},

	{source: "europepmc", endpoint: "articles", file: "page.json", next: "bWFyayAx",
		records: []string{"MED/90000001@2024-05-03T00:00:00Z", "PPR/90000001@2024-05-01T00:00:00Z"}, rejects: []record.Reason{record.MissingID}},
	{source: "europepmc", endpoint: "articles", file: "last.json", done: "no next token", rejects: []record.Reason{record.BadUpdatedAt}},
	{source: "europepmc", endpoint: "articles", file: "empty.json", done: "no next token"},
	{source: "europepmc", endpoint: "articles", file: "end.json", state: after(3, 3), done: "empty page"},
	{source: "europepmc", endpoint: "articles", file: "end.json", state: after(2, 3), fails: fault.ShortCount},
	{source: "europepmc", endpoint: "articles", file: "error.json", refused: "errorWhen $.errCode saw 404"},

	{source: "openalex", endpoint: "works", file: "page.json", window: day, next: "Y3Vyc29yIDI=", outside: 1,
		records: []string{"https://openalex.org/W900001@2024-05-04T08:55:55.761014Z", "https://openalex.org/W900002@2024-05-04T08:55:55.761014Z", "https://openalex.org/W900003@2024-05-05T00:00:00Z"}},
	{source: "openalex", endpoint: "works", file: "end.json", state: after(3, 3), done: "no next token"},
	{source: "openalex", endpoint: "works", file: "end.json", state: after(2, 3), fails: fault.ShortCount},
	{source: "openalex", endpoint: "works", file: "error.json", refused: "errorWhen $.error saw"},

	{source: "datacite", endpoint: "dois", file: "page.json", window: day, rejects: []record.Reason{record.BadUpdatedAt},
		next:    "https://api.datacite.org/dois?page%5Bcursor%5D=MTUyNSw5&page%5Bsize%5D=2&query=updated%3A%5B2024-05-04T00%3A00%3A00Z+TO+2024-05-04T23%3A59%3A59Z%5D",
		records: []string{"10.5555/data.one@2024-05-04T10:00:00Z"}},
	{source: "datacite", endpoint: "dois", file: "last.json", done: "no next URL", records: []string{"10.5555/data.three@2024-05-04T11:00:00Z"}},
	{source: "datacite", endpoint: "dois", file: "empty.json", done: "no next URL"},
	{source: "datacite", endpoint: "dois", file: "empty.json", state: after(500, 600), fails: fault.ShortCount},
	{source: "datacite", endpoint: "dois", file: "error.json", refused: "errorWhen $.errors saw"},

	{source: "doaj", endpoint: "articles", file: "page.json", next: "2", rejects: []record.Reason{record.BadUpdatedAt},
		records: []string{"00aa@2024-05-04T00:10:00Z", "00bb@2024-05-04T00:20:00Z", "00cc@2024-05-04T01:00:00Z"}},
	{source: "doaj", endpoint: "articles", file: "page.json", window: hours, next: "2", rejects: []record.Reason{record.BadUpdatedAt},
		records: []string{"00aa@2024-05-04T00:10:00Z", "00bb@2024-05-04T00:20:00Z", "00cc@2024-05-04T01:00:00Z"}},
	{source: "doaj", endpoint: "articles", file: "page.json", state: paging.State{Pages: 9, Number: 10, Seen: 90, Total: 101, First: 101}, fails: fault.Capped,
		rejects: []record.Reason{record.BadUpdatedAt}, records: []string{"00aa@2024-05-04T00:10:00Z", "00bb@2024-05-04T00:20:00Z", "00cc@2024-05-04T01:00:00Z"}},
	{source: "doaj", endpoint: "articles", file: "last.json", done: "total", records: []string{"00aa@2024-05-04T00:10:00Z"}},
	{source: "doaj", endpoint: "articles", file: "empty.json", done: "empty page"},
	{source: "doaj", endpoint: "articles", file: "error.json", refused: "errorWhen $.error saw"},
	{source: "doaj", endpoint: "by_id", file: "byid.json", records: []string{"00aa@2024-05-04T00:10:00Z", "00bb@2024-05-04T00:20:00Z"}},
	{source: "doaj", endpoint: "by_id", file: "empty.json"},
	{source: "doaj", endpoint: "by_id", file: "error.json", refused: "errorWhen $.error saw"},

	{source: "scopus", endpoint: "records", file: "page.json", next: "2", rejects: []record.Reason{record.MissingID}, records: []string{"SCOPUS_ID:90000000001@2024-05-01T00:00:00Z"}},
	{source: "scopus", endpoint: "records", file: "empty.json", done: "total"},
	{source: "scopus", endpoint: "records", file: "error.json", refused: "errorWhen $['service-error'] saw"},
	{source: "dimensions", endpoint: "publications", file: "page.json", next: "2", rejects: []record.Reason{record.BadUpdatedAt}, records: []string{"pub.9000000001@2024-05-04T03:10:00Z"}},
	{source: "dimensions", endpoint: "publications", file: "empty.json", done: "empty page"},
	{source: "dimensions", endpoint: "publications", file: "error.json", refused: "errorWhen $.errors saw"},
	{source: "unpaywall", endpoint: "by_doi", file: "page.json", records: []string{"10.5555/made.1@2024-05-04T08:55:55.761014Z"}},
	{source: "unpaywall", endpoint: "by_doi", file: "error.json", refused: "errorWhen $.error saw"},
	{source: "core", endpoint: "works", file: "page.json", next: "c2Nyb2xs", rejects: []record.Reason{record.MissingID}, records: []string{"9000001@2024-05-04T10:00:00Z"}},
	{source: "lens", endpoint: "works", file: "page.json", done: "short page", rejects: []record.Reason{record.BadUpdatedAt}, records: []string{"000-000-000-000-001@2024-05-04T02:00:00Z"}},
	{source: "openaire", endpoint: "products", file: "page.json", next: "AoE-made", rejects: []record.Reason{record.MissingID}, records: []string{"doi_dedup___::0001@2024-05-04T00:00:00Z"}},
	{source: "figshare", endpoint: "records", file: "page.xml", next: "made-token", records: []string{"oai:figshare.com:article/9000001@2024-05-04T10:00:00Z"}, gone: []string{"oai:figshare.com:article/9000002"}},
	{source: "jstage", endpoint: "articles", file: "page.xml", done: "total", rejects: []record.Reason{record.MissingID}, records: []string{"https://www.jstage.jst.go.jp/article/made/1/1/1_1/_article@2024-05-04T01:00:00Z"}},
	{source: "github", endpoint: "releases", file: "page.json", done: "short page", rejects: []record.Reason{record.BadUpdatedAt}, records: []string{"90000001@2024-05-04T10:00:00Z"}},

	{source: "biorxiv", endpoint: "biorxiv", file: "page.json", window: day, next: "3", rejects: []record.Reason{record.MissingID},
		records: []string{"10.1101/2024.05.01.000001v1@2024-05-04T00:00:00Z", "10.1101/2024.05.01.000001v2@2024-05-04T00:00:00Z"}},
	{source: "biorxiv", endpoint: "medrxiv", file: "last.json", state: after(3, 5), done: "total", rejects: []record.Reason{record.BadUpdatedAt},
		records: []string{"10.1101/2024.05.01.000003v1@2024-05-04T00:00:00Z"}},
	{source: "biorxiv", endpoint: "biorxiv", file: "empty.json", done: "empty page", empty: true},
	{source: "biorxiv", endpoint: "biorxiv", file: "empty.json", state: after(30, 60), fails: fault.ShortCount, empty: true},
	{source: "biorxiv", endpoint: "biorxiv", file: "error.json", refused: "the answer reports an error"},

	{source: "clinicaltrials", endpoint: "studies", file: "page.json", next: "ZmlndXJl_2",
		records: []string{"NCT90000001@2024-05-04T00:00:00Z", "NCT90000002@2024-05-01T00:00:00Z"}},
	{source: "clinicaltrials", endpoint: "studies", file: "last.json", state: after(2, 3), done: "no next token", rejects: []record.Reason{record.BadUpdatedAt}},
	{source: "clinicaltrials", endpoint: "studies", file: "last.json", state: after(100, 150), fails: fault.ShortCount, rejects: []record.Reason{record.BadUpdatedAt}},
	{source: "clinicaltrials", endpoint: "studies", file: "empty.json", done: "no next token"},
	{source: "clinicaltrials", endpoint: "studies", file: "error.txt", refused: "pageSize: must be a number"},

	{source: "semanticscholar", endpoint: "papers", file: "page.json", next: "VE9LRU4=", records: []string{"00aa"}, rejects: []record.Reason{record.MissingID}},
	{source: "semanticscholar", endpoint: "papers", file: "last.json", done: "no next token", records: []string{"00bb"}},
	{source: "semanticscholar", endpoint: "papers", file: "empty.json", done: "no next token", empty: true},
	{source: "semanticscholar", endpoint: "papers", file: "error.json", refused: "errorWhen $.message saw"},

	{source: "pubmed", endpoint: "articles", file: "esearch.json", done: "total", records: []string{"90000001", "90000002", "90000003"}},
	{source: "pubmed", endpoint: "articles", file: "esearch-empty.json", done: "empty page"},
	{source: "pubmed", endpoint: "articles", file: "esearch-capped.json", state: after(9998, 10000), fails: fault.Capped, records: []string{"90009999"}},
	{source: "pubmed", endpoint: "articles", file: "esearch-error.json", refused: "errorWhen $.esearchresult.ERROR saw"},
	{source: "pubmed", endpoint: "articles", file: "esearch-unknown-field.json", refused: "fieldsnotfound saw"},
	{source: "pubmed", endpoint: "articles", file: "esearch-rate.json", refused: "errorWhen $.error saw"},
}

var answersXML = []answer{
	{source: "pubmed", endpoint: "efetch", file: "efetch.xml", rejects: []record.Reason{record.BadUpdatedAt},
		records: []string{"90000001@2024-05-03T00:00:00Z", "90000002@2024-05-04T00:00:00Z", "90000004@2020-03-01T00:00:00Z"}},
	{source: "pubmed", endpoint: "efetch", file: "efetch-empty.xml"},
	{source: "pubmed", endpoint: "efetch", file: "efetch-error.xml", refused: "errorWhen $.eFetchResult.ERROR saw"},

	{source: "arxiv", endpoint: "papers", file: "page.atom.xml", next: "3", rejects: []record.Reason{record.BadUpdatedAt},
		records: []string{"2405.99999@2024-05-04T15:05:19Z", "astro-ph/9901001@2024-05-04T16:00:00Z"}},
	{source: "arxiv", endpoint: "papers", file: "empty.atom.xml", done: "empty page", empty: true},
	{source: "arxiv", endpoint: "papers", file: "hollow.atom.xml", state: after(500, 700), refused: "no items, but other elements in their place"},
	{source: "arxiv", endpoint: "papers", file: "error.atom.xml", refused: "the answer reports an error"},

	{source: "pmc", endpoint: "records", file: "page.xml", window: day, next: "oai%3Aexample!2024-05-04!2024-05-04!oai_dc!", outside: 1,
		records: []string{"oai:pubmedcentral.nih.gov:9000001@2024-05-04T00:00:00Z", "oai:pubmedcentral.nih.gov:9000003@2024-05-06T00:00:00Z"}, gone: []string{"oai:pubmedcentral.nih.gov:9000002"}, rejects: []record.Reason{record.BadUpdatedAt}},
	{source: "pmc", endpoint: "records", file: "last.xml", done: "no next token", records: []string{"oai:pubmedcentral.nih.gov:9000005@2024-05-04T10:00:00Z"}},
	{source: "pmc", endpoint: "records", file: "last-empty-token.xml", done: "no next token", records: []string{"oai:pubmedcentral.nih.gov:9000005@2024-05-04T00:00:00Z"}},
	{source: "pmc", endpoint: "records", file: "empty.xml", done: "no next token", empty: true},
	{source: "pmc", endpoint: "records", file: "error.xml", refused: "errorWhen $['OAI-PMH'].error saw"},
}

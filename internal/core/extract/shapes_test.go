package extract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// summary writes a page as lines a test can state.
func summary(p *Page) string {
	var out strings.Builder
	for _, r := range p.Records {
		fmt.Fprintf(&out, "%s", r.ProviderID)
		if !r.UpdatedAt.IsZero() {
			fmt.Fprintf(&out, " %s", r.UpdatedAt.Format(time.RFC3339Nano))
		}
		if r.SourceVersion != 0 {
			fmt.Fprintf(&out, " v%d", r.SourceVersion)
		}
		if r.Gone {
			out.WriteString(" gone")
		}
		fmt.Fprintf(&out, " %s\n", r.Fields)
	}
	for _, r := range p.Rejects {
		fmt.Fprintf(&out, "!%s %d %s\n", r.Reason, r.Index, r.Path)
	}
	fmt.Fprintf(&out, "items %d", p.Says.Items)
	if p.Says.Total != nil {
		fmt.Fprintf(&out, " total %d", *p.Says.Total)
	}
	if p.Says.Token != "" {
		fmt.Fprintf(&out, " token %s", p.Says.Token)
	}
	if p.Says.URL != "" {
		fmt.Fprintf(&out, " url %s", p.Says.URL)
	}
	if p.Says.HasMore != nil {
		fmt.Fprintf(&out, " more %v", *p.Says.HasMore)
	}
	for name, n := range map[string]int{"duplicate": p.Duplicate, "outside": p.Outside, "nulls": p.Nulls} {
		if n > 0 {
			fmt.Fprintf(&out, " %s %d", name, n)
		}
	}
	if p.EmptyBy != "" {
		fmt.Fprintf(&out, " empty by %s", p.EmptyBy)
	}
	return out.String()
}

func fields(pairs ...string) map[string]Selector {
	out := map[string]Selector{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = sel(pairs[i+1])
	}
	return out
}

// endpoints are definitions in the shapes of real sources.
var endpoints = map[string]Config{
	"crossref": {
		Items: path("$.message.items"), ID: sel("$.DOI"), IDCase: "LOWER", UpdatedAt: sel("$.indexed['date-time']"),
		Total: sel("$.message['total-results']"), NextToken: sel("$.message['next-cursor']"),
		Fields:    fields("issued", "$.issued['date-parts']", "title", "$.title[0]", "authors", "$.author[*].family", "year", "${element(first(jsonPath('$.issued[\"date-parts\"]')), 0)}"),
		ErrorWhen: pred("${jsonPath('$.status') != 'ok'}"),
	},
	"esearch": {
		Items: path("$.esearchresult.idlist"), ID: sel("$"), Total: sel("$.esearchresult.count"),
		ErrorWhen: pred("$.esearchresult.ERROR", "$.error"), EmptyWhen: pred("$.esearchresult.errorlist.phrasesnotfound"),
	},
	"efetch": {
		Format: document.FormatXML, Items: path("$.PubmedArticleSet.PubmedArticle"), ID: sel("$.MedlineCitation.PMID['#text']"),
		Version: sel("$.MedlineCitation.PMID['@Version']"), UpdatedAt: sel("$.MedlineCitation.DateRevised"), Filtered: sel("$.MedlineCitation.Article.Journal.JournalIssue.PubDate"),
		Fields: fields("title", "$.MedlineCitation.Article.ArticleTitle['#text']", "published", "$.MedlineCitation.Article.Journal.JournalIssue.PubDate",
			"doi", "$.PubmedData.ArticleIdList.ArticleId[?@['@IdType']=='doi']['#text']"),
		ErrorWhen: pred("$.eFetchResult.ERROR"),
	},
	"esummary": {
		Items: path("$.result[?@.uid]"), ID: sel("$.uid"), UpdatedAt: sel("$.sortdate"), Fields: fields("date", "$.pubdate", "error", "$.error"), ErrorWhen: pred("$.error"),
	},
	"europepmc": {
		Items: path("$.resultList.result"), ID: sel("${concat(jsonPath('$.source'), ':', jsonPath('$.id'))}"), UpdatedAt: sel("$.firstIndexDate"),
		Total: sel("$.hitCount"), NextToken: sel("$.nextCursorMark"), NextURL: sel("$.nextPageUrl"),
		Fields: fields("doi", "${lower(jsonPath('$.doi'))}", "open", "${jsonPath('$.isOpenAccess') == 'Y'}"), ErrorWhen: pred("$.errCode"),
	},
	"europepmc xml": {
		Format: document.FormatXML, Items: path("$.responseWrapper.resultList.result"), ID: sel("${concat(jsonPath('$.source'), ':', jsonPath('$.id'))}"),
		UpdatedAt: sel("$.firstIndexDate"), Total: sel("$.responseWrapper.hitCount"), NextToken: sel("$.responseWrapper.nextCursorMark"),
		Fields: fields("doi", "$.doi"), ErrorWhen: pred("$.errorBean"),
	},
	"openalex": {
		Items: path("$.results"), ID: sel("$.id"), UpdatedAt: sel("$.updated_date"), Total: sel("$.meta.count"), NextToken: sel("$.meta.next_cursor"),
		Fields: fields("doi", "$.doi", "year", "$.publication_year"), ErrorWhen: pred("$.error"),
	},
	"datacite": {
		Items: path("$.data"), ID: sel("$.id"), UpdatedAt: sel("$.attributes.updated"), Total: sel("$.meta.total"), NextURL: sel("$.links.next"),
		HasMore: sel("${jsonPath('$.meta.page') < jsonPath('$.meta.totalPages')}"), ErrorWhen: pred("$.errors"),
		Fields: fields("issued", "$.attributes.dates[?@.dateType=='Issued'].date", "titles", "${join(jsonPath('$.attributes.titles[*].title'), ' / ')}"),
	},
	"doaj": {
		Items: path("$.results"), ID: sel("$.id"), UpdatedAt: sel("$.last_updated"), Total: sel("$.total"), NextURL: sel("$.next"),
		Fields: fields("published", "${concat(jsonPath('$.bibjson.year'), '-', default(jsonPath('$.bibjson.month'), '1'))}"), ErrorWhen: pred("$.error"),
	},
	"biorxiv": {
		Items: path("$.collection"), ID: sel("$.doi"), Version: sel("$.version"), UpdatedAt: sel("$.date"), Total: sel("$.messages[0].total"),
		HasMore:   sel("${int(jsonPath('$.messages[0].cursor')) + int(jsonPath('$.messages[0].count')) < int(jsonPath('$.messages[0].total'))}"),
		Fields:    fields("published", "${jsonPath('$.published') == 'NA' ? nil : jsonPath('$.published')}"),
		ErrorWhen: pred("${jsonPath('$.messages[0].status') != 'ok'}"),
	},
	"arxiv": {
		Format: document.FormatXML, Items: path("$.feed.entry"), ID: sel("${regexFind(jsonPath('$.id'), 'abs/(.+?)(v[0-9]+)?$', 1)}"),
		Version: sel("${regexFind(jsonPath('$.id'), 'v([0-9]+)$', 1)}"), UpdatedAt: sel("$.updated"), EmptyWhen: pred(`${jsonPath('$.feed.totalResults["#text"]') == '0'}`), Total: sel("$.feed.totalResults['#text']"),
		Fields:    fields("authors", "$.author[*].name", "pdf", "$.link[?@['@title']=='pdf']['@href']"),
		ErrorWhen: pred("$.feed.entry[?search(@.id, 'api/errors')].summary"),
	},
	"oai": {
		Format: document.FormatXML, Items: path("$['OAI-PMH'].ListRecords.record"), ID: sel("$.header.identifier"), UpdatedAt: sel("$.header.datestamp"),
		Gone: pred("$[?@['@status']=='deleted']")[0], NextToken: sel("$['OAI-PMH'].ListRecords.resumptionToken['#text']"), Total: sel("$['OAI-PMH'].ListRecords.resumptionToken['@completeListSize']"),
		Fields: fields("title", "$.metadata.dc.title[*]", "sets", "$.header.setSpec[*]"), Required: []string{"title"},
		EmptyWhen: pred("$['OAI-PMH'].error[?@['@code']=='noRecordsMatch']"), ErrorWhen: pred("$['OAI-PMH'].error"),
	},
	"clinicaltrials": {
		Items: path("$.studies"), ID: sel("$.protocolSection.identificationModule.nctId"), UpdatedAt: sel("$.protocolSection.statusModule.lastUpdatePostDateStruct.date"),
		Total: sel("$.totalCount"), NextToken: sel("$.nextPageToken"), Fields: fields("start", "$.protocolSection.statusModule.startDateStruct.date"),
	},
	"semanticscholar": {
		Items: path("$.data"), ID: sel("$.paperId"), Total: sel("$.total"), NextToken: sel("$.token"), Fields: fields("year", "$.year"),
		EmptyWhen: pred("${jsonPath('$.total') == 0}"), ErrorWhen: pred("$.error", "$.message"),
	},
	"semanticscholar batch": {
		Items: path("$"), SkipNull: true, ID: sel("$.paperId"), Fields: fields("corpus", "$.corpusId"), ErrorWhen: pred("$.error"),
	},
	"detail": {Items: path("$.message"), Single: true, ID: sel("$.DOI"), Fields: fields("n", "$.n")},
	"lines":  {Format: document.FormatJSONL, Items: path("$"), ID: sel("$.id"), UpdatedAt: sel("$.at"), NextToken: sel("$[-1].id"), Fields: fields("n", "$.n")},
	"table": {
		Format: document.FormatCSV, Delimiter: ";", Items: path("$"), ID: sel("$.pmid"), UpdatedAt: sel("$.day"), DateFormats: []string{"dd.MM.yyyy"},
		Fields: fields("n", "${int(jsonPath('$.n'))}"),
	},
	"bare table": {Format: document.FormatCSV, NoHeader: true, Items: path("$"), ID: sel("$.c1"), UpdatedAt: sel("$.c2"), Fields: fields("n", "$.c3")},
}

func endpoint(t *testing.T, name string) *Reader {
	t.Helper()
	r, err := Compile(endpoints[name].WithDefaults())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func TestShapesOfSources(t *testing.T) {
	asked := Asked{Window: march, Drop: true, FetchAt: asked.FetchAt}
	for _, c := range []struct{ endpoint, body, want string }{
		{"crossref", `{"status":"ok","message":{"total-results":454,"next-cursor":"AoJ","items":[
			{"DOI":"10.1/ABC","indexed":{"date-time":"2025-03-05T01:02:03Z","timestamp":1741136523000},"issued":{"date-parts":[[2020,1]]},"title":["T"],"author":[{"family":"A"},{"family":"B"}]},
			{"DOI":"10.1/d","indexed":{"date-time":"2025-03-06T01:02:03Z"},"issued":{"date-parts":[[null]]}}]}}`,
			`10.1/abc 2025-03-05T01:02:03Z {"authors":["A","B"],"issued":[[2020,1]],"title":"T","year":2020}
10.1/d 2025-03-06T01:02:03Z {"issued":[[null]]}
items 2 total 454 token AoJ`},
		{"esearch", `{"header":{"type":"esearch"},"esearchresult":{"count":"115258","retmax":"2","idlist":["39999999","9007199254740993"]}}`,
			"39999999 {}\n9007199254740993 {}\nitems 2 total 115258"},
		{"esearch", `{"esearchresult":{"count":"0","idlist":[],"errorlist":{"phrasesnotfound":["zzz"],"fieldsnotfound":[]}}}`,
			"items 0 total 0 empty by $.esearchresult.errorlist.phrasesnotfound"},
		{"esearch", `{"esearchresult":{"count":"1","idlist":["7"],"errorlist":{"phrasesnotfound":["zzz"]}}}`, "7 {}\nitems 1 total 1"},
		{"efetch", `<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "x" "y"><PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="2">111</PMID><DateRevised><Year>2025</Year><Month>03</Month><Day>05</Day></DateRevised>
<Article><Journal><JournalIssue><PubDate><Year>2025</Year><Month>Mar</Month></PubDate></JournalIssue></Journal><ArticleTitle>On <i>E. coli</i>.</ArticleTitle></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">111</ArticleId><ArticleId IdType="doi">10.1/x</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID Version="1">112</PMID><DateRevised><Year>2025</Year><Month>03</Month><Day>06</Day></DateRevised>
<Article><Journal><JournalIssue><PubDate><MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue></Journal><ArticleTitle>Old</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID Version="1">113</PMID><DateRevised><Year>2025</Year><Month>13</Month><Day>06</Day></DateRevised>
<Article><Journal><JournalIssue><PubDate><Year>2025</Year><Season>Spring</Season></PubDate></JournalIssue></Journal><ArticleTitle>T</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>`,
			`111 2025-03-05T00:00:00Z v2 {"doi":["10.1/x"],"published":{"Year":"2025","Month":"Mar"},"title":"On E. coli."}
!BAD_UPDATED_AT 2 $.MedlineCitation.DateRevised
items 3 outside 1`},
		{"efetch", `<PubmedArticleSet></PubmedArticleSet>`, "items 0"},
		{"esummary", `{"header":{"type":"esummary"},"result":{"uids":["5","6"],"5":{"uid":"5","sortdate":"2025/03/05 00:00","pubdate":"2025 Mar 5"},"6":{"uid":"6","error":"cannot get document summary"}}}`,
			`5 2025-03-05T00:00:00Z {"date":"2025 Mar 5"}
!BAD_UPDATED_AT 1 $.sortdate
items 2`},
		{"europepmc", `{"hitCount":9,"nextCursorMark":"AoIIP4AAACg0","nextPageUrl":"https://x/search?query=a b&cursorMark=AoI","resultList":{"result":[
			{"id":"1","source":"MED","doi":"10.1/ABC","isOpenAccess":"Y","firstIndexDate":"2025-03-05"},{"id":"PPR2","source":"PPR","isOpenAccess":"N","firstIndexDate":"2025-03-06"},{"source":"MED","firstIndexDate":"2025-03-06"}]}}`,
			`MED:1 2025-03-05T00:00:00Z {"doi":"10.1/abc","open":true}
PPR:PPR2 2025-03-06T00:00:00Z {"open":false}
!MISSING_ID 2 ${concat(jsonPath('$.source'), ':', jsonPath('$.id'))}
items 3 total 9 token AoIIP4AAACg0 url https://x/search?query=a b&cursorMark=AoI`},
		{"europepmc", `{"hitCount":0,"resultList":{"result":[]}}`, "items 0 total 0"},
		{"europepmc xml", `<?xml version="1.0" encoding="UTF-8"?><responseWrapper><version>6.9</version><hitCount>1</hitCount><nextCursorMark>AoI=</nextCursorMark>
<resultList><result><id>1</id><source>MED</source><doi>10.1/x</doi><firstIndexDate>2025-03-05</firstIndexDate></result></resultList></responseWrapper>`,
			"MED:1 2025-03-05T00:00:00Z {\"doi\":\"10.1/x\"}\nitems 1 total 1 token AoI="},
		{"openalex", `{"meta":{"count":2,"next_cursor":null},"results":[{"id":"https://openalex.org/W1","doi":null,"publication_year":2020,"updated_date":"2025-03-05T04:05:06.123456"}]}`,
			"https://openalex.org/W1 2025-03-05T04:05:06.123456Z {\"year\":2020}\nitems 1 total 2"},
		{"datacite", `{"data":[{"id":"10.5/x","attributes":{"updated":"2025-03-05T01:00:00.000Z","titles":[{"title":"A"},{"title":"B"}],"dates":[{"date":"2019","dateType":"Issued"},{"date":"2020-01","dateType":"Updated"}]}}],
			"meta":{"total":31,"totalPages":2,"page":1},"links":{"self":"x","next":"/dois?page%5Bcursor%5D=MTU"}}`,
			"10.5/x 2025-03-05T01:00:00Z {\"issued\":[\"2019\"],\"titles\":\"A / B\"}\nitems 1 total 31 url /dois?page%5Bcursor%5D=MTU more true"},
		{"doaj", `{"total":200,"page":1,"next":"https://doaj.org/api/search?page=2","results":[{"id":"a1","last_updated":"2025-03-05T01:02:03Z","bibjson":{"year":"2020"}},{"id":"a2","last_updated":"2025-0306T01:02:03Z","bibjson":{}}]}`,
			"a1 2025-03-05T01:02:03Z {\"published\":\"2020-1\"}\n!BAD_UPDATED_AT 1 $.last_updated\nitems 2 total 200 url https://doaj.org/api/search?page=2"},
		{"biorxiv", `{"messages":[{"status":"ok","cursor":0,"count":3,"total":"4"}],"collection":[{"doi":"10.1101/a","version":"1","date":"2025-03-01","published":"NA"},
			{"doi":"10.1101/a","version":"2","date":"2025-03-01","published":"10.9/z"},{"doi":"10.1101/b","version":"1","date":"2025-03-02","published":"NA"}]}`,
			"10.1101/a 2025-03-01T00:00:00Z v2 {\"published\":\"10.9/z\"}\n10.1101/b 2025-03-02T00:00:00Z v1 {}\nitems 3 total 4 more true duplicate 1"},
		{"arxiv", `<feed xmlns="http://www.w3.org/2005/Atom"><opensearch:totalResults xmlns:opensearch="http://a9.com/">218</opensearch:totalResults>
<entry><id>http://arxiv.org/abs/astro-ph/0601001v2</id><updated>2025-03-05T01:02:03Z</updated><author><name>A B</name></author><link title="pdf" href="http://p"/><link href="http://h"/></entry>
<entry><id>http://arxiv.org/abs/2503.00001v1</id><updated>2025-03-06T01:02:03Z</updated><author><name>C</name></author><author><name>D</name></author></entry></feed>`,
			"astro-ph/0601001 2025-03-05T01:02:03Z v2 {\"authors\":[\"A B\"],\"pdf\":[\"http://p\"]}\n2503.00001 2025-03-06T01:02:03Z v1 {\"authors\":[\"C\",\"D\"]}\nitems 2 total 218"},
		{"oai", `<OAI-PMH><responseDate>x</responseDate><ListRecords><record><header><identifier>oai:a:1</identifier><datestamp>2025-03-05</datestamp><setSpec>s</setSpec></header>
<metadata><oai_dc:dc xmlns:oai_dc="o" xmlns:dc="d"><dc:title>T</dc:title></oai_dc:dc></metadata></record>
<record><header status="deleted"><identifier>oai:a:2</identifier><datestamp>2025-03-06T00:00:00Z</datestamp></header></record>
<record><header><identifier>oai:a:3</identifier><datestamp>2025-03-06</datestamp></header><metadata/></record>
<resumptionToken completeListSize="900" cursor="0"> tok/1!x </resumptionToken></ListRecords></OAI-PMH>`,
			`oai:a:1 2025-03-05T00:00:00Z {"sets":["s"],"title":["T"]}
oai:a:2 2025-03-06T00:00:00Z gone {}
!MISSING_FIELD 2 $.metadata.dc.title[*]
items 3 total 900 token tok/1!x`},
		{"oai", `<OAI-PMH><ListRecords><record><header><identifier>oai:a:1</identifier><datestamp>2025-03-05</datestamp></header><metadata><dc><title>T</title></dc></metadata></record><resumptionToken completeListSize="1"/></ListRecords></OAI-PMH>`,
			"oai:a:1 2025-03-05T00:00:00Z {\"title\":[\"T\"]}\nitems 1 total 1"},
		{"oai", `<OAI-PMH><request verb="ListRecords">x</request><error code="noRecordsMatch">nothing</error></OAI-PMH>`,
			"items 0 empty by $['OAI-PMH'].error[?@['@code']=='noRecordsMatch']"},
		{"clinicaltrials", `{"totalCount":2,"nextPageToken":"NF0g5JGBlPMuwQY","studies":[{"protocolSection":{"identificationModule":{"nctId":"NCT00000001"},"statusModule":{"startDateStruct":{"date":"2024-05"},"lastUpdatePostDateStruct":{"date":"2025-03-05"}}}}]}`,
			"NCT00000001 2025-03-05T00:00:00Z {\"start\":\"2024-05\"}\nitems 1 total 2 token NF0g5JGBlPMuwQY"},
		{"semanticscholar", `{"total":3027,"token":null,"data":[{"paperId":"ab","year":null},{"paperId":"cd","year":2020}]}`, "ab {}\ncd {\"year\":2020}\nitems 2 total 3027"},
		{"semanticscholar", `{"total":0,"offset":0}`, "items 0 total 0 empty by ${jsonPath('$.total') == 0}"},
		{"semanticscholar batch", `[{"paperId":"ab","corpusId":9007199254740993},null,{"paperId":"cd"},null]`, "ab {\"corpus\":9007199254740993}\ncd {}\nitems 4 nulls 2"},
		{"detail", `{"status":"ok","message":{"DOI":"10.1/x","n":1}}`, "10.1/x {\"n\":1}\nitems 1"},
		{"lines", "{\"id\":\"a\",\"at\":\"2025-03-05\",\"n\":1.50}\n\n{\"id\":\"b\"\n{\"id\":\"c\",\"at\":1741136523}\n", "a 2025-03-05T00:00:00Z {\"n\":1.50}\nc 2025-03-05T01:02:03Z {}\n!BAD_ITEM 1 \nitems 3 token c"},
		{"table", "pmid;day;n\n1;05.03.2025;7\n2;06.03.2025;x\n3;7.3.2025;1\n", "1 2025-03-05T00:00:00Z {\"n\":7}\n!MAPPING_FAILED 1 ${int(jsonPath('$.n'))}\n!BAD_UPDATED_AT 2 $.day\nitems 3"},
		{"bare table", "1,2025-03-05,x\n", "1 2025-03-05T00:00:00Z {\"n\":\"x\"}\nitems 1"},
	} {
		page, err := endpoint(t, c.endpoint).Read([]byte(c.body), asked)
		if err != nil {
			t.Errorf("%s: %v in %.100s", c.endpoint, err, c.body)
			continue
		}
		if got := summary(page); got != c.want {
			t.Errorf("%s: %.80s\ngot:\n%s\nwant:\n%s", c.endpoint, c.body, got, c.want)
		}
	}
}

// Errors that come as good answers are errors, and say what the upstream said.
func TestErrorsInsideGoodAnswers(t *testing.T) {
	for _, c := range []struct{ endpoint, body, says string }{
		{"crossref", `{"status":"failed","message":{"items":[],"total-results":0}}`, `errorWhen ${jsonPath('$.status') != 'ok'} saw $.status: "failed"`},
		{"esearch", `{"esearchresult":{"ERROR":"Search Backend failed: Exception"}}`, `errorWhen $.esearchresult.ERROR saw "Search Backend failed: Exception"`},
		{"esearch", `{"error":"API rate limit exceeded","api-key":"canary","count":"4","limit":"3"}`, `saw "API rate limit exceeded"`},
		{"efetch", `<eFetchResult><ERROR>Empty id list</ERROR></eFetchResult>`, `errorWhen $.eFetchResult.ERROR saw "Empty id list"`},
		{"efetch", `<html><body>503</body></html>`, "no array at $.PubmedArticleSet.PubmedArticle"},
		{"europepmc", `{"errCode":404,"errMsg":"page size"}`, "errorWhen $.errCode saw 404"},
		{"europepmc", `{"errCode":0,"resultList":{"result":[]}}`, "errorWhen $.errCode saw 0"},
		{"europepmc xml", `<errorBean><errCode>0</errCode><errMsg>not open access</errMsg></errorBean>`, "not open access"},
		{"datacite", `{"errors":[{"status":"404","title":"not found"}]}`, "not found"},
		{"datacite", `{"data":[],"meta":{"page":1}}`, "hasMore"},
		{"biorxiv", `{"messages":[{"status":"no posts found"}],"collection":[]}`, `saw $.messages[0].status: "no posts found"`},
		{"biorxiv", ``, "no document"},
		{"arxiv", `<feed><entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>incorrect id</summary></entry></feed>`, `"incorrect id"`},
		{"oai", `<OAI-PMH><error code="badResumptionToken">canary token=abcdef</error></OAI-PMH>`, "badResumptionToken"},
		{"oai", `<OAI-PMH><Identify/></OAI-PMH>`, "no array at"},
		{"semanticscholar", `{"total":3}`, "no array at $.data"},
		{"semanticscholar", `{"message":"Forbidden"}`, `saw "Forbidden"`},
		{"detail", `{"status":"ok","message":null}`, "no item at $.message"},
		{"detail", `{"status":"ok","message":[{"DOI":"a"}]}`, "no item at $.message"},
		{"table", "pmid;day;n\n1;05.03.2025;7", "may be cut"},
		{"lines", "{\"id\":\"a\",\"at\":\"2025-03-05\"}\n{\"id\":", "ends before"},
	} {
		page, err := endpoint(t, c.endpoint).Read([]byte(c.body), asked)
		if err == nil {
			t.Errorf("%s: %s was read as a page:\n%s", c.endpoint, c.body, summary(page))
			continue
		}
		if f := fault.As(err); f.Code != fault.BadBody || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s\ngot  %v\nwant %s", c.endpoint, c.body, err, c.says)
		}
		if strings.Contains(err.Error(), "abcdef") || len(err.Error()) > 500 {
			t.Errorf("%s: the error shows too much: %v", c.endpoint, err)
		}
	}
}

package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
)

// work is one record of a made upstream.
type work struct {
	id string
	at time.Time
}

// madeUpstream is an upstream that stands in for a real one: works that it selects by date and serves in pages, as the
// source it stands for does.
type madeUpstream struct{ works []work }

var (
	shelfFrom = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	shelfTo   = shelfFrom.AddDate(0, 0, 3)
)

// newUpstream has a work about every two hours of three days.
func newUpstream(name func(int) string) *madeUpstream {
	s := &madeUpstream{}
	for at := shelfFrom.Add(11 * time.Minute); at.Before(shelfTo); at = at.Add(107 * time.Minute) {
		s.works = append(s.works, work{name(len(s.works)), at})
	}
	return s
}

var dateText = regexp.MustCompile(`\b\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ?)?\b`)

// named selects by the ids that stand in a text.
func (s *madeUpstream) named(text string) (out []work) {
	for _, w := range s.works {
		for _, id := range []string{w.id, strings.TrimPrefix(w.id, "https://openalex.org/"), strings.Replace(w.id, "/", ` AND EXT_ID:"`, 1)} {
			if regexp.MustCompile(`(^|[ "(|,:])` + regexp.QuoteMeta(id) + `($|[ ")|,])`).MatchString(text) {
				out = append(out, w)
				break
			}
		}
	}
	return out
}

// between selects by the first two dates of a text, both included as finely as they are
// written; by the ids in it, if it has no dates.
func (s *madeUpstream) between(text string) (out []work) {
	if !dateText.MatchString(text) {
		return s.named(text)
	}
	var ends [2]time.Time
	for i, found := range dateText.FindAllString(text, 2) {
		length := time.Second
		at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(found, "Z"))
		if err != nil {
			at, _ = time.Parse(time.DateOnly, found)
			length = 24 * time.Hour
		}
		if ends[i] = at; i == 1 {
			ends[i] = at.Add(length)
		}
	}
	for _, w := range s.works {
		if !w.at.Before(ends[0]) && w.at.Before(ends[1]) {
			out = append(out, w)
		}
	}
	return out
}

// cut gives so many from a place on, and the place behind them.
func cut(all []work, from, n int) ([]work, int) {
	from = min(max(from, 0), len(all))
	end := min(from+n, len(all))
	return all[from:end], end
}

func list(all []work, item func(work) string) string {
	var out []string
	for _, w := range all {
		out = append(out, item(w))
	}
	return strings.Join(out, ",")
}

func number(q url.Values, name string, other int) int {
	if n, err := strconv.Atoi(q.Get(name)); err == nil {
		return n
	}
	return other
}

// small is how many items a page has, so that every list takes several.
const small = "3"

// shape is how a bundled source is asked and answered.
type shape struct {
	code, endpoint string
	name           func(i int) string
	settings       []string
	answer         func(s *madeUpstream, r *http.Request) string
}

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i+1) }
}

func stamp(w work) string { return w.at.Format("2006-01-02T15:04:05Z") }

// hits is the answer of Invenio, which several repositories run on.
func hits(s *madeUpstream, r *http.Request) string {
	q := r.URL.Query()
	all := s.between(q.Get("q"))
	size := number(q, "size", 10)
	some, _ := cut(all, (number(q, "page", 1)-1)*size, size)
	return fmt.Sprintf(`{"hits":{"hits":[%s],"total":%d},"links":{}}`, list(some, func(w work) string {
		return fmt.Sprintf(`{"id":%s,"created":%q,"updated":%q,"revision":1,"metadata":{"title":"Work %s","titles":[{"title":"Work"}]}}`, w.id, stamp(w), stamp(w), w.id)
	}), len(all))
}

func oaiRecord(w work) string {
	return fmt.Sprintf(`<record><header><identifier>%s</identifier><datestamp>%s</datestamp></header><metadata><dc><title>Work</title></dc></metadata></record>`, w.id, w.at.Format(time.DateOnly))
}

// oaiRecords is GetRecord, and ListRecords with a token that counts.
func oaiRecords(s *madeUpstream, r *http.Request) string {
	q := r.URL.Query()
	if q.Get("verb") == "GetRecord" {
		found := s.named(q.Get("identifier"))
		if len(found) == 0 {
			return `<OAI-PMH><error code="idDoesNotExist">none</error></OAI-PMH>`
		}
		return `<OAI-PMH><GetRecord>` + oaiRecord(found[0]) + `</GetRecord></OAI-PMH>`
	}
	asked, from := q.Get("from")+" "+q.Get("until"), 0
	if token := q.Get("resumptionToken"); token != "" {
		parts := strings.SplitN(token, "!", 2)
		from, _ = strconv.Atoi(parts[0])
		asked = parts[1]
		if len(q) > 2 {
			return `<OAI-PMH><error code="badArgument">resumptionToken is exclusive</error></OAI-PMH>`
		}
	}
	all := s.between(asked)
	some, end := cut(all, from, 3)
	if len(some) == 0 {
		return `<OAI-PMH><error code="noRecordsMatch">nothing</error></OAI-PMH>`
	}
	token := ""
	if end < len(all) {
		token = fmt.Sprintf("%d!%s", end, asked)
	}
	var out strings.Builder
	for _, w := range some {
		out.WriteString(oaiRecord(w))
	}
	return `<OAI-PMH><ListRecords>` + out.String() + fmt.Sprintf(`<resumptionToken completeListSize="%d">%s</resumptionToken></ListRecords></OAI-PMH>`, len(all), token)
}

// solr is the answer of a Solr search with a cursor or a start.
func solr(q string, id, date string) func(*madeUpstream, *http.Request) string {
	return func(s *madeUpstream, r *http.Request) string {
		query := r.URL.Query()
		all := s.between(query.Get(q))
		from := number(query, "start", 0)
		mark := query.Get("cursorMark")
		if mark != "" && mark != "*" {
			from, _ = strconv.Atoi(strings.TrimPrefix(mark, "m"))
		}
		some, end := cut(all, from, number(query, "rows", 10))
		next := ""
		if mark != "" {
			next = fmt.Sprintf(`,"nextCursorMark":"m%d"`, end)
			if len(some) == 0 {
				next = fmt.Sprintf(`,"nextCursorMark":%q`, mark)
			}
		}
		return fmt.Sprintf(`{"response":{"numFound":%d,"start":%d,"docs":[%s]}%s}`, len(all), from, list(some, func(w work) string {
			return fmt.Sprintf(`{%q:%q,%q:%q,"version_i":1,"title":["Work"],"title_s":["Work"]}`, id, w.id, date, stamp(w))
		}), next)
	}
}

// arxivFeed selects by minutes, written without signs, or by id.
func arxivFeed(s *madeUpstream, r *http.Request) string {
	q := r.URL.Query()
	all := s.named(q.Get("id_list"))
	if q.Get("id_list") == "" {
		text := regexp.MustCompile(`(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)`).ReplaceAllString(q.Get("search_query"), "$1-$2-${3}T$4:$5:00Z")
		all = s.between(text)
	}
	some, _ := cut(all, number(q, "start", 0), number(q, "max_results", 10))
	var out strings.Builder
	for _, w := range some {
		fmt.Fprintf(&out, `<entry><id>http://arxiv.org/abs/%sv1</id><updated>%s</updated><title>Work</title></entry>`, w.id, stamp(w))
	}
	return fmt.Sprintf(`<feed><totalResults>%d</totalResults><startIndex>%d</startIndex>%s</feed>`, len(all), number(q, "start", 0), &out)
}

// pubmedAnswer is esearch and efetch.
func pubmedAnswer(s *madeUpstream, r *http.Request) string {
	_ = r.ParseForm()
	if strings.HasSuffix(r.URL.Path, "/efetch.fcgi") {
		var out strings.Builder
		for _, w := range s.named(r.Form.Get("id")) {
			fmt.Fprintf(&out, `<PubmedArticle><MedlineCitation><PMID Version="1">%s</PMID><DateRevised><Year>%d</Year><Month>%02d</Month><Day>%02d</Day></DateRevised><Article><ArticleTitle>Work</ArticleTitle></Article></MedlineCitation></PubmedArticle>`,
				w.id, w.at.Year(), w.at.Month(), w.at.Day())
		}
		return `<PubmedArticleSet>` + out.String() + `</PubmedArticleSet>`
	}
	all := s.between(strings.ReplaceAll(r.Form.Get("term"), "/", "-"))
	some, _ := cut(all, number(r.Form, "retstart", 0), number(r.Form, "retmax", 20))
	return fmt.Sprintf(`{"esearchresult":{"count":"%d","idlist":[%s]}}`, len(all), list(some, func(w work) string { return strconv.Quote(w.id) }))
}

// preprints is the answer for one of the two servers of bioRxiv: /details/SERVER/from/to/offset/json.
func preprints(server string) func(*madeUpstream, *http.Request) string {
	return func(s *madeUpstream, r *http.Request) string {
		parts := strings.Split(r.URL.Path, "/")
		all := s.between(parts[3] + " " + parts[4])
		from, _ := strconv.Atoi(parts[5])
		some, _ := cut(all, from, 3)
		if len(all) == 0 || parts[2] != server {
			return `{"messages":[{"status":"no posts found"}],"collection":[]}`
		}
		return fmt.Sprintf(`{"messages":[{"status":"ok","total":"%d"}],"collection":[%s]}`, len(all), list(some, func(w work) string {
			return fmt.Sprintf(`{"doi":%q,"version":"1","date":%q,"title":"Work"}`, strings.TrimSuffix(w.id, "v1"), w.at.Format(time.DateOnly))
		}))
	}
}

// openCitations is the list of what cites a DOI, or of what it cites. Some have none.
func openCitations(list string) func(*madeUpstream, *http.Request) string {
	return func(s *madeUpstream, r *http.Request) string {
		some := s.named(strings.TrimPrefix(r.URL.Path, "/"+list+"/doi:"))
		if len(some) != 1 || strings.HasSuffix(some[0].id, "1") {
			return "[]"
		}
		citing, cited := "10.5555/citing", some[0].id
		if list == "references" {
			citing, cited = cited, citing
		}
		return fmt.Sprintf(`[{"oci":"06101801781-06180334099","citing":"omid:br/06101801781 doi:%s","cited":"omid:br/06180334099 doi:%s","creation":"2024-05","timespan":"P1Y","journal_sc":"no","author_sc":"no"}]`, citing, cited)
	}
}

func shapes() []shape {
	return []shape{
		{"hal", "documents", numbered("%d"), nil, solr("q", "docid", "modifiedDate_tdate")},
		{"nasaads", "records", numbered("2025Made..1..%03dX"), nil, solr("q", "bibcode", "entry_date")},
		{"zenodo", "records", numbered("%d"), nil, hits},
		{"inspirehep", "literature", numbered("%d"), nil, hits},
		{"ror", "organizations", numbered("https://ror.org/0%05d"), []string{"window.lookback=P1D", "paging.size=20"}, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			house := func(w work) string {
				return fmt.Sprintf(`{"id":%q,"names":[{"value":"House"}],"status":"active","admin":{"created":{"date":"2020-01-01"},"last_modified":{"date":%q,"schema_version":"2.1"}}}`, w.id, w.at.Format(time.DateOnly))
			}
			if id, found := strings.CutPrefix(r.URL.Path, "/organizations/"); found {
				return list(s.named("https://ror.org/"+id), house)
			}
			all := s.between(q.Get("query.advanced"))
			some, _ := cut(all, (number(q, "page", 1)-1)*20, 20)
			return fmt.Sprintf(`{"number_of_results":%d,"time_taken":3,"items":[%s]}`, len(all), list(some, house))
		}},
		{"orcid", "search", numbered("0000-0000-0000-%04d"), nil, func(s *madeUpstream, r *http.Request) string {
			if id, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/record"); found {
				for _, w := range s.works {
					if w.id == id {
						return fmt.Sprintf(`{"orcid-identifier":{"path":%q},"history":{"last-modified-date":{"value":%d}},"person":{"name":{"given-names":{"value":"A"}}}}`, id, w.at.UnixMilli())
					}
				}
				return `{"error-code":9016}`
			}
			q := r.URL.Query()
			all := s.between(q.Get("q"))
			some, _ := cut(all, number(q, "start", 0), number(q, "rows", 10))
			if len(all) == 0 {
				return `{"result":null,"num-found":0}`
			}
			return fmt.Sprintf(`{"num-found":%d,"result":[%s]}`, len(all), list(some, func(w work) string { return fmt.Sprintf(`{"orcid-identifier":{"path":%q}}`, w.id) }))
		}},
		{"wikidata", "changes", numbered("Q%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			if q.Get("action") == "wbgetentities" {
				var some []work
				for _, w := range s.works {
					if strings.Contains("|"+q.Get("ids")+"|", "|"+w.id+"|") {
						some = append(some, w)
					}
				}
				return fmt.Sprintf(`{"entities":{%s},"success":1}`, list(some, func(w work) string {
					return fmt.Sprintf(`%q:{"type":"item","id":%q,"lastrevid":7,"modified":%q,"labels":{}}`, w.id, w.id, stamp(w))
				}))
			}
			all := s.between(q.Get("rcstart") + " " + q.Get("rcend"))
			some, end := cut(all, number(q, "rccontinue", 0), number(q, "rclimit", 10))
			next := ""
			if end < len(all) {
				next = fmt.Sprintf(`"continue":{"rccontinue":"%d","continue":"-||"},`, end)
			}
			return fmt.Sprintf(`{%s"query":{"recentchanges":[%s]}}`, next, list(some, func(w work) string { return fmt.Sprintf(`{"type":"edit","title":%q,"timestamp":%q}`, w.id, stamp(w)) }))
		}},
		{"arxivoai", "records", numbered("oai:arXiv.org:2503.%05d"), nil, oaiRecords},
		{"scielo", "records", numbered("oai:scielo:S%04d"), nil, oaiRecords},
		{"pmc", "records", numbered("oai:pubmedcentral.nih.gov:%d"), nil, oaiRecords},
		{"openalex", "works", numbered("https://openalex.org/W%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("filter"))
			from := 0
			if c := q.Get("cursor"); c != "*" && c != "" {
				from, _ = strconv.Atoi(c)
			}
			some, end := cut(all, from, number(q, "per_page", 10))
			next := "null"
			if len(some) > 0 {
				next = fmt.Sprintf(`"%d"`, end)
			}
			return fmt.Sprintf(`{"meta":{"count":%d,"next_cursor":%s},"results":[%s]}`, len(all), next, list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"updated_date":%q,"title":"Work"}`, w.id, w.at.Format("2006-01-02T15:04:05.000000"))
			}))
		}},
		{"crossref", "works", numbered("10.5555/made.%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("filter"))
			from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("cursor"), "c"))
			some, end := cut(all, from, number(q, "rows", 20))
			return fmt.Sprintf(`{"status":"ok","message":{"total-results":%d,"next-cursor":"c%d","items":[%s]}}`, len(all), end, list(some, func(w work) string {
				return fmt.Sprintf(`{"DOI":%q,"indexed":{"date-time":%q},"title":["Work"],"score":%d}`, w.id, stamp(w), from)
			}))
		}},
		{"datacite", "dois", numbered("10.5555/data.%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("query"))
			from := max(number(q, "page[cursor]", 1)-1, 0)
			some, end := cut(all, from, number(q, "page[size]", 25))
			next := ""
			if end < len(all) {
				q.Set("page[cursor]", strconv.Itoa(end+1))
				next = fmt.Sprintf(`"next":"http://%s/dois?%s"`, r.Host, q.Encode())
			}
			return fmt.Sprintf(`{"data":[%s],"meta":{"total":%d},"links":{%s}}`, list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"attributes":{"doi":%q,"updated":%q,"viewCount":%d}}`, w.id, w.id, stamp(w), from)
			}), len(all), next)
		}},
		{"europepmc", "articles", numbered("MED/%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("query"))
			from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("cursorMark"), "m"))
			some, end := cut(all, from, number(q, "pageSize", 25))
			return fmt.Sprintf(`{"hitCount":%d,"nextCursorMark":"m%d","resultList":{"result":[%s]}}`, len(all), end, list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"source":"MED","title":"Work","firstIndexDate":%q}`, strings.TrimPrefix(w.id, "MED/"), w.at.Format(time.DateOnly))
			}))
		}},
		{"doaj", "articles", numbered("%032d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(strings.TrimPrefix(r.URL.Path, "/search/articles/"))
			size := number(q, "pageSize", 10)
			some, _ := cut(all, (number(q, "page", 1)-1)*size, size)
			return fmt.Sprintf(`{"total":%d,"results":[%s]}`, len(all), list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"last_updated":%q,"created_date":%q,"bibjson":{"title":"Work"}}`, w.id, stamp(w), stamp(w))
			}))
		}},
		{"biorxiv", "biorxiv", numbered("10.1101/2025.03.%06dv1"), nil, preprints("biorxiv")},
		{"biorxiv", "medrxiv", numbered("10.1101/2025.04.%06dv1"), nil, preprints("medrxiv")},
		{"arxiv", "papers", numbered("2503.%05d"), nil, arxivFeed},
		{"figshare", "records", numbered("oai:figshare.com:article/%d"), nil, oaiRecords},
		{"core", "works", numbered("%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("q"))
			from := number(q, "scrollId", 0)
			some, end := cut(all, from, number(q, "limit", 10))
			return fmt.Sprintf(`{"totalHits":%d,"scrollId":"%d","results":[%s]}`, len(all), end, list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%s,"title":"Work","updatedDate":%q}`, w.id, stamp(w))
			}))
		}},
		{"lens", "works", numbered("000-000-000-%03d"), nil, func(s *madeUpstream, r *http.Request) string {
			text, _ := io.ReadAll(r.Body)
			var asked struct {
				Query  any    `json:"query"`
				Size   int    `json:"size"`
				Scroll string `json:"scroll_id"`
			}
			if err := json.Unmarshal(text, &asked); err != nil || r.Method != http.MethodPost || (asked.Scroll == "") == (asked.Query == nil) {
				return `{"message":"a query, or the scroll id that stands for one"}`
			}
			from, query, size := 0, strings.NewReplacer("[", " ", "]", " ").Replace(fmt.Sprint(asked.Query)), asked.Size
			if asked.Scroll != "" {
				_, _ = fmt.Sscanf(asked.Scroll, "%d;%d;", &from, &size)
				query = strings.SplitN(asked.Scroll, ";", 3)[2]
			}
			all := s.between(query)
			some, end := cut(all, from, size)
			return fmt.Sprintf(`{"total":%d,"data":[%s],"results":%d,"scroll_id":%q}`, len(all), list(some, func(w work) string {
				return fmt.Sprintf(`{"lens_id":%q,"title":"Work","created":%q,"scholarly_citations_count":%d}`, w.id, stamp(w), from)
			}), len(some), fmt.Sprintf("%d;%d;%s", end, size, query))
		}},
		{"openaire", "products", numbered("doi_dedup___::%032d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.named(q.Get("id"))
			if q.Get("id") == "" {
				all = s.between(q.Get("fromPublicationDate") + " " + q.Get("toPublicationDate"))
			}
			from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("cursor"), "c"))
			some, end := cut(all, from, number(q, "pageSize", 10))
			return fmt.Sprintf(`{"header":{"numFound":%d,"nextCursor":"c%d"},"results":[%s]}`, len(all), end, list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"mainTitle":"Work","publicationDate":%q,"indicators":{"n":%d}}`, w.id, w.at.Format(time.DateOnly), from)
			}))
		}},
		{"dblp", "publications", numbered("journals/made/%d"), []string{"files.every=PT1H"}, func(s *madeUpstream, r *http.Request) string {
			if r.URL.Path != "/dblp.xml.gz" {
				return ""
			}
			text := `<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE dblp SYSTEM "dblp.dtd"><dblp><www key="homepages/m/1" mdate="2025-03-03"><title>Home Page</title></www>`
			for _, w := range s.works {
				text += fmt.Sprintf(`<article key=%q mdate=%q><author>J&uuml;rgen Muster</author><title>On <i>X</i></title></article>`, w.id, w.at.Format(time.DateOnly))
			}
			return string(gzipped(text + "</dblp>\n"))
		}},
		{"github", "releases", numbered("%d"), nil, func(s *madeUpstream, r *http.Request) string {
			release := func(w work) string {
				return fmt.Sprintf(`{"id":%s,"tag_name":"v%s","published_at":%q,"assets":[{"download_count":%d}]}`, w.id, w.id, stamp(w), len(r.URL.Path))
			}
			if id, found := strings.CutPrefix(r.URL.Path, "/repos/kermitt2/grobid/releases/"); found {
				return list(s.named(id), release)
			}
			newest := slices.Clone(s.works)
			slices.Reverse(newest)
			q := r.URL.Query()
			size := number(q, "per_page", 30)
			some, _ := cut(newest, (number(q, "page", 1)-1)*size, size)
			return "[" + list(some, release) + "]"
		}},
		{"jstage", "articles", numbered("https://www.jstage.jst.go.jp/article/made/%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.works
			if q.Get("pubyearfrom") != "2025" || q.Get("pubyearto") != "2025" {
				all = nil
			}
			some, _ := cut(all, number(q, "start", 1)-1, number(q, "count", 10))
			var out strings.Builder
			for _, w := range some {
				fmt.Fprintf(&out, `<entry><id>%s</id><article_title><en>Work</en></article_title><updated>%s</updated></entry>`, w.id, stamp(w))
			}
			return fmt.Sprintf(`<feed><result><status>0</status></result><totalResults>%d</totalResults>%s</feed>`, len(all), &out)
		}},
		{"pubmed", "articles", numbered("%d"), []string{"window.lookback=P1D", "paging.size=9999"}, pubmedAnswer},
		{"semanticscholar", "papers", numbered("%040d"), []string{`query.where=phrase(text, "open science")`}, func(s *madeUpstream, r *http.Request) string {
			paper := func(w work) string {
				return fmt.Sprintf(`{"paperId":%q,"title":"Work","year":2025,"citationCount":%d}`, w.id, len(r.URL.RawQuery))
			}
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				return "[null," + list(s.named(string(body)), paper) + "]"
			}
			q := r.URL.Query()
			if q.Get("query") != `"open science"` {
				return `{"error":"Missing required parameter: 'query'"}`
			}
			some, end := cut(s.works, number(q, "token", 0), 10)
			next := "null"
			if end < len(s.works) {
				next = fmt.Sprintf(`"%d"`, end)
			}
			return fmt.Sprintf(`{"total":%d,"token":%s,"data":[%s]}`, len(s.works), next, list(some, paper))
		}},
		{"dimensions", "publications", numbered("pub.%d"), nil, func(s *madeUpstream, r *http.Request) string {
			text, _ := io.ReadAll(r.Body)
			all := s.between(string(text))
			some := all
			if page := regexp.MustCompile(`limit (\d+) skip (\d+)`).FindStringSubmatch(string(text)); page != nil {
				size, _ := strconv.Atoi(page[1])
				skip, _ := strconv.Atoi(page[2])
				some, _ = cut(all, skip, size)
			}
			return fmt.Sprintf(`{"_stats":{"total_count":%d},"publications":[%s],"_version":{"release":"2.9"}}`, len(all), list(some, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"title":"Work","type":"article","date_inserted":%q,"times_cited":%d}`, w.id, w.at.Format("2006-01-02T15:04:05"), len(text))
			}))
		}},
		{"scopus", "records", numbered("SCOPUS_ID:%d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			text := strings.ReplaceAll(q.Get("query"), "2-s2.0-", "SCOPUS_ID:")
			all := s.named(strings.NewReplacer("EID(", " ", ")", " ").Replace(text))
			if bounds := regexp.MustCompile(`AFT (\d{8}) AND ORIG-LOAD-DATE BEF (\d{8})`).FindStringSubmatch(text); bounds != nil {
				after, _ := time.Parse("20060102", bounds[1])
				before, _ := time.Parse("20060102", bounds[2])
				all = nil
				for _, w := range s.works {
					if day := w.at.Truncate(24 * time.Hour); day.After(after) && day.Before(before) {
						all = append(all, w)
					}
				}
			}
			some, _ := cut(all, number(q, "start", 0), number(q, "count", 25))
			entries := list(some, func(w work) string {
				return fmt.Sprintf(`{"@_fa":"true","dc:identifier":%q,"dc:title":"Work","prism:coverDate":%q,"citedby-count":"%d"}`, w.id, w.at.Format(time.DateOnly), len(q.Get("query")))
			})
			if len(all) == 0 {
				entries = `{"@_fa":"true","error":"Result set was empty"}`
			}
			return fmt.Sprintf(`{"search-results":{"opensearch:totalResults":"%d","opensearch:startIndex":"0","entry":[%s]}}`, len(all), entries)
		}},
		{"unpaywall", "by_doi", numbered("10.5555/made.%d"), []string{"contact.email=me@example.org"}, func(s *madeUpstream, r *http.Request) string {
			if r.URL.Query().Get("email") == "" {
				return `{"error":true,"message":"an email is needed"}`
			}
			for _, w := range s.named(strings.TrimPrefix(r.URL.Path, "/")) {
				return fmt.Sprintf(`{"doi":%q,"title":"Work","is_oa":true,"oa_status":"gold","updated":%q,"oa_locations":[{"url":"https://example.org"}]}`, w.id, w.at.Format("2006-01-02T15:04:05.000000"))
			}
			return `{"error":true}`
		}},
		{"opencitations", "citations", numbered("10.5555/made.%d"), []string{"rate.perSecond=1000"}, openCitations("citations")},
		{"opencitations", "references", numbered("10.5555/made.%d"), []string{"rate.perSecond=1000"}, openCitations("references")},
		{"clinicaltrials", "studies", numbered("NCT%08d"), nil, func(s *madeUpstream, r *http.Request) string {
			q := r.URL.Query()
			all := s.between(q.Get("query.term") + q.Get("filter.ids"))
			some, end := cut(all, number(q, "pageToken", 0), number(q, "pageSize", 10))
			next := ""
			if end < len(all) {
				next = fmt.Sprintf(`,"nextPageToken":"%d"`, end)
			}
			return fmt.Sprintf(`{"totalCount":%d,"studies":[%s]%s}`, len(all), list(some, func(w work) string {
				return fmt.Sprintf(`{"protocolSection":{"identificationModule":{"nctId":%q},"statusModule":{"lastUpdatePostDateStruct":{"date":%q}}}}`, w.id, w.at.Format(time.DateOnly))
			}), next)
		}},
	}
}

// withoutCredentials is a bundled file as it is asked here: of a made server that wants no
// key. Everything else is as it is bundled.
func (sh shape) withoutCredentials(t *testing.T, address string) *registry.Source {
	t.Helper()
	text, err := catalog.Read(sh.code)
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`(?s)\ncredentials:\n.*?\nhttp:`).ReplaceAllString(string(text), "\nhttp:")
	plain = regexp.MustCompile(`\n +auth:\n +credential: \S+`).ReplaceAllString(plain, "")
	plain = regexp.MustCompile(`( +)baseUrl: \S+`).ReplaceAllString(plain, "${1}baseUrl: "+address+"\n${1}allowHttp: true\n${1}allowPrivate: true")
	plain = strings.Replace(plain, "\nsource: ", "\nsource: made-", 1) // the rates of a bundled one are read anew by every task
	plain = regexp.MustCompile(`perSecond: \S+`).ReplaceAllString(plain, "perSecond: 1000")
	plain = regexp.MustCompile(`\n  (perSecondWithKey|quotaPer\w+): \S+`).ReplaceAllString(plain, "")
	src, _, err := registry.Decode(catalog.File(sh.code), []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// Bundled sources are run, not only validated: against a server of their shape everything is
// stored, a second harvest finds nothing new, and nothing is owed.
func TestBundledSourcesAreHarvestedTwice(t *testing.T) {
	run := map[string]bool{}
	for _, sh := range append(shapes(), fileShapes()...) {
		run[sh.code+"/"+sh.endpoint] = true
	}
	for _, code := range catalog.List() {
		src, err := Bundled(code)
		if err != nil {
			t.Fatal(err)
		}
		for name, e := range src.Endpoints {
			if reads := e.Role == "SEARCH" || e.Role == "FILE" || src.StandsAlone(name); reads && !run[code+"/"+name] {
				t.Errorf("%s/%s is not run", code, name)
			}
		}
	}
	for _, sh := range append(shapes(), fileShapes()...) {
		t.Run(sh.code+"/"+sh.endpoint, func(t *testing.T) {
			t.Parallel()
			s := newUpstream(sh.name)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := sh.answer(s, r)
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(body, "<") {
					w.Header().Set("Content-Type", "text/xml")
				}
				fmt.Fprint(w, body)
			}))
			defer server.Close()
			src := sh.withoutCredentials(t, server.URL)
			var set []registry.Override
			settings := sh.settings
			if len(settings) == 0 {
				settings = []string{"window.lookback=P1D", "paging.size=" + small}
			}
			for _, text := range settings {
				one, err := registry.ParseOverride(text)
				if err != nil {
					t.Fatal(err)
				}
				set = append(set, one)
			}
			app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Relaxed: true, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer app.Close()
			if src.StandsAlone(sh.endpoint) {
				sh.nameAll(t, app, src, set, s.works)
				return
			}
			c, err := Compile(src, sh.endpoint, ingest.Harvest, set)
			if err != nil {
				t.Fatal(err)
			}
			request, now := NewRequest(shelfTo.Add(12*time.Hour), &shelfFrom, &shelfTo), shelfTo.Add(13*time.Hour)
			if c.Snapshot.ReadsWhole() { // as of now, and not of then
				now = time.Now()
				request = NewRequest(now.Add(-time.Hour), nil, nil)
			}
			first, err := app.Harvest(t.Context(), c, request, Watch{})
			if err != nil {
				t.Fatal(err)
			}
			if n := first.Plan.Stats; n.Inserted != len(s.works) || n.Quarantined != 0 {
				t.Errorf("the first harvest: %+v, want %d inserted", n, len(s.works))
			}
			if c.Snapshot.ReadsWhole() {
				now = time.Now() // later than the first
			}
			second, err := app.Harvest(t.Context(), c, NewRequest(now, nil, nil), Watch{})
			if err != nil {
				t.Fatal(err)
			}
			if n := second.Plan.Stats; n.Inserted+n.Updated+n.Quarantined != 0 || (n.Unchanged == 0) != (src.Endpoints[sh.endpoint].Role == "FILE" && src.Endpoints[sh.endpoint].Files.Listing != "") { // a file that is listed as it was is not read again
				t.Errorf("the second harvest: %+v", n)
			}
			sh.lookAgain(t, app, src, set, len(s.works))
			own, err := c.Namespace()
			if err != nil {
				t.Fatal(err)
			}
			state, _, err := app.store.CoverageState(t.Context(), own)
			asked := window.Window{From: shelfFrom, To: shelfTo}
			if c.Snapshot.ReadsWhole() {
				asked = window.Window{From: state.Origin, To: state.Cursor}
			}
			if gaps := coverage.Gaps(state.Segments, asked); err != nil || len(gaps) > 0 || state.Cursor.Before(shelfTo) {
				t.Errorf("gaps %v, watermark %s, %v", gaps, state.Cursor, err)
			}
		})
	}
}

// nameAll names every record of a source that is only asked by id, twice: the second look finds
// nothing new.
func (sh shape) nameAll(t *testing.T, app *App, src *registry.Source, set []registry.Override, works []work) {
	t.Helper()
	c, err := Compile(src, sh.endpoint, ingest.Update, set)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, w := range works {
		ids = append(ids, strings.ToUpper(w.id))
	}
	for look := range 2 {
		added, err := app.Operator.Signal(t.Context(), c.Snapshot, refresh.Requested, ids, ingest.Act{Actor: "test", Reason: "test"})
		if err != nil {
			t.Fatal(err)
		}
		request := NewRequest(time.Now(), nil, nil)
		request.Refresh = Refresh{Spec: refresh.Spec{Policy: refresh.BySignal}, From: added.From, To: added.To}
		done, err := app.Harvest(t.Context(), c, request, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		n := done.Plan.Stats
		if found := []int{n.Inserted, n.Unchanged}[look]; found != len(works) || n.Seen != len(works) || n.Missed.NotFound+n.Quarantined != 0 {
			t.Errorf("look %d: %+v", look+1, n)
		}
	}
}

// lookAgain asks for every record by its id, where the source can be asked so: none of them
// is a new version.
func (sh shape) lookAgain(t *testing.T, app *App, src *registry.Source, set []registry.Override, works int) {
	t.Helper()
	if src.Endpoints[sh.endpoint].Role == "FILE" {
		return // a file is read whole, and no record of it can be asked for
	}
	c, err := Compile(src, sh.endpoint, ingest.Update, set)
	if err != nil {
		t.Fatal(err)
	}
	request := NewRequest(time.Now(), nil, nil)
	if c.Snapshot.Detail == nil {
		if want := map[string]bool{"biorxiv": true, "jstage": true}; !want[sh.code] {
			t.Errorf("%s cannot be asked by id", sh.code)
		}
		return
	}
	request.Refresh.Spec = refresh.Spec{Policy: refresh.ByChange, Ask: true, Exprs: []string{"another"}, Mappings: []string{"another"}} // of all
	looked, err := app.Harvest(t.Context(), c, request, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if n := looked.Plan.Stats; n.Refresh.Checked != works || n.Unchanged != works || n.Quarantined != 0 {
		t.Errorf("the look at %d records by id: %+v", works, n)
	}
}

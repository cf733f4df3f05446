package catalog_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

var update = flag.Bool("update", false, "write the expected requests anew")

var (
	day   = window.Window{From: time.Date(2024, 5, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 5, 5, 0, 0, 0, 0, time.UTC)}
	hours = window.Window{From: time.Date(2024, 5, 3, 23, 50, 0, 0, time.UTC), To: time.Date(2024, 5, 4, 11, 50, 0, 0, time.UTC)}
	noon  = time.Date(2024, 5, 5, 12, 0, 0, 0, time.UTC)
)

const contact = "contact.email=me@example.org"

// asked is one request of a golden file.
type asked struct {
	name, endpoint string
	overrides      []string
	window         window.Window
	page           func(paging.State) paging.State // nil: the first page
	ids            []string                        // the detail request for these instead
}

func token(value string) func(paging.State) paging.State {
	return func(s paging.State) paging.State { s.Pages, s.Token = 1, value; return s }
}

func offset(n int) func(paging.State) paging.State {
	return func(s paging.State) paging.State { s.Pages, s.Offset = 1, n; return s }
}

func TestRequests(t *testing.T) {
	lists := map[string][]asked{
		"arxiv": {
			{name: "first page", endpoint: "papers", window: day},
			{name: "next page", endpoint: "papers", window: hours, page: offset(500)},
			{name: "conditions", endpoint: "papers", window: day, overrides: []string{`query.where=oneOf(category, "cs.DL", "cs.IR") and phrase(title, "open access")`}},
			{name: "first versions", endpoint: "papers", window: day, overrides: []string{"filter.field=submitted"}},
			{name: "another date", endpoint: "papers", window: day, overrides: []string{`query.where=between(submitted, "2020-01-01T00:00:00Z", "2020-12-31T23:59:59.999999Z")`}},
			{name: "from a day on", endpoint: "papers", window: day, overrides: []string{`query.where=since(submitted, "2020-01-01T00:00:00Z")`}},
			{name: "up to a day", endpoint: "papers", window: day, overrides: []string{"filter.field=submitted", `query.where=before(updated, "2020-01-01T00:00:00Z")`}},
			{name: "by id", endpoint: "by_id", ids: []string{"2405.99999", "astro-ph/9901001"}},
		},
		"biorxiv": {
			{name: "first page", endpoint: "biorxiv", window: day},
			{name: "next page", endpoint: "medrxiv", window: hours, page: offset(30)},
		},
		"clinicaltrials": {
			{name: "first page", endpoint: "studies", window: day},
			{name: "next page", endpoint: "studies", window: hours, page: token("ZmlndXJl_2")},
			{name: "conditions", endpoint: "studies", window: day, overrides: []string{`query.where=phrase(condition, "melanoma") and not oneOf(status, "COMPLETED", "WITHDRAWN")`}},
			{name: "from a day on", endpoint: "studies", window: day, overrides: []string{`query.where=since(last_update_post_date, "2020-01-01")`}},
			{name: "by id", endpoint: "by_id", ids: []string{"NCT90000001", "NCT90000002"}},
		},
		"crossref": {
			{name: "first page", endpoint: "works", window: day},
			{name: "first page, with a contact", endpoint: "works", window: day, overrides: []string{contact}},
			{name: "next page", endpoint: "works", window: hours, page: token("DnF1+/==")},
			{name: "conditions", endpoint: "works", window: day, overrides: []string{`query.where=oneOf(type, "journal-article", "posted-content") and exact(prefix, "10.5555")`}},
			{name: "by id", endpoint: "by_doi", ids: []string{"10.5555/a", "10.5555/b(c)"}},
		},
		"datacite": {
			{name: "first page", endpoint: "dois", window: day, overrides: []string{contact}},
			{name: "next page", endpoint: "dois", window: day, page: func(s paging.State) paging.State {
				s.Pages, s.URL = 1, "https://api.datacite.org/dois?page%5Bcursor%5D=MTUyNSw5&page%5Bsize%5D=500&query=updated%3A%5Ba+TO+b%5D"
				return s
			}},
			{name: "conditions", endpoint: "dois", window: hours, overrides: []string{`query.where=oneOf(resource_type, "Dataset", "Software") and not phrase(title, "test & \"trial\"")`}},
			{name: "not before an instant", endpoint: "dois", window: day, overrides: []string{`query.where=not before(updated, "2020-01-01T00:00:00Z")`}},
			{name: "by id", endpoint: "by_doi", ids: []string{"10.5555/a", "10.5555/b"}},
		},
		"doaj": {
			{name: "first page", endpoint: "articles", window: day},
			{name: "next page", endpoint: "articles", window: hours, page: func(s paging.State) paging.State { s.Pages, s.Number = 1, 2; return s }},
			{name: "conditions", endpoint: "articles", window: day, overrides: []string{`query.where=phrase(keywords, "heritage/history")`}},
			{name: "by id", endpoint: "by_id", ids: []string{"00aa", "00bb"}},
		},
		"europepmc": {
			{name: "first page", endpoint: "articles", window: day},
			{name: "next page", endpoint: "articles", window: hours, page: token("AoIIP4T93Cg1MzE0OTUzNA==")},
			{name: "conditions", endpoint: "articles", window: day, overrides: []string{`query.where=phrase(title, "malaria") and oneOf(source, "MED", "PPR") and not phrase(text, "mouse")`}},
			{name: "from a day on", endpoint: "articles", window: day, overrides: []string{`query.where=since(update_date, "2020-01-01")`}},
			{name: "by id", endpoint: "by_id", ids: []string{"MED/90000001", "PPR/90000002"}},
		},
		"openalex": {
			{name: "first page", endpoint: "works", window: day, overrides: []string{contact}},
			{name: "next page", endpoint: "works", window: hours, page: token("Y3Vyc29yIDI=")},
			{name: "conditions", endpoint: "works", window: day, overrides: []string{`query.where=oneOf(type, "article", "preprint") and phrase(title_and_abstract, "red, green | blue")`}},
			{name: "by id", endpoint: "by_id", ids: []string{"https://openalex.org/W1", "https://openalex.org/W2"}},
		},
		"pmc": {
			{name: "first page", endpoint: "records", window: day},
			{name: "next page", endpoint: "records", window: hours, page: token("oai%3Aexample!2024-05-04!2024-05-04!oai_dc!")},
			{name: "by id", endpoint: "record", ids: []string{"oai:pubmedcentral.nih.gov:9000001"}},
		},
		"pubmed": {
			{name: "first page", endpoint: "articles", window: day, overrides: []string{contact}},
			{name: "conditions", endpoint: "articles", window: hours, overrides: []string{`query.where=phrase(tiab, "heart failure") and oneOf(language, "eng", "fre")`}},
			{name: "entry date", endpoint: "articles", window: day, overrides: []string{"filter.field=entrez_date", `query.where=phrase(title, "heart")`}},
			{name: "another date", endpoint: "articles", window: day, overrides: []string{`query.where=between(entrez_date, "2020-01-01", "2020-12-31")`}},
			{name: "only what is new", endpoint: "articles", window: day, overrides: []string{"filter.field=create_date"}},
			{name: "only revisions", endpoint: "articles", window: day, overrides: []string{"filter.field=modification_date"}},
			{name: "details", endpoint: "articles", ids: []string{"90000001", "90000002"}},
		},
		"unpaywall": {
			{name: "by doi", endpoint: "by_doi", ids: []string{"10.5555/made(1)"}, overrides: []string{contact}},
		},
		"semanticscholar": {
			{name: "first page", endpoint: "papers", window: day, overrides: []string{`query.where=phrase(text, "open science") and between(published, "2024-01-01", "2024-06-30")`}},
			{name: "next page", endpoint: "papers", window: day, page: token("VE9LRU4="), overrides: []string{`query.where=phrase(text, "open science")`}},
			{name: "from a day on", endpoint: "papers", window: day, overrides: []string{`query.where=phrase(text, "open science") and since(published, "2024-01-01")`}},
			{name: "up to a day", endpoint: "papers", window: day, overrides: []string{`query.where=phrase(text, "open science") and before(published, "2024-01-01")`}},
			{name: "by id", endpoint: "batch", ids: []string{"00aa", "00bb"}},
		},
	}
	for _, code := range catalog.List() {
		list := lists[code]
		if list == nil {
			list = plainRequests(t, code)
		}
		if len(list) == 0 {
			continue
		}
		var got strings.Builder
		for _, a := range list {
			fmt.Fprintf(&got, "# %s\n%s\n", a.name, shown(a.request(t, code)))
		}
		compare(t, filepath.Join("testdata", code, "request.golden"), got.String())
	}
}

// plainRequests asks each endpoint of a source for its first page, or by id.
func plainRequests(t *testing.T, code string) (out []asked) {
	src := bundled(t, code)
	for _, name := range slices.Sorted(maps.Keys(src.Endpoints)) {
		if src.Endpoints[name].Role == "FILE" {
			continue // its files are fetched by their addresses
		}
		a := asked{name: name, endpoint: name, window: day}
		if src.Endpoints[name].Role == "DETAIL" {
			a.ids = []string{"one:1/2"}
		}
		out = append(out, a)
	}
	return out
}

// Where nobody knows how an upstream reads a range without a bound, none is sent.
func TestOpenRangesAreRefused(t *testing.T) {
	for _, tc := range []struct{ code, endpoint, field, at string }{
		{"pubmed", "articles", "change_date", "2020-01-01"}, {"pubmed", "articles", "create_date", "2020-01-01"}, {"pubmed", "articles", "entrez_date", "2020-01-01"}, {"pubmed", "articles", "modification_date", "2020-01-01"},
		{"crossref", "works", "indexed", "2020-01-01T00:00:00Z"}, {"openalex", "works", "updated_date", "2020-01-01"}, {"doaj", "articles", "last_updated", "2020-01-01T00:00:00Z"},
	} {
		for op, want := range map[string]string{"since": "E-RANGE-OPEN-END", "before": "E-RANGE-OPEN-START"} {
			where := fmt.Sprintf("%s(%s, %q)", op, tc.field, tc.at)
			if got := refusal(t, bundled(t, tc.code), tc.endpoint, "query.where="+where); !strings.Contains(got, want) {
				t.Errorf("%s: %s: got %s, want %s", tc.code, where, got, want)
			}
		}
	}
}

func (a asked) request(t *testing.T, code string) *exchange.Request {
	t.Helper()
	p := program(t, bundled(t, code), a.endpoint, a.overrides...)
	question, state := question(t, p, a), p.Paging.First()
	if a.ids != nil {
		state = paging.State{}
	}
	if a.page != nil {
		state = a.page(state)
	}
	request, err := question.Page(state)
	if err != nil {
		t.Fatalf("%s, %s: %v", code, a.name, err)
	}
	return request
}

func question(t *testing.T, p *spec.Program, a asked) *spec.Question {
	t.Helper()
	if a.ids != nil && p.Detail != nil {
		return p.Detail.AskFor(a.ids, noon)
	}
	if a.ids != nil {
		return p.AskFor(a.ids, noon)
	}
	q, err := p.Ask(a.window, noon)
	if err != nil {
		t.Fatalf("%s, %s: %v", p.Source, a.name, err)
	}
	return q
}

// shown is every line of a request, as it is sent but for its credential.
func shown(r *exchange.Request) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	if c := r.Credential; c.Type != "" {
		fmt.Fprintf(&out, "(%s %s in %s from %s, required %v)\n", c.Type, c.Name, c.In, c.Value, r.CredentialRequired)
		for _, f := range r.Further {
			c := f.Credential
			fmt.Fprintf(&out, "(and %s %s in %s from %s, optional %v)\n", c.Type, c.Name, c.In, c.Value, f.Optional)
		}
	}
	if len(r.Body) > 0 {
		fmt.Fprintf(&out, "\n%s\n", r.Body)
	}
	return out.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew)\ngot\n%s\nwant\n%s", file, got, want)
	}
}

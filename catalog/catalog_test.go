package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func decode(t *testing.T, code string) *registry.Source {
	t.Helper()
	text, err := catalog.Read(code)
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode(catalog.File(code), text)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func harvest(t *testing.T, code, endpoint string, overrides ...string) *registry.Resolved {
	t.Helper()
	var set []registry.Override
	for _, text := range overrides {
		o, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	r, err := registry.Resolve(decode(t, code), endpoint, "HARVEST", set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryBundledSourceIsGood(t *testing.T) {
	for _, code := range catalog.List() {
		src := decode(t, code)
		if src.Code != code {
			t.Errorf("%s holds source %q", catalog.File(code), src.Code)
		}
		if problems := src.Validate(); len(problems) > 0 {
			t.Errorf("%s:\n%v", code, problems)
		}
		for endpoint := range src.Endpoints {
			if problems := harvest(t, code, endpoint).Validate(); len(problems) > 0 {
				t.Errorf("%s %s:\n%v", code, endpoint, problems)
			}
		}
	}
	if !slices.Contains(catalog.List(), "crossref") {
		t.Errorf("List() = %v", catalog.List())
	}
}

func TestUnknownSource(t *testing.T) {
	for _, code := range []string{"nobody", "", "../crossref", "crossref.yaml"} {
		if _, err := catalog.Read(code); err == nil || !strings.Contains(err.Error(), "crossref") {
			t.Errorf("Read(%q): %v", code, err)
		}
	}
}

func TestCrossrefRequest(t *testing.T) {
	vars := tmpl.Vars{
		Page:   tmpl.PageVars{Size: 500, Token: "*"},
		Filter: tmpl.FilterVars{From: "2024-05-04", To: "2024-05-04"},
	}
	const base = "https://api.crossref.org/works?cursor=%2A&filter=from-index-date%3A2024-05-04%2Cuntil-index-date%3A2024-05-04"
	for email, want := range map[string]string{
		"":               base + "&order=asc&rows=500&sort=indexed",
		"me@example.org": base + "&mailto=me%40example.org&order=asc&rows=500&sort=indexed",
	} {
		r := harvest(t, "crossref", "works", "contact.email="+email)
		renderer, err := exchange.NewRenderer(r.HTTP, r.Request)
		if err != nil {
			t.Fatal(err)
		}
		vars.Contact.Email = r.Contact.Email
		request, err := renderer.Render(vars)
		if err != nil {
			t.Fatal(err)
		}
		if got := request.URL.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The paths are held against a page in the shape Crossref sends.
func TestCrossrefPage(t *testing.T) {
	body, err := os.ReadFile("testdata/crossref/page.json")
	if err != nil {
		t.Fatal(err)
	}
	c := harvest(t, "crossref", "works").Response
	names := []string{"title", "authors", "issued", "container_title", "cited_by_count", "updated_by"}
	shape := document.Shape{Items: c.Items, Page: append([]document.Path{c.Total, c.NextToken}, c.MustHave...), Item: []document.Path{c.ID, c.UpdatedAt}}
	for _, name := range names {
		shape.Item = append(shape.Item, c.Fields[name])
	}
	reader, err := document.Compile(shape)
	if err != nil {
		t.Fatal(err)
	}
	page, err := reader.Read(body, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if total, _ := page.Values[0].Int(); total != 3 || len(page.Items) != 2 {
		t.Errorf("total %d, %d items", total, len(page.Items))
	}
	for i, value := range page.Values {
		if !value.Present() {
			t.Errorf("page value %d is missing", i)
		}
	}
	want := [][]string{
		{`"10.5555/Sample.One"`, `"2024-05-04T10:11:12Z"`, `"On the keeping of local copies"`,
			`[{"given": "Ada", "family": "Example", "sequence": "first"}]`, `[2024, 5]`, `"Journal of Examples"`, `3`, ``},
		{`"10.5555/bare"`, `"2024-05-04T10:11:13.123456Z"`, ``, ``, `[null]`, ``, `0`, ``},
	}
	for i, item := range page.Items {
		for j, value := range item.Values {
			if got := string(value.Raw()); got != want[i][j] {
				t.Errorf("item %d value %d: %s, want %s", i, j, got, want[i][j])
			}
		}
		stamp, _ := item.Values[1].Text()
		if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil {
			t.Error(err)
		}
	}
}

// Two fetches of an unchanged work differ in the index date and the score only.
func TestCrossrefVolatileParts(t *testing.T) {
	drop := harvest(t, "crossref", "works").Response.Volatile
	hash := func(text string) string {
		out, err := document.Canonical([]byte(text), drop)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	first := hash(`{"DOI":"10.5555/a","indexed":{"date-time":"2024-05-04T10:11:12Z"},"score":1,"is-referenced-by-count":3}`)
	if again := hash(`{"DOI":"10.5555/a","indexed":{"date-time":"2024-06-04T10:11:12Z"},"score":2,"is-referenced-by-count":3}`); again != first {
		t.Errorf("%s\n%s", first, again)
	}
	if cited := hash(`{"DOI":"10.5555/a","indexed":{"date-time":"2024-06-04T10:11:12Z"},"score":2,"is-referenced-by-count":4}`); cited == first {
		t.Error("a new citation count is not seen as a change")
	}
}

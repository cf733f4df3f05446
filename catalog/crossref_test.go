package catalog_test

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
)

// Two fetches of an unchanged work differ in the index date and the score only.
func TestCrossrefVolatileParts(t *testing.T) {
	drop := program(t, bundled(t, "crossref"), "works").Response.Volatile
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

// Another order is the same harvest; another condition is not.
func TestCrossrefWatermark(t *testing.T) {
	src := bundled(t, "crossref")
	prototype := func(overrides ...string) string {
		hash, err := compiled(t, src, "works", "HARVEST", overrides...).Prototype.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	base := prototype()
	for _, neutral := range []string{"request.query.sort=updated", "request.query.order=desc", "paging.size=20", contact} {
		if prototype(neutral) != base {
			t.Errorf("%s starts a new watermark", neutral)
		}
	}
	for _, selects := range []string{`query.where=oneOf(type, "book")`, "request.path=/journals/1234-5678/works", "request.query.select=DOI"} {
		if prototype(selects) == base {
			t.Errorf("%s keeps the old watermark", selects)
		}
	}
}

// A value that would begin another filter is refused.
func TestCrossrefConditionsAreChecked(t *testing.T) {
	src := bundled(t, "crossref")
	for where, want := range map[string]string{
		`exact(type, "book,type:other")`:                 "E-TERM-PATTERN",
		`not oneOf(type, "book")`:                        "E-NOT-UNSUPPORTED",
		`oneOf(type, "book") or exact(prefix, "10.555")`: "E-PARAMS-UNDER-OR",
		`exact(title, "x")`:                              "E-FIELD-NOT-FOUND",
	} {
		if err := refusal(t, src, "works", "query.where="+where); !strings.Contains(err, want) {
			t.Errorf("%s: %s, want %s", where, err, want)
		}
	}
}

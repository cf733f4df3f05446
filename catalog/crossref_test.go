package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/window"
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

// The filter became finer, from days to seconds. That is the same question: who
// harvested by days keeps the watermark and all that is covered.
func TestBelieve10CrossrefKeepsItsWatermark(t *testing.T) {
	src := bundled(t, "crossref")
	hash := func(overrides ...string) string {
		h, err := compiled(t, src, "works", "HARVEST", overrides...).Prototype.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	// What the file had while the filter knew days only.
	const byDay = "5fb6a6cf697d79ac4c58652d793556db5e2a55afc243eacc9fe522a2855361bb"
	if got := hash(); got != byDay {
		t.Errorf("the bundled file asks %s, the one by days asked %s", got, byDay)
	}
	if hash("filter.precision=DAY", "filter.format=yyyy-MM-dd") != byDay {
		t.Error("asked by days it starts a new watermark")
	}
	if hash("filter.formerPrecision=MONTH") == byDay {
		t.Error("another former precision keeps the watermark")
	}
}

// Two windows that touch ask for every second once.
func TestBelieve10CrossrefAsksByTheSecond(t *testing.T) {
	p := program(t, bundled(t, "crossref"), "works")
	at := time.Date(2025, 3, 1, 10, 59, 59, 0, time.UTC)
	for _, tt := range []struct {
		from, to time.Time
		want     string
	}{
		{at.Add(-time.Minute), at, "from-index-date:2025-03-01T10:58:59,until-index-date:2025-03-01T10:59:58"},
		{at, at.Add(time.Second), "from-index-date:2025-03-01T10:59:59,until-index-date:2025-03-01T10:59:59"},
		{at.Add(time.Second), at.Add(90*time.Second + time.Millisecond), "from-index-date:2025-03-01T11:00:00,until-index-date:2025-03-01T11:01:29"},
	} {
		question, err := p.Ask(window.Window{From: tt.from, To: tt.to}, at)
		if err != nil {
			t.Fatal(err)
		}
		request, err := question.First(false)
		if err != nil || request.URL.Query().Get("filter") != tt.want {
			t.Errorf("%v, %v; want %s", request.URL, err, tt.want)
		}
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

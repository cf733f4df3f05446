package spec

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/query"
)

func protoHash(t *testing.T, p query.Prototype) string {
	t.Helper()
	hash, err := p.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// D§5.7, D§5.8: what changes the set of items a harvest asks for starts a new
// watermark, or the part nobody asked for before would look harvested.
func TestChangedQuestionIsAnotherPrototype(t *testing.T) {
	text := bundled(t, "crossref")
	src := decoded(t, text)
	base := protoHash(t, compile(t, src).Prototype)
	seen := map[string]string{base: "nothing"}
	for _, setting := range []string{
		"request.path=/types/journal-article/works", "query.rules.indexed.params.filter=from-update-date:${from},until-update-date:${to}",
		`query.where=oneOf(type, "journal-article", "monograph")`, `query.where=phrase(type, "monograph")`, "request.query.query=cancer", `request.query.sample=${concat("1", "0")}`, "filter.to=EXCLUSIVE",
	} {
		got := protoHash(t, compile(t, src, setting).Prototype)
		if other, taken := seen[got]; taken {
			t.Errorf("%s asks the same as %s", setting, other)
		}
		seen[got] = setting
	}
	for _, setting := range []string{
		"paging.size=7", "rate.perSecond=0.5", "http.timeout=PT7S", "http.baseUrl=https://mirror.example.org", "contact.email=me@example.org",
		"http.headers.Accept=text/plain", "window.lookback=P3D", "slicing.step=PT6H", "response.fields.extra=$.x", "request.query.sort=created",
	} {
		if got := protoHash(t, compile(t, src, setting).Prototype); got != base {
			t.Errorf("%s starts a new watermark", setting)
		}
	}
	again := protoHash(t, compile(t, decoded(t, backwards(t, text))).Prototype)
	if again != base {
		t.Error("the order of keys starts a new watermark")
	}
}

const conditional = `
source: example
name: Example
http: {baseUrl: https://api.example.org}
endpoints:
  works:
    role: SEARCH
    request:
      path: /works
      query: {cursor: "${page.token}", rows: "${page.size}"}
    params: {query: {name: q}}
    query:
      where: WHERE
      fields:
        title: {type: TEXT, ops: [TERM]}
        kind: {type: KEYWORD, ops: [TERM, IN]}
        updated: {type: DATETIME, ops: [RANGE]}
      rules:
        title: {field: title, op: TERM, template: "ti:${quoted}"}
        kind: {field: kind, op: TERM, template: "kind:${v}"}
        kinds: {field: kind, op: IN, itemTemplate: "kind:${v}", group: true}
        updated: {field: updated, op: RANGE, template: "updated:[${from} TO ${to}]"}
    filter: {field: updated, precision: SECOND, to: EXCLUSIVE}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated, total: $.total, nextToken: $.next}
`

func TestConditionsReachTheRequest(t *testing.T) {
	c := compile(t, decoded(t, strings.Replace(conditional, "WHERE", `'phrase(title, "heart & soul") and not oneOf(kind, "letter", "note")'`, 1)))
	program, err := c.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	question, err := program.Ask(referenceWindow, referenceWindow.To)
	if err != nil {
		t.Fatal(err)
	}
	request, err := question.Page(program.Paging.First())
	if err != nil {
		t.Fatal(err)
	}
	q := request.URL.Query().Get("q")
	for _, part := range []string{`ti:"heart & soul"`, "updated:[2001-02-03T00:00:00Z TO 2001-02-04T00:00:00Z]", "kind:letter OR kind:note"} {
		if !strings.Contains(q, part) {
			t.Errorf("%q does not ask for %s", q, part)
		}
	}
	if !strings.Contains(q, "NOT") {
		t.Errorf("%q lost its negation", q)
	}
}

// And/Or and lists have no order; what they hold decides.
func TestConditionsArePartOfThePrototype(t *testing.T) {
	of := func(where string) string {
		return protoHash(t, compile(t, decoded(t, strings.Replace(conditional, "WHERE", "'"+where+"'", 1))).Prototype)
	}
	one := of(`phrase(title, "a") and oneOf(kind, "x", "y")`)
	if two := of(`oneOf(kind, "y", "x") and phrase(title, "a")`); one != two {
		t.Error("the order of conditions starts a new watermark")
	}
	for _, other := range []string{`phrase(title, "b") and oneOf(kind, "x", "y")`, `phrase(title, "a") or oneOf(kind, "x", "y")`, `phrase(title, "a")`, `true`} {
		if of(other) == one {
			t.Errorf("%s asks the same", other)
		}
	}
}

func TestNextAddressStaysAtTheSource(t *testing.T) {
	text := strings.Replace(conditional, "WHERE", "true", 1)
	text = strings.Replace(text, "paging: {type: TOKEN}", "paging: {type: URL}", 1)
	text = strings.Replace(text, `cursor: "${page.token}", `, "", 1)
	text = strings.Replace(text, "nextToken", "nextUrl", 1)
	program, err := compile(t, decoded(t, text)).Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	question, err := program.Ask(referenceWindow, referenceWindow.To)
	if err != nil {
		t.Fatal(err)
	}
	for next, want := range map[string]string{
		"/works?page=2":                        "https://api.example.org/works?page=2",
		"?page=2":                              "https://api.example.org/works?page=2",
		"https://api.example.org/works?page=2": "https://api.example.org/works?page=2",
		"https://evil.example.net/works":       "",
		"//evil.example.net/works":             "",
		"http://api.example.org/works":         "",
		"https://me@api.example.org/works":     "",
		"https://api.example.org:8443/works":   "",
		"%zz":                                  "",
	} {
		state := program.Paging.First()
		state.URL = next
		request, err := question.Page(state)
		if (err != nil) != (want == "") || err == nil && request.URL.String() != want {
			t.Errorf("%s: %v, %v", next, request, err)
		}
	}
}

// A snapshot of the first format still says what it said.
func TestFirstFormatIsRead(t *testing.T) {
	c := compile(t, decoded(t, bundled(t, "crossref")))
	old := strings.Replace(string(c.Canonical), `"format":2`, `"format":1`, 1)
	for _, later := range []string{`"auth":{"required":false},`, `"templates":{"nullPolicy":"OMIT"},`, `,"updatedSince":true`, `"format":"JSON",`, `,"stable":true`} {
		if !strings.Contains(old, later) {
			t.Fatalf("%s is not in %s", later, old)
		}
		old = strings.Replace(old, later, "", 1)
	}
	s, err := Load([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if !*s.Window.UpdatedSince || !*s.Paging.Stable || *s.Auth.Required || s.Response.Format != "JSON" || s.Templates.NullPolicy != "OMIT" {
		t.Errorf("%+v", s)
	}
	if _, err := s.Program(); err != nil {
		t.Errorf("it does not run: %v", err)
	}
}

// When to plan is no part of what a plan does.
func TestScheduleIsNoPartOfTheSnapshot(t *testing.T) {
	src := decoded(t, bundled(t, "crossref"))
	if compile(t, src).Fingerprint != compile(t, src, "schedule.every=PT1H").Fingerprint {
		t.Error("a schedule changes the fingerprint")
	}
}

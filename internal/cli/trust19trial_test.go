package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// mineAt is the skeleton of a source, with an upstream that gives the same answers in
// turn, and changes to the file.
func (d *desk) mineAt(answer http.HandlerFunc, changes ...string) string {
	d.Helper()
	server := httptest.NewServer(answer)
	d.Cleanup(server.Close)
	text := d.changed(source.SkeletonLike("", "mine", "mine.yaml"), "baseUrl: https://api.example.org/v1", "baseUrl: "+server.URL+"\n  allowHttp: true\n  allowPrivate: true")
	for i := 0; i < len(changes); i += 2 {
		text = d.changed(text, changes[i], changes[i+1])
	}
	return d.write("mine.yaml", text)
}

func item(id string) string {
	return fmt.Sprintf(`{"id":%q,"updated_at":"2025-03-01T01:00:00Z"}`, id)
}

// exitOfABadBody: any but success; which one is the business of other tests.
const exitOfABadBody = -1

func TestTrust19SourceTest(t *testing.T) {
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	walk := func(w http.ResponseWriter, r *http.Request) { // two pages of three announced items, then nothing
		switch r.URL.Query().Get("cursor") {
		case "":
			fmt.Fprintf(w, `{"items":[%s],"total":3,"nextCursor":"two"}`, item("a"))
		default:
			fmt.Fprintf(w, `{"items":[%s],"total":3}`, item("b"))
		}
	}
	emptyEnd := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"items":[%s],"total":1,"nextCursor":"two"}`, item("a"))
			return
		}
		fmt.Fprint(w, `{"items":[],"total":1,"nextCursor":""}`)
	}
	estimate := []string{"expectTotal: true", "expectTotal: false"}
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		changes []string
		args    []string
		code    int
		want    []string
		not     []string
	}{
		"a paging parameter called token is shown": {walk, append([]string{"cursor: ${page.token}", "token: ${page.token}\n        cursor: ${page.token}"}, estimate...),
			[]string{"--page", "2"}, term.ExitPartial, []string{"token=two"}, []string{"token=***"}},
		"a total of -1 is no total": {says(fmt.Sprintf(`{"items":[%s],"total":-1}`, item("a"))), estimate, nil, term.ExitOK,
			[]string{"total       not counted by the upstream: -1 stands at $.total"}, []string{"announces -1"}},
		"a total of -1 where one is needed": {says(fmt.Sprintf(`{"items":[%s],"total":-1}`, item("a"))), nil, nil, exitOfABadBody,
			[]string{"-1 stands at $.total", "paging.expectTotal"}, nil},
		"the path of the next token is named": {says(fmt.Sprintf(`{"items":[%s]}`, item("a"))), []string{"total: $.total", "# total: $.total", "expectTotal: true", "# expectTotal: true"}, nil, term.ExitOK,
			[]string{"no next token; nothing stands at $.nextCursor (response.nextToken)"}, nil},
		"page 2 of a walk that ends too early": {walk, estimate, []string{"--page", "2"}, term.ExitPartial,
			[]string{"announces 3 items, sent 2 on 2 pages and names no next page", "$.nextCursor (response.nextToken)"}, nil},
		"a page that is not there because a walk ends too early": {walk, estimate, []string{"--page", "3"}, term.ExitNotFound,
			[]string{"there is no page 3", "announces 3 items, sent 2 on 2 pages"}, nil},
		"an empty page 2 behind all items": {emptyEnd, estimate, []string{"--page", "2"}, term.ExitOK,
			[]string{"page 2 is empty: all 1 items stood on the pages before it"}, []string{"is response.items right?", "another --window"}},
		"an empty token though there is more": {says(fmt.Sprintf(`{"items":[%s],"more":true}`, item("a"))),
			[]string{"total: $.total", "hasMore: $.more\n      # total: $.total", "expectTotal: true", "# expectTotal: true"}, nil, term.ExitPartial,
			[]string{"nothing stands at $.nextCursor (response.nextToken)"}, []string{`token ""`}},
		"a token of XML with attributes": {says(`<r><items><item><id>a</id><updated_at>2025-03-01T01:00:00Z</updated_at></item></items><token cursor="0">abc</token></r>`),
			[]string{"items: $.items\n", "format: XML\n      items: $.r.items.item\n", "nextToken: $.nextCursor", "nextToken: $.r.token", "total: $.total", "# total: $.total",
				"expectTotal: true", "# expectTotal: true", "- $.items", "- $.r"}, nil, exitOfABadBody,
			[]string{"its text is at $.r.token['#text']"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			file := d.mineAt(c.answer, c.changes...)
			r := d.run(append([]string{"source", "test", file, "--window", firstOfMarch}, c.args...)...)
			if r.code != c.code && (c.code != exitOfABadBody || r.code == term.ExitOK) {
				t.Errorf("exit code %d, want %d\n%s%s", r.code, c.code, r.out, r.err)
			}
			d.holds(r.out+r.err, c.want...)
			for _, text := range c.not {
				if strings.Contains(r.out+r.err, text) {
					t.Errorf("%q in\n%s%s", text, r.out, r.err)
				}
			}
		})
	}
}

func TestTrust19NetworkTellsOfAnIgnoredProxy(t *testing.T) {
	d := newDesk(t)
	file := d.mineAt(func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(nil)
	server.Close() // nobody listens there now
	gone := []string{"source", "test", file, "--window", firstOfMarch, "--set", "http.baseUrl=" + server.URL}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	if r := d.expect(term.ExitUpstream, gone...); strings.Contains(r.err, "of the environment is ignored") {
		t.Errorf("without a proxy: %s", r.err)
	}
	t.Setenv("HTTPS_PROXY", "http://user:canary-4711@proxy.example.org:3128")
	r := d.expect(term.ExitUpstream, gone...)
	d.holds(r.err, "NETWORK", "HTTPS_PROXY of the environment is ignored: a proxy is named by http.proxy of the source")
	if strings.Contains(r.out+r.err, "canary-4711") {
		t.Errorf("the password of the proxy is told: %s", r.err)
	}
}

func TestTrust19HintsOfValidate(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		want    string
	}{
		"several ids":           {[]string{"id: $.id", "id: $..id"}, "such as $.a.b or $.ids[0]"},
		"several tokens":        {[]string{"nextToken: $.nextCursor", "nextToken: $.links[*].next"}, "such as $.meta.next, $.links[0] or $.items[-1]"},
		"a function":            {[]string{"title: $.title", "title: ${uper(jsonPath('$.title'))}"}, "did you mean upper?"},
		"a variable":            {[]string{"limit: ${page.size}", "limit: ${page.sise}"}, "did you mean page.size?"},
		"a function of a query": {[]string{"    window:\n", "    query:\n      where: oneof(type, \"a\")\n    window:\n"}, "did you mean oneOf?"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.holds(d.expect(term.ExitUsage, "source", "validate", d.mineAt(nil, c.changes...)).err, c.want)
		})
	}
}

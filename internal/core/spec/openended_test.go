package spec

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// F26: an answer that ended with its connection is read only where a cut would
// show.
func TestAnswerWithoutAnEnd(t *testing.T) {
	const rows = `
source: example
name: Example
http: {baseUrl: https://api.example.org}
endpoints:
  works:
    role: SEARCH
    supports: [UPDATE]
    request: {path: /works, query: {page: "${page.number}", rows: "${page.size}"}}
    paging: {type: PAGE, base: 1}
    response: {format: FORMAT, items: ITEMS, id: $.id}
`
	for format, c := range map[string]struct {
		items, body string
		shows       bool
	}{
		"JSON":  {"$", `[{"id":"1"}]`, true},
		"XML":   {"$.l.a", `<l><a><id>1</id></a></l>`, true},
		"JSONL": {"$", "{\"id\":\"1\"}\n", false},
		"CSV":   {"$", "id\n1\n", false},
	} {
		text := strings.NewReplacer("FORMAT", format, "ITEMS", c.items).Replace(rows)
		program, err := compile(t, decoded(t, text)).Snapshot.Program()
		if err != nil {
			t.Fatal(err)
		}
		for _, open := range []bool{false, true} {
			page, err := program.Page(&exchange.Response{Status: 200, Header: exchange.Header{}, Body: []byte(c.body), OpenEnded: open}, extract.Asked{})
			if read := !open || c.shows; (err == nil) != read || read && page.Seen != 1 || !read && fault.As(err).Code != fault.BadBody {
				t.Errorf("%s, open end %v: %+v %v", format, open, page, err)
			}
		}
		yes := true
		program.Paging.ExpectTotal = &yes // what is missing shows at the end of the list
		if _, err := program.Page(&exchange.Response{Status: 200, Header: exchange.Header{}, Body: []byte(c.body), OpenEnded: true}, extract.Asked{}); err != nil {
			t.Errorf("%s with a total: %v", format, err)
		}
	}
}

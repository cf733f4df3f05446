package catalog_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// always is a window that holds every date of a response.
var always = window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}

// answer is a response of our own making, in the shape the source sends, and
// what its definition must make of it.
type answer struct {
	source, endpoint, file string
	window                 window.Window // zero: always
	state                  paging.State  // zero: the first page

	records []string // id, or id@updatedAt
	gone    []string
	rejects []record.Reason
	outside int    // of the records and the gone, those outside of the request
	empty   bool   // explained by emptyWhen
	next    string // token, URL, offset or number of the next page
	done    string // why the walk ends instead
	fails   fault.Code
	refused string // part of the error of a body that is not a page
}

func TestAnswers(t *testing.T) {
	for _, list := range [][]answer{answersJSON, answersXML, answersMore} {
		for _, a := range list {
			t.Run(a.source+"/"+a.file, a.check)
		}
	}
}

func (a answer) check(t *testing.T) {
	p := program(t, bundled(t, a.source), a.endpoint)
	page, err := p.Read.Read(a.body(t), p.Expect(a.asked(), noon, 0))
	if a.refused != "" {
		if err == nil || !strings.Contains(err.Error(), a.refused) {
			t.Fatalf("got %v, want an error with %q", err, a.refused)
		}
		if strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("the key that the upstream echoed is shown: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	a.checkItems(t, page)
	if p.Paging.Type != "" { // an answer by id has no pages
		a.checkPaging(t, p, page)
	}
}

func (a answer) body(t *testing.T) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", a.source, a.file))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (a answer) asked() window.Window {
	if a.window.From.IsZero() {
		return always
	}
	return a.window
}

func (a answer) checkItems(t *testing.T, page *extract.Page) {
	t.Helper()
	var ids, gone []string
	for _, r := range page.Records {
		if r.Gone {
			gone = append(gone, r.ProviderID)
			continue
		}
		id := r.ProviderID
		if !r.UpdatedAt.IsZero() {
			id += "@" + r.UpdatedAt.Format(time.RFC3339Nano)
		}
		ids = append(ids, id)
	}
	var reasons []record.Reason
	for _, r := range page.Rejects {
		reasons = append(reasons, r.Reason)
	}
	if !slices.Equal(ids, a.records) || !slices.Equal(gone, a.gone) {
		t.Errorf("records %q, gone %q\nwant    %q, gone %q", ids, gone, a.records, a.gone)
	}
	if !slices.Equal(reasons, a.rejects) {
		t.Errorf("rejects %v, want %v: %+v", reasons, a.rejects, page.Rejects)
	}
	if page.Outside != 0 || page.Kept != a.outside || (page.EmptyBy != "") != a.empty {
		t.Errorf("%d dropped, %d outside, empty by %q", page.Outside, page.Kept, page.EmptyBy)
	}
}

func (a answer) checkPaging(t *testing.T, p *spec.Program, page *extract.Page) {
	t.Helper()
	state := a.state
	if state == (paging.State{}) {
		state = p.Paging.First()
	}
	says := page.Says
	says.New = distinct(page.Keys)
	d := p.Paging.Advance(state, says)
	switch {
	case a.fails != "":
		if d.Err == nil || d.Err.Code != a.fails {
			t.Errorf("paging %+v, want a fault %s", d, a.fails)
		}
	case d.Err != nil:
		t.Error(d.Err)
	case a.done != "":
		if !d.Done || d.Why != a.done {
			t.Errorf("paging goes on (%s), want the end by %q: %+v", d.Why, a.done, d.Next)
		}
	case d.Done || position(p.Paging.Type, d.Next) != a.next:
		t.Errorf("next page %q (done %v, %s), want %q", position(p.Paging.Type, d.Next), d.Done, d.Why, a.next)
	}
}

func distinct(keys []record.Key) int {
	seen := map[record.Key]bool{}
	for _, k := range keys {
		seen[k] = true
	}
	return len(seen)
}

// position is what asks for the next page.
func position(kind paging.Type, s paging.State) string {
	switch kind {
	case paging.Offset:
		return strconv.Itoa(s.Offset)
	case paging.Page:
		return strconv.Itoa(s.Number)
	case paging.URL:
		return s.URL
	}
	return s.Token
}

package bench

import (
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

const contact = "someone@example.org"

// renderer makes requests of the bundled Crossref: six parameters, two of them
// different on every page.
type renderer struct {
	program  *spec.Program
	window   window.Window
	question *spec.Question
	state    paging.State
}

func newRenderer(tb testing.TB) renderer {
	tb.Helper()
	program, err := compile(tb, "contact.email="+contact).Snapshot.Program()
	if err != nil {
		tb.Fatal(err)
	}
	r := renderer{program: program, window: window.Window{From: firstDay, To: firstDay.AddDate(0, 0, 1)}}
	r.state = program.Paging.First()
	r.state.Token = "DnF1ZXJ5VGhlbkZldGNoBQAAAAAAAAABFmFiYw=="
	if r.question, err = r.ask(); err != nil {
		tb.Fatal(err)
	}
	return r
}

func (r renderer) ask() (*spec.Question, error) { return r.program.Ask(r.window, firstDay) }

// hand makes the same request with net/url, everything else written out.
func (r renderer) hand() (*url.URL, http.Header) {
	const second = "2006-01-02T15:04:05"
	last := r.window.To.Add(-time.Microsecond)
	query := url.Values{
		"cursor": {r.state.Token}, "filter": {"from-index-date:" + r.window.From.Format(second) + ",until-index-date:" + last.Format(second)},
		"mailto": {contact}, "order": {"asc"}, "rows": {strconv.Itoa(r.program.Paging.Size)}, "sort": {"indexed"},
	}
	u := &url.URL{Scheme: "https", Host: "api.crossref.org", Path: "/works", RawQuery: query.Encode()}
	return u, http.Header{"Accept": {"application/json"}, "User-Agent": {"patra-ingest (mailto:someone@example.org)"}}
}

// benchRender measures what stands before every request. One is far shorter
// than a look at the clock is exact, so a sample holds many.
func benchRender(b *testing.B, out *table) {
	const calls = 200
	r := newRenderer(b)
	var pages, asks, hands samples
	many := func(do func() error) func() error {
		return func() error {
			for range calls {
				if err := do(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	repeat(b, 100, func() {
		pages.time(b, many(func() error { _, err := r.question.Page(r.state); return err }))
		hands.time(b, many(func() error { r.hand(); return nil }))
		asks.time(b, many(func() error { _, err := r.ask(); return err }))
	})
	pages, asks, hands = pages.perCall(calls), asks.perCall(calls), hands.perCall(calls)
	add := func(what string, ours samples) {
		out.add(b, line{what + " (mean / p95)", ours.micros(), hands.micros(), ours.middle(hands), "our time / net/url by hand; medians"})
	}
	add("render a request: a page of Crossref, 6 parameters", pages)
	add("render the expression of a slice, once for all its pages", asks)
}

func TestHandWrittenRequestIsTheSame(t *testing.T) {
	r := newRenderer(t)
	request, err := r.question.Page(r.state)
	if err != nil {
		t.Fatal(err)
	}
	ours, query := *request.URL, request.URL.Query()
	ours.RawQuery = query.Encode() // in the order of names, as net/url has it
	hand, header := r.hand()
	if ours.String() != hand.String() {
		t.Errorf("ours    %s\nby hand %s", &ours, hand)
	}
	if len(query) != 6 || !reflect.DeepEqual(http.Header(request.Header), header) {
		t.Errorf("%d parameters, headers %v and %v", len(query), request.Header, header)
	}
}

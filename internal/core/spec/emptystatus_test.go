package spec

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
)

// An answer without content is a page without items, and never the end of a list that announced more.
func TestNoContentIsAnEmptyPage(t *testing.T) {
	p, err := compile(t, decoded(t, bundled(t, "crossref"))).Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.Page(&exchange.Response{Status: 204, Header: exchange.Header{}}, extract.Asked{})
	if err != nil || page.Seen != 0 || page.EmptyBy == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	if d := p.Paging.Advance(p.Paging.First(), page.Says); d.Err != nil || !d.Done {
		t.Errorf("nothing was announced: %+v", d)
	}
	if d := p.Paging.Advance(paging.State{Pages: 1, Seen: 1, Offset: 1, Total: 2, First: 2, Token: "t", Number: 2}, page.Says); d.Err == nil || d.Err.Code != fault.ShortCount {
		t.Errorf("one of two came: %+v", d)
	}
	if _, err := p.Page(&exchange.Response{Status: 200, Header: exchange.Header{}}, extract.Asked{}); err == nil {
		t.Error("nothing with status 200 is no page")
	}
	if _, err := p.Page(&exchange.Response{Status: 204, Header: exchange.Header{}, Body: []byte("<html>")}, extract.Asked{}); err == nil {
		t.Error("a body is read, whatever the status")
	}
}

package spec

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/registry"
)

const inParts = `source: sets
name: Sets
http: {baseUrl: "https://api.example.org"}
filter: {field: updated}
endpoints:
  works:
    role: SEARCH
    partitions: {set: {values: [cs, math]}, lang: {values: [en]}}
    request: {path: "/${partition.set}/works", query: {lang: "${partition.lang}", from: "${filter.from}", to: "${filter.to}"}}
    paging: {type: ONE}
    response: {items: $.works, id: $.id, updatedAt: $.updated, fields: {title: $.title}}
`

// compileParts compiles the source with one text in the place of another.
func compileParts(t *testing.T, old, by string) *Compiled {
	t.Helper()
	src, _, err := registry.Decode("sets.yaml", []byte(strings.Replace(inParts, old, by, 1)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.Resolve(src, "works", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A program asks for the sector of its slice, and a slice without one, or with another one, is refused.
func TestProgramAsksForItsSector(t *testing.T) {
	s := compileParts(t, "", "").Snapshot
	p, err := s.Program()
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.In(map[string]string{"set": "math", "lang": "en"})
	if err != nil || in.Sector() != "lang=en,set=math" {
		t.Fatal(in.Sector(), err)
	}
	q, err := in.Ask(referenceWindow, referenceWindow.To)
	if err != nil {
		t.Fatal(err)
	}
	request, err := q.Page(paging.State{})
	if err != nil || !strings.HasPrefix(request.URL.String(), "https://api.example.org/math/works?") || !strings.Contains(request.URL.RawQuery, "lang=en") {
		t.Errorf("%+v, %v", request, err)
	}
	for _, values := range []map[string]string{nil, {"set": "math"}, {"set": "math", "lang": "en", "more": "x"}} {
		if _, err := p.In(values); err == nil {
			t.Errorf("%v is asked for", values)
		}
	}
	only, err := s.Only("lang=en,set=math")
	if all := only.Sectors(); err != nil || len(all) != 1 || all[0].Values["set"] != "math" || len(s.Sectors()) != 2 {
		t.Error(all, err)
	}
	if _, err := s.Only("set=math"); err == nil {
		t.Error("half of a name is a sector")
	}
}

// The order of values is no part of the question; which values there are is.
func TestSectorsArePartOfTheQuestion(t *testing.T) {
	hash := func(by string) string {
		h, err := compileParts(t, "[cs, math]", by).Prototype.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash("[cs, math]") != hash("[math, cs]") {
		t.Error("another order is another question")
	}
	if hash("[cs, math]") == hash("[cs, math, physics]") || hash("[cs, math]") == hash("[cs]") {
		t.Error("other values are the same question")
	}
}
